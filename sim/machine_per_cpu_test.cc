// SPDX-License-Identifier: Apache-2.0
//
// A machine of one BPF ring a CPU, and records that begin with their time.
#include <gtest/gtest.h>

#include <cstring>

#include "ring/record.h"
#include "sim/machine.h"
#include "sim/test_reader.h"
#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using ring::Action;
using ring::Operation;
using ring::Stamp;
using test::must;
using test::Reader;

std::unique_ptr<Machine> make(MachineOptions options) {
  options.cpus = 3;
  options.sources = 3;
  options.per_cpu = true;
  return must(Machine::create(options));
}

Operation on_cpu(std::uint16_t cpu, Action action = Action::submit, std::uint32_t size = 48) {
  return {.action = action, .source = cpu, .cpu = cpu, .size = size};
}

void finish(Machine& machine) {
  for (int steps = 0; machine.step_any(); ++steps) ASSERT_LT(steps, 100000);
}

struct Read {
  std::uint64_t stamp = 0;
  ring::RecordReading reading;
};
std::vector<Read> read_stamped(Machine& machine, std::uint32_t ring) {
  std::vector<Read> all;
  Reader(machine.user_view(ring))
      .drain(
          [&](std::span<const std::byte> bytes) {
            Read read;
            std::memcpy(&read.stamp, bytes.data(), sizeof read.stamp);
            read.reading =
                ring::read_record(bytes.subspan(8), 0, [](std::uint16_t, ring::RecordState) { return 0ull; });
            all.push_back(read);
          },
          [](std::uint64_t) {});
  return all;
}

TEST(MachinePerCpu, IsOfRingbufsThatRefuse) {
  EXPECT_FALSE(Machine::create({.kind = ring::RingKind::perf, .per_cpu = true}));
  EXPECT_FALSE(Machine::create({.kind = ring::RingKind::perf, .stamp = Stamp::inside}));
  EXPECT_FALSE(Machine::create({.overwrite = true, .per_cpu = true, .kernel = {6, 19}}));
  EXPECT_FALSE(Machine::create({.cpus = 2, .per_cpu = true, .faults = {.hup_ring = 2}}));
}

