// SPDX-License-Identifier: Apache-2.0
//
// The machine: contexts and their order, the books of its producers, faults, repeatability.
#include "sim/machine.h"

#include <gtest/gtest.h>

#include <array>

#include "ring/record.h"
#include "sim/test_reader.h"
#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using ring::Action;
using ring::Operation;
using test::must;
using test::Reader;

std::unique_ptr<Machine> make(const MachineOptions& options) { return must(Machine::create(options)); }

MachineOptions ringbuf_options() { return {.cpus = 2, .sources = 4}; }
MachineOptions perf_options() { return {.kind = ring::RingKind::perf, .cpus = 2, .sources = 4}; }

Operation submit(std::uint16_t source, std::uint32_t size, std::uint16_t cpu = 0) {
  return {.action = Action::submit, .source = source, .cpu = cpu, .size = size};
}
Operation output(std::uint16_t source, std::uint32_t size, std::uint16_t cpu = 0) {
  return {.action = Action::output, .source = source, .cpu = cpu, .size = size};
}

void finish(Machine& machine) {
  for (int steps = 0; machine.step_any(); ++steps) ASSERT_LT(steps, 100000);
}

// What a faithful reader gets from one ring.
struct Delivered {
  std::vector<std::vector<std::byte>> records;
  std::uint64_t lost = 0;
};
Delivered read_all(Machine& machine, std::uint32_t ring = 0) {
  Delivered delivered;
  Reader(machine.user_view(ring))
      .drain([&](std::span<const std::byte> bytes) { delivered.records.emplace_back(bytes.begin(), bytes.end()); },
             [&](std::uint64_t count) { delivered.lost += count; });
  return delivered;
}

std::vector<std::byte> record(std::uint16_t source, std::uint32_t size, std::uint64_t sequence,
                              ring::RecordState state = ring::RecordState::committed) {
  std::vector<std::byte> bytes(size);
  ring::write_record(bytes, {source, state, size, sequence});
  return bytes;
}

// Creation

TEST(MachineCreate, RefusesWhatCannotBe) {
  EXPECT_FALSE(Machine::create({.cpus = 0}));
  EXPECT_FALSE(Machine::create({.cpus = 1025}));
  EXPECT_FALSE(Machine::create({.sources = 0}));
  EXPECT_FALSE(Machine::create({.sources = 65537}));
  EXPECT_FALSE(Machine::create({.data_size = 5000}));
  EXPECT_FALSE(Machine::create({.kind = ring::RingKind::perf, .data_size = 5000}));
  EXPECT_FALSE(Machine::create({.start_position = 4}));
  EXPECT_FALSE(Machine::create({.faults = {.hup_ring = 1}}));
}

TEST(MachineView, IsWhatTheContractSays) {
  const auto ringbuf = make(ringbuf_options());
  EXPECT_EQ(ringbuf->ring_count(), 1u);
  const ringside_ring view = ringbuf->user_view(0);
  EXPECT_EQ(view.kind, RINGSIDE_RINGBUF);
  EXPECT_EQ(view.cpu, -1);
  EXPECT_EQ(view.fd, -1);
  EXPECT_EQ(view.data_size, 4096u);
  const auto perf = make(perf_options());
  EXPECT_EQ(perf->ring_count(), 2u);
  EXPECT_EQ(perf->user_view(1).cpu, 1);
  EXPECT_EQ(perf->user_view(1).producer_page, nullptr);
}

TEST(MachineView, DescribesAddressesWithTheirRing) {
  MachineOptions options = perf_options();
  options.user_mapping = UserMapping::own;
  const auto machine = make(options);
  const auto* data = static_cast<const std::byte*>(machine->user_view(1).data);
  EXPECT_EQ(machine->describe(data + 128), "ring 1: data page 0, offset 128");
  EXPECT_EQ(machine->describe(&data), std::nullopt);
}

// Records and books

TEST(MachineRun, RecordsProveThemselvesInOrder) {
  for (const MachineOptions& options : {ringbuf_options(), perf_options()}) {
    const auto machine = make(options);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(machine->run(output(1, 20)), 0);
    const Delivered delivered = read_all(*machine);
    ASSERT_EQ(delivered.records.size(), 3u);
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(delivered.records[i], record(1, 20, i));  // 20 + 4 = 24: no padding
    EXPECT_EQ(machine->ledger().sources[1].committed, 3u);
    EXPECT_EQ(machine->reserved_so_far(1), 3u);
    EXPECT_EQ(machine->reserved_so_far(0), 0u);
  }
}

