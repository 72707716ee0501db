// SPDX-License-Identifier: Apache-2.0
//
// Surprises of KERNEL-RINGS 8 that no kernel can be asked for on demand: one needs an NMI, the other a store that is
// seen late. The rest of section 8 is played on the kernel, too (conform/surprises_*_test.cc). 8.17 is about mails that
// were never merged: there is nothing to run.
#include <gtest/gtest.h>

#include "sim/ringbuf_commit.h"
#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using test::make_ringbuf;

ring::Operation submit(std::uint16_t source, std::uint16_t cpu) {
  return {.action = ring::Action::submit, .source = source, .cpu = cpu, .size = 8};
}

/// A machine of that kernel whose CPU 0 holds the reserve lock.
std::unique_ptr<Machine> machine_with_lock_held(KernelVersion kernel) {
  auto machine = test::must(Machine::create({.cpus = 2, .sources = 3, .kernel = kernel}));
  EXPECT_TRUE(machine->begin(0, Context::task, submit(0, 0)));
  while (machine->can_enter(0, Context::hardirq)) machine->step(0);  // interrupts are off once it has the lock
  return machine;
}

/// Whether a reservation in an NMI on that CPU gets its space once the lock is let go.
int reserve_in_nmi(Machine& machine, std::uint16_t cpu) {
  EXPECT_TRUE(machine.begin(cpu, Context::nmi, submit(1, cpu)));
  if (machine.step(cpu) != StepResult::done && machine.step(cpu) == StepResult::blocked) {
    while (machine.runnable(0)) machine.step(0);
  }
  while (machine.runnable(cpu) && machine.operations_ended() < 2) machine.step(cpu);
  return machine.ledger().sources[1].failed.empty() ? 0 : -1;
}

TEST(Surprise8_16, AnNmiFailsByTrylockBefore6_16WhoeverHoldsTheLock) {
  EXPECT_EQ(reserve_in_nmi(*machine_with_lock_held({6, 12}), 1), -1);
}

TEST(Surprise8_16, Since6_16AnNmiWaitsForAnotherCpuLikeEverybody) {
  EXPECT_EQ(reserve_in_nmi(*machine_with_lock_held({6, 16}), 1), 0);
}

TEST(Surprise8_16, Since6_16AReservationInAnyContextMayFailByTheLock) {
  const auto ring = make_ringbuf();
  RingbufReserve<PlainMemory> reserve(ring->state(), 8, LockAttempt::fail);
  reserve.run();
  EXPECT_EQ(reserve.failure(), ReserveFailure::lock);
  EXPECT_EQ(ring->producer_pos(), 0u);
}

/// A ring whose second record is BUSY while the consumer has read the first; `store_is_late`: the consumer's store of
/// consumer_pos has not left its CPU yet when the producer looks. Whether the commit of the second record wakes.
bool commit_wakes(bool store_is_late) {
  const auto ring = make_ringbuf();
  EXPECT_EQ(ring->output(test::bytes_of(8, 1)), 0);
  const auto held = ring->reserve(8);
  if (!held) return false;
  if (!store_is_late) test::consume_to(*ring, held->position);  // C4
  // C2: the consumer sees BUSY and is about to sleep.
  EXPECT_TRUE(ring::ringbuf::is_busy(*ring->state().length_word(held->position)));
  RingbufCommit<PlainMemory> commit(ring->state(), held->position, Fate::submit, 0);
  commit.run();                                                // P10, P11
  if (store_is_late) test::consume_to(*ring, held->position);  // now it has left
  return commit.wants_wakeup();
}

TEST(Surprise8_19, WithoutTheFullFenceACommitMissesTheConsumerThatGoesToSleep) { EXPECT_FALSE(commit_wakes(true)); }

TEST(Surprise8_19, WithTheFullFenceTheCommitSeesWhereTheConsumerStands) { EXPECT_TRUE(commit_wakes(false)); }

}  // namespace
}  // namespace ringside::sim
