// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include <sched.h>
#include <sys/time.h>

#include "real/kernel_test.h"

namespace ringside::real {
namespace {

using ring::RecordState;

/// Reads a ring buffer while floods run, and proves each record and its place in its source's order.
class Reader {
 public:
  Reader(const ringside_ring& ring, std::uint32_t sources) : ring_(ring), next_(sources), doomed_(sources) {}

  void drain() {
    for (const test::Found& record : test::read_ringbuf(ring_)) {
      if (ring::ringbuf::is_busy(record.header)) return;
      take(record);
    }
  }
  void drain_until_done(const Flood& flood) {
    while (!flood.done()) {
      drain();
      ::sched_yield();
    }
    drain();
  }

  std::uint64_t delivered(std::uint32_t source) const { return next_[source]; }
  std::uint64_t discarded() const { return discarded_; }
  std::uint64_t empty() const { return empty_; }

 private:
  void take(const test::Found& record) {
    const bool doomed = ring::ringbuf::is_discarded(record.header);
    discarded_ += doomed ? 1 : 0;
    if (record.payload.empty()) {
      empty_ += doomed ? 0 : 1;
      return;
    }
    const auto reading = ring::read_record(record.payload, 0, [&](std::uint16_t source, RecordState state) {
      return state == RecordState::doomed ? doomed_[source] : next_[source];
    });
    ASSERT_EQ(reading.kind, ring::RecordReading::Kind::proven) << reading;
    ASSERT_EQ(reading.identity.state, doomed ? RecordState::doomed : RecordState::committed);
    std::uint64_t& next = (doomed ? doomed_ : next_)[reading.identity.source];
    ASSERT_EQ(reading.identity.sequence, next) << reading;
    ++next;
  }