TEST(MachineRun, AFailedAttemptGivesItsNumberToTheNext) {
  const auto machine = make(ringbuf_options());
  EXPECT_EQ(machine->run(submit(0, 5000)), -ENOSPC);
  EXPECT_EQ(machine->run(output(0, 5000)), -EAGAIN);
  Operation flags = output(0, 8);
  flags.flags = 8;
  EXPECT_EQ(machine->run(flags), -EINVAL);
  EXPECT_EQ(machine->run(submit(0, 16)), 0);
  EXPECT_EQ(read_all(*machine).records.at(0), record(0, 16, 0));
  const ring::SourceLedger ledger = machine->ledger().sources[0];
  EXPECT_EQ(ledger.attempts, 4u);
  EXPECT_EQ(ledger.committed, 1u);
  EXPECT_EQ(ledger.failed, (std::map<int, std::uint64_t>{{ENOSPC, 1}, {EAGAIN, 1}, {EINVAL, 1}}));
}

TEST(MachineRun, DoomedRecordsHaveNumbersOfTheirOwn) {
  const auto machine = make(ringbuf_options());
  Operation discard = submit(0, 16);
  discard.action = Action::discard;
  EXPECT_EQ(machine->run(submit(0, 16)), 0);
  EXPECT_EQ(machine->run(discard), 0);
  EXPECT_EQ(machine->run(discard), 0);
  EXPECT_EQ(machine->run(submit(0, 16)), 0);
  const void* data = machine->user_view(0).data;
  const auto payload = [&](int index) {
    const auto* at = static_cast<const std::byte*>(data) + 24 * index + 8;
    return std::vector<std::byte>(at, at + 16);
  };
  EXPECT_EQ(payload(1), record(0, 16, 0, ring::RecordState::doomed));
  EXPECT_EQ(payload(2), record(0, 16, 1, ring::RecordState::doomed));
  EXPECT_EQ(payload(3), record(0, 16, 1));
  EXPECT_EQ(machine->ledger().sources[0].discarded, 2u);
  EXPECT_EQ(read_all(*machine).records.size(), 2u);
}

TEST(MachineRun, EmptyRecordsCarryNoNumberAndAreLeftToTheirSource) {
  for (const MachineOptions& options : {ringbuf_options(), perf_options()}) {
    const auto machine = make(options);
    EXPECT_EQ(machine->run(output(2, 0)), 0);
    EXPECT_EQ(machine->run(output(1, 8)), 0);
    EXPECT_EQ(machine->run(output(2, 0)), 0);
    EXPECT_EQ(machine->ledger().sources[2].empty, 2u);
    EXPECT_EQ(machine->reserved_so_far(2), 0u);
    EXPECT_EQ(machine->records_left(), (std::vector<std::uint64_t>{0, 1, 2, 0}));
  }
}

TEST(MachineRun, AHeldRecordStaysBusyWithItsDraftUntilItIsSettled) {
  for (const Action settle : {Action::settle_submit, Action::settle_discard}) {
    const auto machine = make(ringbuf_options());
    Operation hold = submit(0, 24);
    hold.action = Action::hold;
    EXPECT_EQ(machine->run(hold), 0);
    EXPECT_EQ(machine->run(submit(1, 24)), 0);
    EXPECT_EQ(machine->ledger().sources[0].open, 1u);
    EXPECT_FALSE(machine->deliverable(0));
    EXPECT_TRUE(read_all(*machine).records.empty());
    const auto* at = static_cast<const std::byte*>(machine->user_view(0).data) + 8;
    EXPECT_EQ(std::vector<std::byte>(at, at + 24), record(0, 24, 0, ring::RecordState::draft));

    EXPECT_EQ(machine->run({.action = settle, .source = 0}), 0);
    EXPECT_EQ(machine->ledger().sources[0].open, 0u);
    EXPECT_EQ(machine->ledger().sources[0].attempts, 1u);
    const auto records = read_all(*machine).records;
    EXPECT_EQ(records.size(), settle == Action::settle_submit ? 2u : 1u);
    EXPECT_EQ(records.front(), settle == Action::settle_submit ? record(0, 24, 0) : record(1, 24, 0));
  }
}

TEST(MachineRun, SettlingNothingDoesNothing) {
  const auto machine = make(ringbuf_options());
  Operation hold = submit(0, 5000);
  hold.action = Action::hold;
  EXPECT_EQ(machine->run(hold), -ENOSPC);
  EXPECT_EQ(machine->run({.action = Action::settle_submit, .source = 0}), 0);
  EXPECT_EQ(machine->ledger().sources[0].attempts, 1u);
  EXPECT_EQ(machine->ringbuf().producer_pos(), 0u);
}