TEST(MachinePerCpu, ARecordLiesInTheRingOfItsCpuAndIsLeftThere) {
  const auto machine = make({});
  ASSERT_EQ(machine->ring_count(), 3u);
  for (std::uint16_t cpu = 0; cpu < 3; ++cpu) {
    EXPECT_EQ(machine->user_view(cpu).cpu, cpu);
    for (std::uint16_t count = 0; count <= cpu; ++count) EXPECT_EQ(machine->run(on_cpu(cpu)), 0);
  }
  for (std::uint16_t cpu = 0; cpu < 3; ++cpu) {
    EXPECT_EQ(machine->ringbuf(cpu).producer_pos(), (cpu + 1u) * 56u);  // header and 48 bytes
    EXPECT_TRUE(machine->deliverable(cpu));
    EXPECT_EQ(machine->ledger().sources[cpu].ring, cpu);
    EXPECT_EQ(machine->wakeups(cpu), 1u);  // of the first record: behind it the consumer lags
  }
  EXPECT_EQ(machine->records_left(), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(MachinePerCpu, OneFullRingTakesNothingFromTheOthers) {
  const auto machine = make({});
  EXPECT_EQ(machine->run(on_cpu(0, Action::submit, 4080)), 0);
  EXPECT_EQ(machine->run(on_cpu(0)), -ENOSPC);
  EXPECT_EQ(machine->run(on_cpu(1)), 0);
}

TEST(MachinePerCpu, ReadinessAndHangUpAreOfOneRing) {
  const auto machine = make({});
  ASSERT_TRUE(machine->arm(Trigger::level));
  ringside_ready ready[3] = {};
  EXPECT_EQ(machine->run(on_cpu(2)), 0);
  ASSERT_EQ(machine->epoll().poll_ready(ready), 1u);
  EXPECT_EQ(ready[0].ring, 2u);
  EXPECT_EQ(ready[0].events, RINGSIDE_POLLIN);
  machine->hang_up(1);
  ASSERT_EQ(machine->epoll().poll_ready(ready), 2u);
}

TEST(MachinePerCpu, DescribesAddressesWithTheirRing) {
  const auto machine = make({.user_mapping = UserMapping::own});
  const auto* data = static_cast<const std::byte*>(machine->user_view(1).data);
  EXPECT_EQ(machine->describe(data + 128), "ring 1: data page 0, offset 128");
}

TEST(MachineStamp, StandsInFrontOfTheRecordAndRises) {
  for (const Stamp stamp : {Stamp::before, Stamp::inside}) {
    const auto machine = make({.stamp = stamp});
    for (std::uint16_t count = 0; count < 2; ++count) {
      for (std::uint16_t cpu = 0; cpu < 3; ++cpu) EXPECT_EQ(machine->run(on_cpu(cpu)), 0);
    }
    EXPECT_EQ(machine->ringbuf(0).producer_pos(), 2 * 64u);  // header, stamp and 48 bytes
    std::vector<std::uint64_t> stamps;
    for (std::uint32_t cpu = 0; cpu < 3; ++cpu) {
      for (const Read& read : read_stamped(*machine, cpu)) {
        EXPECT_EQ(read.reading.kind, ring::RecordReading::Kind::proven);
        stamps.push_back(read.stamp);
      }
    }
    // CPU by CPU, first and second record: the six were stamped in turn.
    EXPECT_EQ(stamps, (std::vector<std::uint64_t>{1, 4, 2, 5, 3, 6}));
  }
}

/// Takes steps of that CPU until its record is BUSY, or about to be reserved.
void step_until(Machine& machine, std::uint32_t cpu, bool reserved) {
  while ((machine.ringbuf(cpu).producer_pos() != 0) != reserved) machine.step(cpu);
}

TEST(MachineStamp, InsideIsTakenWhenTheRecordLiesInTheRing) {
  const auto machine = make({.stamp = Stamp::inside});
  ASSERT_TRUE(machine->begin(0, Context::task, on_cpu(0)));
  step_until(*machine, 0, true);
  const auto reserved_ns = static_cast<std::uint64_t>(machine->clock().now_ns());
  finish(*machine);
  EXPECT_GT(read_stamped(*machine, 0).at(0).stamp, reserved_ns);
}

TEST(MachineStamp, BeforeIsTakenWhenNobodySeesTheRecord) {
  const auto machine = make({.stamp = Stamp::before});
  ASSERT_TRUE(machine->begin(0, Context::task, on_cpu(0)));
  machine->step(0);  // the clock
  const auto stamped_ns = static_cast<std::uint64_t>(machine->clock().now_ns());
  step_until(*machine, 0, true);
  const auto reserved_ns = static_cast<std::uint64_t>(machine->clock().now_ns());
  ASSERT_GT(reserved_ns, stamped_ns);
  finish(*machine);
  EXPECT_EQ(read_stamped(*machine, 0).at(0).stamp, stamped_ns);
}

TEST(MachineStamp, AStalledProducerStandsBusyOrUnseen) {
  for (const Stamp stamp : {Stamp::before, Stamp::inside}) {
    const auto machine = make({.stamp = stamp, .faults = {.stall_every = 1, .stall_turns = 50}});
    ASSERT_TRUE(machine->begin(0, Context::task, on_cpu(0)));
    for (int turn = 0; turn < 30; ++turn) machine->step(0);
    EXPECT_EQ(machine->ringbuf(0).producer_pos() != 0, stamp == Stamp::inside);
    finish(*machine);
    EXPECT_TRUE(machine->deliverable(0));
  }
}

TEST(MachineStamp, AHeldRecordKeepsItsOwn) {
  const auto machine = make({.stamp = Stamp::inside});
  EXPECT_EQ(machine->run(on_cpu(0, Action::hold)), 0);
  EXPECT_EQ(machine->run(on_cpu(1)), 0);
  EXPECT_EQ(machine->run(on_cpu(0, Action::settle_submit)), 0);
  EXPECT_EQ(read_stamped(*machine, 0).at(0).stamp, 1u);
  EXPECT_EQ(read_stamped(*machine, 1).at(0).stamp, 2u);
}

TEST(MachineStamp, AnInterruptBetweenReservationAndStampIsTheYoungerOneInItsRing) {
  const auto machine = make({.stamp = Stamp::inside});
  ASSERT_TRUE(machine->begin(0, Context::task, on_cpu(0)));
  step_until(*machine, 0, true);
  while (!machine->can_enter(0, Context::hardirq)) machine->step(0);
  // The lock is given back, and the next step takes the stamp.
  ASSERT_TRUE(machine->begin(0, Context::hardirq, {.action = Action::submit, .source = 1, .cpu = 0, .size = 16}));
  finish(*machine);
  const auto read = read_stamped(*machine, 0);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].reading.identity.source, 0);
  EXPECT_GT(read[0].stamp, read[1].stamp);
}

}  // namespace
}  // namespace ringside::sim
