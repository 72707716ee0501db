// SPDX-License-Identifier: Apache-2.0
#include "real/perf_rings.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "real/epoll_set.h"
#include "real/kernel_test.h"
#include "real/pinned.h"

namespace ringside::real {
namespace {

using ring::Action;
using ring::Operation;
using ring::RecordState;
using test::operation;

class PerfRingsTest : public test::KernelTest {
 protected:
  void open(const PerfOptions& options) {
    auto made = PerfRings::create(options);
    ASSERT_TRUE(made) << made.error();
    load(std::move(*made));
  }
  void load(PerfRings rings) {
    rings_.emplace(std::move(rings));
    auto loaded = Producers::load(*rings_);
    ASSERT_TRUE(loaded) << loaded.error();
    producers_.emplace(std::move(*loaded));
    script_.emplace(std::move(*ScriptProducer::create(*producers_)));
  }
  std::vector<int> run(const std::vector<Operation>& operations) {
    auto results = script_->run(operations);
    EXPECT_TRUE(results) << results.error();
    return results ? *results : std::vector<int>{};
  }
  int output(std::uint32_t size, std::uint16_t source = 0, std::uint32_t ring = 0) {
    return run({operation(Action::output, size, source, static_cast<std::uint16_t>(rings_->cpus()[ring]))}).at(0);
  }
  const ringside_ring& ring(std::size_t index = 0) const { return rings_->rings()[index]; }
  ring::SourceLedger source(std::uint32_t number) const { return producers_->ledger(number + 1).sources.at(number); }

  std::optional<PerfRings> rings_;
  std::optional<Producers> producers_;
  std::optional<ScriptProducer> script_;
};

TEST_F(PerfRingsTest, OneRingForEachOnlineCpu) {
  open({});
  ASSERT_EQ(rings_->rings().size(), test::cpus().size());
  for (std::size_t i = 0; i < rings_->rings().size(); ++i) {
    EXPECT_EQ(ring(i).cpu, static_cast<int>(test::cpus()[i]));
    EXPECT_EQ(rings_->ring_of_cpu(test::cpus()[i]), static_cast<int>(i));
    EXPECT_EQ(ring(i).data_size, 8u * 4096);
    EXPECT_EQ(positions_of(ring(i)), Positions{});
  }
  EXPECT_EQ(rings_->ring_of_cpu(4000), -1);
}

TEST_F(PerfRingsTest, RecordsLieInTheRingOfTheirCpu) {
  open({});
  for (std::uint32_t i = 0; i < rings_->rings().size(); ++i) {
    ASSERT_EQ(output(40, static_cast<std::uint16_t>(i), i), 0);
    EXPECT_EQ(source(i).ring, i);
  }
  for (std::uint32_t i = 0; i < rings_->rings().size(); ++i) {
    const auto found = test::read_perf(ring(i));
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found[0].payload.size(), ring::perf::raw_size(40));
    const auto expected = test::expected_bytes({static_cast<std::uint16_t>(i), RecordState::committed, 40, 0});
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found[0].payload.begin()));
  }
}

TEST_F(PerfRingsTest, EverySizeHasTheBytesOfWriteRecordAndTheSpecifiedSpan) {
  open({.data_pages = 32});
  std::uint64_t sequence = 0;
  for (const std::uint32_t size :
       {0u, 1u, 4u, 5u, 12u, 13u, 15u, 16u, 17u, 63u, 64u, 65u, 1000u, 4096u, 65'000u, 65'516u}) {
    const std::uint64_t before = positions_of(ring()).producer;
    ASSERT_EQ(output(size), 0);
    EXPECT_EQ(positions_of(ring()).producer - before, ring::perf::sample_bytes(size)) << size;
    const auto found = test::read_perf(ring());
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found[0].payload.size(), ring::perf::raw_size(size));
    if (size == 0) continue;
    const auto expected = test::expected_bytes({0, RecordState::committed, size, sequence++});
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found[0].payload.begin())) << size;
  }
  EXPECT_EQ(source(0).empty, 1u);
}