TEST(MachineRun, PerfLossesAreBookedAndTheUntoldOnesKnown) {
  const auto machine = make(perf_options());
  std::uint64_t fitted = 0;
  while (fitted < 1000 && machine->run(output(0, 4)) == 0) ++fitted;
  EXPECT_EQ(fitted, 255u);
  EXPECT_EQ(machine->ledger().sources[0].failed.at(ENOSPC), 1u);
  EXPECT_EQ(machine->ledger().unreported_losses, (std::vector<std::uint64_t>{1, 0}));
  EXPECT_EQ(read_all(*machine).lost, 0u);
  EXPECT_EQ(machine->run(output(0, 4)), 0);
  EXPECT_EQ(read_all(*machine).lost, 1u);
  EXPECT_EQ(machine->ledger().unreported_losses, (std::vector<std::uint64_t>{0, 0}));
}

TEST(MachineRun, OversizePerfOutputsAreMalformedAndCarryNoCommittedNumber) {
  MachineOptions options = perf_options();
  options.data_size = 1 << 17;
  const auto machine = make(options);
  EXPECT_EQ(machine->run(output(0, 65517)), 0);
  EXPECT_EQ(machine->ledger().sources[0].malformed, 1u);
  EXPECT_EQ(machine->ledger().sources[0].committed, 0u);
  EXPECT_EQ(machine->reserved_so_far(0), 0u);
}

TEST(MachineRun, NestedRecordsStandBehindTheOpenOne) {
  for (const MachineOptions& options : {ringbuf_options(), perf_options()}) {
    const auto machine = make(options);
    Operation outer = output(0, 12);
    outer.nested_source = 1;
    outer.nested = 2;
    outer.nested_size = 20;
    EXPECT_EQ(machine->run(outer), 0);
    const auto records = read_all(*machine).records;
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0], record(0, 12, 0));
    EXPECT_EQ(records[1], record(1, 20, 0));
    EXPECT_EQ(records[2], record(1, 20, 1));
    EXPECT_EQ(machine->operations_ended(), 3u);
  }
}

TEST(MachineRun, NestedRecordsAreTriedEvenWhenTheOuterFails) {
  for (const bool stepped : {false, true}) {
    const auto machine = make(ringbuf_options());
    Operation outer = submit(0, 5000);
    outer.nested_source = 1;
    outer.nested = 3;
    outer.nested_size = 8;
    if (stepped) {
      ASSERT_TRUE(machine->begin(0, Context::task, outer));
      finish(*machine);
    } else {
      machine->run(outer);
    }
    EXPECT_EQ(machine->ledger().sources[1].committed, 3u);
    EXPECT_EQ(machine->ledger().sources[0].failed_total(), 1u);
  }
}

// Contexts

TEST(MachineContexts, AHigherOneInterruptsALowerOneAndNotTheOtherWayRound) {
  const auto machine = make(ringbuf_options());
  ASSERT_TRUE(machine->begin(0, Context::softirq, submit(0, 8)));
  EXPECT_FALSE(machine->can_enter(0, Context::task));
  EXPECT_FALSE(machine->begin(0, Context::softirq, submit(1, 8)));
  EXPECT_TRUE(machine->begin(0, Context::hardirq, submit(1, 8)));
  EXPECT_TRUE(machine->begin(0, Context::nmi, submit(2, 8)));
  EXPECT_FALSE(machine->can_enter(0, Context::nmi));
  EXPECT_TRUE(machine->can_enter(1, Context::task));
  finish(*machine);
  // The top of the stack ends first.
  const auto records = read_all(*machine).records;
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0], record(2, 8, 0));
  EXPECT_EQ(records[2], record(0, 8, 0));
}

TEST(MachineContexts, TheReserveLockKeepsHardirqsOutAndNmisNot) {
  const auto machine = make(ringbuf_options());
  ASSERT_TRUE(machine->begin(0, Context::task, submit(0, 8)));
  while (machine->can_enter(0, Context::hardirq)) ASSERT_EQ(machine->step(0), StepResult::more);
  EXPECT_FALSE(machine->begin(0, Context::hardirq, submit(1, 8)));
  ASSERT_TRUE(machine->begin(0, Context::nmi, submit(1, 8)));
  while (machine->step(0) != StepResult::done) {
  }
  EXPECT_EQ(machine->last_result(0), -ENOSPC);  // its own CPU holds the lock
  finish(*machine);
  EXPECT_EQ(machine->ledger().sources[0].committed, 1u);
}

