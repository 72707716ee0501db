// SPDX-License-Identifier: Apache-2.0
//
// A machine whose ring overwrites (KERNEL-RINGS 1.11): what it knows of the records that it took from the consumer, and
// the moment at which poll finds nothing in a ring that is full.
#include <gtest/gtest.h>

#include "sim/machine.h"
#include "sim/ringbuf_reserve.h"
#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using ring::Action;
using test::consume_to;

std::unique_ptr<Machine> make(std::uint32_t sources = 2, KernelVersion kernel = {6, 19}) {
  MachineOptions options;
  options.cpus = 2;
  options.sources = sources;
  options.overwrite = true;
  options.kernel = kernel;
  return test::must(Machine::create(options));
}

int put(Machine& machine, std::uint16_t source, std::uint32_t size, Action action = Action::submit) {
  return machine.run({.action = action, .source = source, .cpu = source, .size = size});
}

std::uint64_t taken(const Machine& machine, std::uint32_t source, std::uint64_t below) {
  std::uint64_t count = 0;
  for (std::uint64_t number = 0; number < below; ++number) {
    count += machine.overwritten().contains(source, number) ? 1u : 0u;
  }
  return count;
}

TEST(MachineOverwrite, NeedsAKernelThatHasSuchRings) {
  MachineOptions options;
  options.overwrite = true;
  options.kernel = {6, 18};
  const auto machine = Machine::create(options);
  ASSERT_FALSE(machine);
  EXPECT_EQ(
      ring::to_string(machine.error()),
      "build a machine with an overwrite ring on kernel 6.18: BPF_F_RB_OVERWRITE came with 6.19; name kernel 6.19 "
      "or newer");
  options.kernel = {6, 19};
  options.kind = ring::RingKind::perf;
  EXPECT_FALSE(Machine::create(options));
}

TEST(MachineOverwrite, KnowsWhichRecordsOfWhichSourceItTook) {
  const auto machine = make();
  // Spans of 512, sources in turn: of 12 records the ring keeps 7, and has taken 0, 1 and 2 of source 0, 0 and 1 of 1.
  for (int i = 0; i < 12; ++i) ASSERT_EQ(put(*machine, static_cast<std::uint16_t>(i % 2), 504), 0);
  EXPECT_EQ(machine->ringbuf().overwrite_pos(), 2560u);
  EXPECT_EQ(taken(*machine, 0, 6), 3u);
  EXPECT_EQ(taken(*machine, 1, 6), 2u);
  EXPECT_EQ(machine->records_left(), (std::vector<std::uint64_t>{3, 4}));
}

TEST(MachineOverwrite, WhatTheConsumerHasPassedIsNotTaken) {
  const auto machine = make();
  for (int i = 0; i < 7; ++i) ASSERT_EQ(put(*machine, 0, 504), 0);
  consume_to(machine->ringbuf(), 1024);  // records 0 and 1
  for (int i = 0; i < 4; ++i) ASSERT_EQ(put(*machine, 0, 504), 0);
  EXPECT_EQ(machine->ringbuf().overwrite_pos(), 2048u);  // 11 * 512 - 2048 = 3584 <= 4095
  EXPECT_EQ(taken(*machine, 0, 2), 0u);
  EXPECT_EQ(taken(*machine, 0, 11), 2u);  // 2 and 3
}

TEST(MachineOverwrite, CountsEmptyRecordsAndForgetsDiscardedOnes) {
  const auto machine = make();
  ASSERT_EQ(put(*machine, 0, 0), 0);
  ASSERT_EQ(put(*machine, 0, 24, Action::discard), 0);
  ASSERT_EQ(put(*machine, 0, 0), 0);
  ASSERT_EQ(put(*machine, 0, 24), 0);
  ASSERT_EQ(put(*machine, 1, 4080), 0);  // takes all of them
  EXPECT_EQ(machine->overwritten().empties, 2u);
  EXPECT_EQ(taken(*machine, 0, 5), 1u);
}

// CASES M2, on a machine: the account of the worked example.
TEST(MachineOverwrite, ABusyRecordIsNeverTaken) {
  const auto machine = make(3);
  const auto hold = [&](std::uint16_t source, std::uint32_t size) {
    return machine->run({.action = Action::hold, .source = source, .cpu = 0, .size = size});
  };
  ASSERT_EQ(put(*machine, 0, 512 - 8), 0);
  ASSERT_EQ(put(*machine, 0, 1024 - 8), 0);
  ASSERT_EQ(hold(2, 2048 - 8), 0);
  ASSERT_EQ(put(*machine, 1, 1536 - 8), 0);
  EXPECT_EQ(taken(*machine, 0, 2), 2u);
  EXPECT_EQ(put(*machine, 1, 1024 - 8), -ENOSPC);
  machine->run({.action = Action::settle_submit, .source = 2, .cpu = 0});
  EXPECT_EQ(taken(*machine, 2, 1), 0u);
  ASSERT_EQ(put(*machine, 1, 1024 - 8), 0);
  EXPECT_EQ(taken(*machine, 2, 1), 1u);
}

TEST(MachineOverwrite, IsDeliverableWhereTheRingStillHoldsARecord) {
  const auto machine = make();
  for (int i = 0; i < 8; ++i) ASSERT_EQ(put(*machine, 0, 504), 0);
  // Record 0 lies there whole, and is given up: producer_pos - 0 is just the ring's size.
  EXPECT_EQ(machine->ringbuf().overwrite_pos(), 512u);
  EXPECT_TRUE(machine->deliverable(0));
  EXPECT_EQ(machine->records_left()[0], 7u);
  consume_to(machine->ringbuf(), 4096);
  EXPECT_FALSE(machine->deliverable(0));
}

// Why a reader of an overwrite ring must not sleep without a deadline: between the stores of overwrite_pos and
// producer_pos, poll's arithmetic finds nothing in a ring that holds an unread record. An epoll_wait that was woken by
// that record's commit and polls just then goes back to sleep, and the record is taken from it.
TEST(MachineOverwrite, PollFindsNothingWhileAReservationTakesTheLastRecord) {
  for (const KernelVersion kernel : {KernelVersion{6, 19}, KernelVersion{7, 3}}) {
    const auto machine = make(2, kernel);
    RingbufModel& ring = machine->ringbuf();
    ASSERT_EQ(put(*machine, 0, 24), 0);
    ASSERT_EQ(ring.poll(), poll_readable);
    RingbufReserve<PlainMemory> reserve(ring.state(), 4080);
    while (ring.overwrite_pos() == 0) ASSERT_EQ(reserve.step(), StepResult::more);
    EXPECT_EQ(ring.overwrite_pos(), ring.producer_pos());
    EXPECT_EQ(ring.poll(), 0u) << kernel;
    reserve.run();
    EXPECT_EQ(ring.poll(), poll_readable) << kernel;
  }
}

}  // namespace
}  // namespace ringside::sim