TEST_F(PerfRingsTest, LostCountIsWhatFailedForWantOfSpace) {
  open({.data_pages = 1});
  // 40 bytes take 56: 73 fit in 4088 bytes, 27 fail.
  const auto results =
      run(std::vector(100, operation(Action::output, 40, 0, static_cast<std::uint16_t>(rings_->cpus()[0]))));
  EXPECT_EQ(std::count(results.begin(), results.end(), 0), 73);
  EXPECT_EQ(source(0).failed, (std::map<int, std::uint64_t>{{ENOSPC, 27}}));
  EXPECT_EQ(rings_->lost(0).value(), 27u);
  EXPECT_EQ(producers_->ledger(1).unreported_losses.at(0), 27u);
  EXPECT_EQ(test::read_perf(ring()).size(), 73u);
  // The next record that fits carries the loss before it.
  ASSERT_EQ(output(40), 0);
  const auto found = test::read_perf(ring());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].header, ring::perf::type_lost);
  EXPECT_EQ(found[0].lost, 27u);
  EXPECT_EQ(producers_->ledger(1).unreported_losses.at(0), 0u);
  EXPECT_EQ(rings_->lost(0).value(), 27u) << "never reset";
}

TEST_F(PerfRingsTest, AnEmptySlotIsCountedAsEnoent) {
  auto made = PerfRings::map_only({});
  ASSERT_TRUE(made) << made.error();
  EXPECT_TRUE(made->rings().empty());
  EXPECT_EQ(made->ring_set().ring_count, 0u);
  EXPECT_EQ(made->cpus().size(), test::cpus().size());
  load(std::move(*made));
  EXPECT_EQ(output(16), -ENOENT);
  EXPECT_EQ(source(0).failed, (std::map<int, std::uint64_t>{{ENOENT, 1}}));
  EXPECT_EQ(producers_->ledger(1).unreported_losses.at(0), 0u) << "no ring, so no ring counts it as lost";
}

TEST_F(PerfRingsTest, OutputOnACpuWithoutARingIsCountedAsEnoent) {
  if (test::cpus().size() < 2) GTEST_SKIP() << "needs two CPUs";
  open({.cpus = {test::cpus()[0]}});
  EXPECT_EQ(run({operation(Action::output, 16, 0, static_cast<std::uint16_t>(test::cpus()[1]))}).at(0), -ENOENT);
}

TEST_F(PerfRingsTest, OversizeOutputsAreCountedAsMalformed) {
  // KERNEL-RINGS 2.8: success is told; 65517 to 65524 move nothing, 65525 moves 8 bytes, 70000 moves 4480.
  open({.data_pages = 32});
  for (const auto& [size, moved] :
       std::map<std::uint32_t, std::uint64_t>{{65'517, 0}, {65'524, 0}, {65'525, 8}, {70'000, 4480}}) {
    const std::uint64_t before = positions_of(ring()).producer;
    EXPECT_EQ(output(size), 0);
    EXPECT_EQ(positions_of(ring()).producer - before, moved) << size;
  }
  EXPECT_EQ(source(0).malformed, 4u);
  EXPECT_EQ(source(0).committed, 0u);
  EXPECT_EQ(source(0).attempts, 4u);
  consume_all(ring());
  ASSERT_EQ(output(64), 0);
  EXPECT_EQ(test::read_perf(ring()).size(), 1u) << "the oversize ones took no number";
}

TEST_F(PerfRingsTest, ReadinessIsTakenByThePollThatTellsIt) {
  open({.wakeup_events = 1});
  pollfd item{.fd = ring().fd, .events = POLLIN, .revents = 0};
  ASSERT_EQ(output(16), 0);
  EXPECT_EQ(::poll(&item, 1, 0), 1);
  EXPECT_EQ(item.revents & POLLIN, POLLIN);
  EXPECT_EQ(::poll(&item, 1, 0), 0) << "data is unread, and yet";
  ASSERT_EQ(output(16), 0);
  EXPECT_EQ(::poll(&item, 1, 0), 1);
}