TEST(MachineContexts, AnNmiWaitsForAnotherCpusLockFrom6_16OnAndFailsBefore) {
  for (const bool resilient : {false, true}) {
    MachineOptions options = ringbuf_options();
    options.kernel = resilient ? KernelVersion{6, 16} : KernelVersion{6, 15};
    const auto machine = make(options);
    ASSERT_TRUE(machine->begin(0, Context::task, submit(0, 8)));
    while (machine->can_enter(0, Context::hardirq)) machine->step(0);
    ASSERT_TRUE(machine->begin(1, Context::nmi, submit(1, 8, 1)));
    ASSERT_EQ(machine->step(1), StepResult::more);
    EXPECT_EQ(machine->step(1), resilient ? StepResult::blocked : StepResult::done);
    finish(*machine);
    EXPECT_EQ(machine->last_result(1), resilient ? 0 : -ENOSPC);
  }
}

TEST(MachineContexts, WakeupsRunWhenInterruptsAreOn) {
  // A hardirq's wake-up waits for its end; the task's own comes right after its commit.
  const auto machine = make(ringbuf_options());
  ASSERT_TRUE(machine->begin(0, Context::task, submit(0, 8)));
  machine->step(0);
  ASSERT_TRUE(machine->begin(0, Context::hardirq, submit(1, 8)));
  while (machine->step(0) != StepResult::done) EXPECT_EQ(machine->wakeups(0), 0u);
  EXPECT_EQ(machine->wakeups(0), 0u);  // queued, and the next thing that this CPU does
  EXPECT_EQ(machine->step(0), StepResult::done);
  EXPECT_EQ(machine->wakeups(0), 1u);
  finish(*machine);
  EXPECT_TRUE(machine->idle());
}

TEST(MachineContexts, AHardirqComesBeforeTheWakeupOfWhatItInterrupted) {
  const auto machine = make(ringbuf_options());
  ASSERT_TRUE(machine->begin(0, Context::task, submit(0, 8)));
  while (machine->step(0) != StepResult::done) {
  }
  ASSERT_TRUE(machine->begin(0, Context::hardirq, submit(1, 8)));
  while (machine->ledger().sources[1].committed == 0) {
    machine->step(0);
    ASSERT_EQ(machine->wakeups(0), 0u);
  }
  finish(*machine);
  EXPECT_EQ(machine->wakeups(0), 1u);
}

TEST(MachineContexts, AFourthNestedPerfOutputIsBusy) {
  const auto machine = make(perf_options());
  const Context order[] = {Context::task, Context::softirq, Context::hardirq, Context::nmi};
  for (std::uint16_t level = 0; level < 4; ++level) {
    ASSERT_TRUE(machine->begin(0, order[level], output(level, 8)));
    if (level < 3) machine->step(0);
  }
  EXPECT_EQ(machine->step(0), StepResult::done);
  EXPECT_EQ(machine->last_result(0), -EBUSY);
  finish(*machine);
  EXPECT_EQ(machine->ledger().sources[3].failed.at(EBUSY), 1u);
  EXPECT_EQ(read_all(*machine).records.size(), 3u);
  EXPECT_EQ(machine->ledger().unreported_losses[0], 0u);  // no loss of the ring's
}

TEST(MachineSteps, AReaderBetweenStepsNeverGetsMoreThanIsCommitted) {
  const auto machine = make(ringbuf_options());
  ASSERT_TRUE(machine->begin(0, Context::task, submit(0, 32)));
  Reader reader(machine->user_view(0));
  std::uint64_t delivered = 0;
  do {
    delivered += reader.drain([&](std::span<const std::byte>) {}, [](std::uint64_t) {});
    EXPECT_LE(delivered, machine->reserved_so_far(0));
  } while (machine->step_any());
  EXPECT_EQ(delivered, 1u);
}

TEST(MachineSteps, ASubmittedRecordIsADraftFirstAndWrittenInTwoPieces) {
  const auto machine = make(ringbuf_options());
  ASSERT_TRUE(machine->begin(0, Context::task, submit(0, 32)));
  const auto final = record(0, 32, 0);
  const auto draft = record(0, 32, 0, ring::RecordState::draft);
  bool seen_draft = false;
  bool seen_half = false;
  while (machine->step_any()) {
    const auto* at = static_cast<const std::byte*>(machine->user_view(0).data) + 8;
    const std::vector<std::byte> now(at, at + 32);
    seen_draft |= now == draft;
    seen_half |= std::equal(now.begin(), now.begin() + 16, final.begin()) &&
                 std::equal(now.begin() + 16, now.end(), draft.begin() + 16);
  }
  EXPECT_TRUE(seen_draft);
  EXPECT_TRUE(seen_half);
}