  const ringside_ring& ring_;
  std::vector<std::uint64_t> next_;
  std::vector<std::uint64_t> doomed_;
  std::uint64_t discarded_ = 0;
  std::uint64_t empty_ = 0;
};

class FloodTest : public test::KernelTest {
 protected:
  void open(std::uint64_t size_bytes) {
    ring_.emplace(std::move(*RingbufMap::create(size_bytes)));
    producers_.emplace(std::move(*Producers::load(*ring_)));
  }
  Flood start(const std::vector<FloodThread>& threads) {
    auto flood = Flood::start(*producers_, threads);
    EXPECT_TRUE(flood) << flood.error();
    return std::move(*flood);
  }
  std::optional<RingbufMap> ring_;
  std::optional<Producers> producers_;
};

TEST_F(FloodTest, TwoThreadsAreAccountedForExactly) {
  open(1u << 16);
  const auto cpus = test::cpus();
  constexpr std::uint64_t records = 200'000;
  Flood flood = start(
      {{.cpu = cpus.front(), .source = 0, .records = records}, {.cpu = cpus.back(), .source = 1, .records = records}});
  Reader reader(ring_->ring(), 2);
  reader.drain_until_done(flood);
  ASSERT_TRUE(flood.join());
  const auto ledger = producers_->ledger(2);
  for (std::uint32_t source : {0u, 1u}) {
    EXPECT_EQ(reader.delivered(source), records);
    EXPECT_EQ(ledger.sources[source].committed, records);
    EXPECT_EQ(ledger.sources[source].attempts, records + ledger.sources[source].failed_total());
    EXPECT_EQ(producers_->reserved_so_far(source), records);
  }
}

TEST_F(FloodTest, DrawnSizesDiscardsAndOutputsAreAccountedForExactly) {
  open(1u << 16);
  const auto cpus = test::cpus();
  constexpr std::uint64_t records = 20'000;
  Flood flood =
      start({{.cpu = cpus.front(), .source = 0, .records = records, .min_size = 0, .max_size = 700, .discard_every = 7},
             {.cpu = cpus.back(),
              .source = 1,
              .records = records,
              .min_size = 1,
              .max_size = 300,
              .force_every = 100,
              .by_output = true}});
  Reader reader(ring_->ring(), 2);
  reader.drain_until_done(flood);
  ASSERT_TRUE(flood.join());
  const auto ledger = producers_->ledger(2);
  EXPECT_EQ(ledger.sources[0].discarded, records / 7);
  EXPECT_EQ(ledger.sources[0].committed, records - records / 7);
  EXPECT_EQ(reader.discarded(), records / 7);
  EXPECT_EQ(reader.empty(), ledger.sources[0].empty);
  EXPECT_GT(reader.empty(), 0u) << "about one in 700 is drawn empty";
  EXPECT_EQ(reader.delivered(0), ledger.sources[0].numbered());
  EXPECT_EQ(ledger.sources[1].committed, records);
  EXPECT_EQ(reader.delivered(1), records);
}

TEST_F(FloodTest, EverySizeWithAPathOfItsOwnHasTheBytesOfWriteRecord) {
  for (const std::uint32_t size : {64u, 128u, 256u, 512u, 1024u, 2048u, 96u, 2049u}) {
    open(1u << 16);
    Flood flood = start({{.cpu = test::cpus().front(),
                          .source = 3,
                          .records = 20,
                          .min_size = size,
                          .max_size = size,
                          .discard_every = 10}});
    ASSERT_TRUE(flood.join());
    const auto found = test::read_ringbuf(ring_->ring());
    ASSERT_EQ(found.size(), 20u);
    for (std::uint64_t i = 0; i < 20; ++i) {
      // The 10th and the 20th are discarded, and count on their own.
      const bool doomed = i % 10 == 9;
      const auto state = doomed ? RecordState::doomed : RecordState::committed;
      const std::uint64_t sequence = doomed ? i / 10 : i - i / 10;
      EXPECT_EQ(found[i].payload, test::expected_bytes({3, state, size, sequence})) << size << ' ' << i;
      EXPECT_EQ(ring::ringbuf::is_discarded(found[i].header), doomed);
    }
  }
}

TEST_F(FloodTest, IsRefusedWhereItsProgramsAreNotLoaded) {
  auto ring = RingbufMap::create(4096);
  const auto producers = Producers::load(*ring, {.floods = false, .holds = false});
  ASSERT_TRUE(producers);
  EXPECT_FALSE(Flood::start(*producers, std::vector<FloodThread>{{.records = 1}}));
  EXPECT_FALSE(Hold::start(*producers, {.size = 8}));
  EXPECT_TRUE(ScriptProducer::create(*producers)->run(std::vector{test::operation(ring::Action::submit, 8)}));
}

TEST_F(FloodTest, ABurstOverflowsAndCountsWhatFailed) {
  open(4096);
  // Nobody reads: 56 records of span 72 fit in 4088 bytes (4032), and 944 fail.
  Flood flood =
      start({{.cpu = test::cpus().front(), .source = 0, .records = 1000, .until_committed = false, .yield_after = 0}});
  ASSERT_TRUE(flood.join());
  const auto ledger = producers_->ledger(1).sources[0];
  EXPECT_EQ(ledger.attempts, 1000u);
  EXPECT_EQ(ledger.committed, 56u);
  EXPECT_EQ(ledger.failed, (std::map<int, std::uint64_t>{{ENOSPC, 944}}));
}

TEST_F(FloodTest, LookingForRoomFailsNowhere) {
  open(4096);
  Flood flood = start({{.cpu = test::cpus().back(),
                        .source = 0,
                        .records = 5000,
                        .min_size = 8,
                        .max_size = 900,
                        .room_of = &ring_->ring()}});
  Reader reader(ring_->ring(), 1);
  reader.drain_until_done(flood);
  ASSERT_TRUE(flood.join());
  EXPECT_EQ(reader.delivered(0), 5000u);
  EXPECT_EQ(producers_->ledger(1).sources[0].attempts, 5000u);
}

TEST_F(FloodTest, StopEndsAFloodThatWouldNeverEnd) {
  open(4096);
  Flood flood =
      start({{.cpu = test::cpus().front(), .source = 0, .records = UINT64_MAX / 2},
             {.cpu = test::cpus().back(), .source = 1, .records = UINT64_MAX / 2, .room_of = &ring_->ring()}});
  Reader reader(ring_->ring(), 2);
  while (reader.delivered(0) < 100) {
    reader.drain();
    ::sched_yield();
  }
  EXPECT_FALSE(flood.done());
  flood.stop();
  ASSERT_TRUE(flood.join());
  EXPECT_TRUE(flood.done());
  reader.drain();
  for (std::uint32_t source : {0u, 1u}) {
    EXPECT_EQ(reader.delivered(source), producers_->ledger(2).sources[source].committed);
  }
}

TEST_F(FloodTest, LeavingTheScopeStopsAndJoins) {
  open(4096);
  {
    const Flood warm_up = start({{.cpu = test::cpus().front(), .records = 1}});
  }
  const test::Holdings before = test::holdings();
  for (int i = 0; i < 50; ++i) {
    const Flood flood = start({{.cpu = test::cpus().front(), .records = UINT64_MAX / 2}});
  }
  EXPECT_EQ(test::holdings(), before);
}

TEST_F(FloodTest, StartsAllThreadsOrNone) {
  open(4096);
  const test::Holdings before = test::holdings();
  const FloodThread good{.cpu = test::cpus().front(), .source = 0, .records = 10};
  const std::vector<FloodThread> bad{{.cpu = 4000, .source = 1, .records = 10},
                                     {.cpu = good.cpu, .source = 0, .records = 10},
                                     {.cpu = good.cpu, .source = 63, .records = 10},
                                     {.cpu = good.cpu, .source = 1, .records = 10, .max_size = 1u << 30}};
  for (const FloodThread& other : bad) {
    const auto flood = Flood::start(*producers_, std::vector{good, other});
    ASSERT_FALSE(flood);
    EXPECT_FALSE(flood.error().reason.empty());
  }
  std::vector<FloodThread> many;
  for (std::uint32_t source = 0; source < max_sources; ++source) {
    many.push_back({.cpu = good.cpu, .source = source, .records = 10});
  }
  EXPECT_FALSE(Flood::start(*producers_, many)) << "more threads than slots";
  EXPECT_EQ(producers_->ledger(2).sources[0].attempts, 0u);
  EXPECT_EQ(test::holdings(), before);
}

volatile std::sig_atomic_t alarms = 0;

TEST_F(FloodTest, SignalsReachTheCallerAndHarmNothing) {
  open(1u << 16);
  alarms = 0;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { alarms = alarms + 1; };
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval every{.it_interval = {.tv_sec = 0, .tv_usec = 1000}, .it_value = {.tv_sec = 0, .tv_usec = 1000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &every, nullptr), 0);
  Flood flood = start({{.cpu = test::cpus().front(), .source = 0, .records = UINT64_MAX / 2}});
  Reader reader(ring_->ring(), 1);
  while (alarms < 20) {
    reader.drain();
    ::sched_yield();
  }
  flood.stop();
  const auto joined = flood.join();
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_TRUE(joined) << joined.error();
  reader.drain();
  EXPECT_EQ(reader.delivered(0), producers_->ledger(1).sources[0].committed);
}

}  // namespace
}  // namespace ringside::real