TEST_F(PerfRingsTest, WakesAtWakeupEventsAndAtTheWatermark) {
  // KERNEL-RINGS 2.9, records of 16 bytes (payload 4): wakeup_events 3 wakes at 3, 6, 9; watermark 100 at 7, 13, 19.
  const auto woken_at = [&](const PerfOptions& options) {
    open(options);
    auto epoll = EpollSet::create(rings_->rings().first(1), RINGSIDE_LEVEL);
    std::vector<int> woken;
    for (int i = 1; i <= 20; ++i) {
      EXPECT_EQ(output(4), 0);
      ringside_ready ready{};
      if (epoll->wait(&ready, 1, 0) == 1) woken.push_back(i);
      test::read_perf(ring());
    }
    return woken;
  };
  EXPECT_EQ(woken_at({.data_pages = 1, .wakeup_events = 3}), (std::vector{3, 6, 9, 12, 15, 18}));
  EXPECT_EQ(woken_at({.data_pages = 1, .watermark_bytes = 100}), (std::vector{7, 13, 19}));
}

TEST_F(PerfRingsTest, NestedRecordsOfHardirqComeBeforeTheTasksOutput) {
  open({});
  Operation outer = operation(Action::output, 100, 0, static_cast<std::uint16_t>(rings_->cpus()[0]));
  outer.nested = 2;
  outer.nested_source = 1;
  outer.nested_size = 24;
  for (std::uint64_t round = 0; round < 30; ++round) {
    ASSERT_EQ(run({outer}).at(0), 0);
    const auto found = test::read_perf(ring());
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].payload.size(), ring::perf::raw_size(24));
    EXPECT_EQ(found[2].payload.size(), ring::perf::raw_size(100));
  }
  EXPECT_EQ(source(1).committed, 60u);
}

TEST_F(PerfRingsTest, FloodsOfEveryCpuAreAccountedForExactly) {
  open({.data_pages = 16, .wakeup_events = 1});
  constexpr std::uint64_t records = 50'000;
  std::vector<FloodThread> threads;
  for (std::uint32_t i = 0; i < rings_->rings().size(); ++i) {
    threads.push_back({.cpu = rings_->cpus()[i], .source = i, .records = records, .min_size = 16, .max_size = 200});
  }
  auto flood = Flood::start(*producers_, threads);
  ASSERT_TRUE(flood) << flood.error();
  std::vector<std::uint64_t> next(threads.size());
  std::vector<std::uint64_t> lost(threads.size());
  const auto drain = [&] {
    for (std::size_t i = 0; i < next.size(); ++i) {
      for (const test::Found& record : test::read_perf(ring(i))) {
        lost[i] += record.lost;
        if (record.header != ring::perf::type_sample) continue;
        const auto reading = ring::read_record(record.payload, 7, [](auto, auto) { return 0ull; });
        ASSERT_EQ(reading.kind, ring::RecordReading::Kind::proven) << reading;
        ASSERT_EQ(reading.identity.source, i);
        ASSERT_EQ(reading.identity.sequence, next[i]++);
      }
    }
  };
  while (!flood->done()) {
    drain();
    ::sched_yield();
  }
  ASSERT_TRUE(flood->join());
  drain();
  const auto ledger = producers_->ledger(static_cast<std::uint32_t>(threads.size()));
  for (std::uint32_t i = 0; i < threads.size(); ++i) {
    const ring::SourceLedger& told = ledger.sources[i];
    EXPECT_EQ(told.committed, records);
    EXPECT_EQ(next[i], records);
    EXPECT_EQ(told.attempts, records + told.failed_total());
    EXPECT_EQ(rings_->lost(i).value(), told.failed_total());
    EXPECT_EQ(lost[i] + ledger.unreported_losses[i], told.failed_total());
  }
}