// Faults

TEST(MachineFaults, EveryNthWaitIsInterruptedOrSpurious) {
  MachineOptions options = perf_options();
  options.faults.eintr_every = 2;
  options.faults.spurious_every = 3;
  const auto machine = make(options);
  std::array<ringside_ready, 2> ready{};
  std::vector<int> seen;
  for (int wait = 1; wait <= 6; ++wait) seen.push_back(machine->begin_wait(ready).value_or(0));
  EXPECT_EQ(seen, (std::vector<int>{0, -EINTR, 1, -EINTR, 0, -EINTR}));
  EXPECT_EQ(machine->wait_blocking(ready, 0), 0);
  EXPECT_EQ(machine->wait_blocking(ready, 0), -EINTR);
}

TEST(MachineFaults, HupComesWhenItIsPlanned) {
  MachineOptions options = perf_options();
  options.faults.hup_ring = 1;
  options.faults.hup_after = 2;
  const auto machine = make(options);
  ASSERT_TRUE(machine->arm(Trigger::level));
  std::array<ringside_ready, 2> ready{};
  machine->run(output(0, 8));
  EXPECT_EQ(machine->epoll().poll_ready(ready), 1u);
  EXPECT_EQ(ready[0].ring, 0u);
  machine->run(output(0, 8));
  ASSERT_EQ(machine->epoll().poll_ready(ready), 2u);
  for (const ringside_ready& each : ready) EXPECT_EQ(each.events, each.ring == 1 ? poll_hup : poll_in);
}

TEST(MachineFaults, AStalledRecordStaysBusyForItsTurns) {
  MachineOptions options = ringbuf_options();
  const auto turns = [&](std::uint32_t stall) {
    options.faults.stall_every = stall == 0 ? 0 : 1;
    options.faults.stall_turns = stall;
    const auto machine = make(options);
    EXPECT_TRUE(machine->begin(0, Context::task, submit(0, 8)));
    int steps = 0;
    while (machine->step_any()) ++steps;
    EXPECT_EQ(machine->ledger().sources[0].committed, 1u);
    return steps;
  };
  EXPECT_EQ(turns(50), turns(0) + 50);
}

TEST(MachineFaults, LockFailuresComeAboutAsOftenAsPlanned) {
  MachineOptions options = ringbuf_options();
  options.data_size = 1 << 20;
  options.faults.lock_failures_ppm = 250'000;
  const auto machine = make(options);
  for (int i = 0; i < 1000; ++i) machine->run(submit(0, 8));
  const std::uint64_t failed = machine->ledger().sources[0].failed.at(ENOSPC);
  EXPECT_GT(failed, 180u);  // 250 expected, five standard deviations of 14 either way
  EXPECT_LT(failed, 320u);
  EXPECT_EQ(machine->ringbuf().producer_pos(), 16 * (1000 - failed));
}

TEST(MachineFaults, HostileSizesAreInTheHeadersOnly) {
  for (const HostileSize size : {HostileSize::zero, HostileSize::huge}) {
    MachineOptions options = perf_options();
    options.faults.hostile_every = 2;
    options.faults.hostile_size = size;
    const auto machine = make(options);
    machine->run(output(0, 4));
    machine->run(output(0, 4));
    EXPECT_EQ(machine->perf(0).data_head(), 32u);
    EXPECT_EQ(test::perf_load<std::uint16_t>(machine->perf(0), 6), 16u);
    EXPECT_EQ(test::perf_load<std::uint16_t>(machine->perf(0), 22), size == HostileSize::zero ? 0u : 65528u);
  }
}

TEST(MachineClock, StepsTakeTheTimeThatTheyAreSaidToTake) {
  MachineOptions options = ringbuf_options();
  options.step_ns = 7;
  const auto machine = make(options);
  ASSERT_TRUE(machine->begin(0, Context::task, submit(0, 8)));
  std::int64_t steps = 0;
  while (machine->step_any()) ++steps;
  EXPECT_EQ(machine->clock().now_ns(), 7 * steps);
}

}  // namespace
}  // namespace ringside::sim