TEST_F(PerfRingsTest, LookingForRoomLosesNothing) {
  open({.data_pages = 1});
  auto flood = Flood::start(*producers_,
                            std::vector<FloodThread>{{.cpu = rings_->cpus()[0], .records = 5000, .room_of = &ring()}});
  ASSERT_TRUE(flood);
  std::size_t samples = 0;
  while (!flood->done()) {
    samples += test::read_perf(ring()).size();
    ::sched_yield();
  }
  samples += test::read_perf(ring()).size();
  EXPECT_EQ(samples, 5000u);
  EXPECT_EQ(rings_->lost(0).value(), 0u);
}

TEST_F(PerfRingsTest, PrefillMovesThePositionsAndWakesNobody) {
  for (const std::uint64_t bytes : {0u, 16u, 24u, 4096u, 100'000u}) {
    open({.data_pages = 1});
    for (const ringside_ring& one : rings_->rings()) {
      ASSERT_TRUE(producers_->prefill(one, bytes));
      EXPECT_EQ(positions_of(one), (Positions{bytes, bytes, bytes}));
      pollfd item{.fd = one.fd, .events = POLLIN, .revents = 0};
      EXPECT_EQ(::poll(&item, 1, 0), 0);
    }
    EXPECT_EQ(source(0), ring::SourceLedger{});
  }
  EXPECT_FALSE(producers_->prefill(ring(), 8));
}

TEST_F(PerfRingsTest, RefusesWhatThereIsNot) {
  for (const PerfOptions& bad : {PerfOptions{.data_pages = 3}, PerfOptions{.data_pages = 0}}) {
    const auto rings = PerfRings::create(bad);
    ASSERT_FALSE(rings);
    EXPECT_EQ(rings.error().code, EINVAL);
  }
  EXPECT_FALSE(PerfRings::create({.cpus = {0, 0}}));
  const auto offline = PerfRings::create({.cpus = {300}});
  ASSERT_FALSE(offline);
  EXPECT_NE(offline.error().attempt.find("300"), std::string::npos);
}

TEST_F(PerfRingsTest, NothingIsLeftAfterAHundred) {
  {
    const auto warm_up = PerfRings::create({});
  }
  const test::Holdings before = test::holdings();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(PerfRings::create({}));
    ASSERT_FALSE(PerfRings::create({.cpus = {0, 300}})) << "fails at its second ring";
  }
  EXPECT_EQ(test::holdings(), before);
}

TEST_F(PerfRingsTest, DataCannotBeWritten) {
  open({});
  EXPECT_EQ(test::signal_of_store(ring().data), SIGBUS);
  EXPECT_EQ(test::signal_of_store(static_cast<const std::byte*>(ring().consumer_page) + 2048), 0);
}

TEST_F(PerfRingsTest, WrittenBackwardNothingFailsAndNothingCanBeStored) {
  open({.data_pages = 1, .backward = true});
  EXPECT_EQ(rings_->ring_set().backward, 1u);
  for (int record = 0; record < 300; ++record) EXPECT_EQ(output(20), 0);  // 32 bytes each: two laps and more
  EXPECT_EQ(positions_of(ring()).producer, 0 - 300 * std::uint64_t{32});
  EXPECT_EQ(source(0).committed, 300u);
  EXPECT_EQ(test::signal_of_store(static_cast<const std::byte*>(ring().consumer_page) + 1032), SIGSEGV);
}

TEST_F(PerfRingsTest, APausedRingTakesNothingUntilItGoesOn) {
  open({.data_pages = 1, .backward = true});
  ASSERT_EQ(ioctl(ring().fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), 0);
  EXPECT_EQ(output(20), -ENOSPC);
  EXPECT_EQ(positions_of(ring()).producer, 0u);
  ASSERT_EQ(ioctl(ring().fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0), 0);
  EXPECT_EQ(output(20), 0);
  EXPECT_EQ(positions_of(ring()).producer, 0 - std::uint64_t{24 + 32}) << "and tells of the loss before it [2.7]";
  EXPECT_EQ(rings_->lost(0).value_or(0), 1u);
}

TEST(Visit, LeavesTheThreadWhereItMayRun) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  for (const std::uint32_t cpu : test::cpus()) EXPECT_TRUE(visit(cpu));
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  EXPECT_FALSE(visit(4000));
}

}  // namespace
}  // namespace ringside::real
