// SPDX-License-Identifier: Apache-2.0
//
// The contract of PerfSession: its orders, its sleep, its three ways to end.
#include "consumers/perf_session.h"

#include <gtest/gtest.h>

#include "consumers/fake_host.h"

namespace ringside::consumers {
namespace {

using testing::FakeHost;
using testing::FakePerf;
using testing::payload;

class PerfSessions : public ::testing::Test {
 protected:
  PerfSessions() {
    set.kind = RINGSIDE_PERF;
    set.ring_count = 2;
    set.rings = rings;
    set.sample_type = ring::perf::sample_type_raw | ring::perf::sample_type_time;
  }

  /// The times of what one reading hands out; a loss is 0.
  template <SessionOrder order>
  std::vector<std::uint64_t> read(PerfSession<PerfSteps, order>& session, std::uint64_t most = 1000) {
    std::vector<std::uint64_t> times;
    session.read(most, [&](const SessionRecord& record) {
      times.push_back(record.time_ns);
      return false;
    });
    return times;
  }

  FakePerf first{4096};
  FakePerf second{4096};
  ringside_ring rings[2] = {first.ring(0), second.ring(3)};
  ringside_ring_set set{};
  FakeHost host;
  SessionBuilder builder;
};

using AsVisible = PerfSession<PerfSteps, SessionOrder::as_visible>;
using HeldBack = PerfSession<PerfSteps, SessionOrder::held_back>;
using Times = std::vector<std::uint64_t>;

TEST_F(PerfSessions, BothOrdersMergeWhatLiesThere) {
  const auto fill = [&] {
    for (const std::uint64_t time : Times{10, 30, 60}) first.put_at(time, payload(1, 4));
    for (const std::uint64_t time : Times{20, 40, 50}) second.put_at(time, payload(2, 4));
  };
  AsVisible visible(set, *host.table(), builder.options());
  ASSERT_EQ(visible.start(), 0);
  fill();
  EXPECT_EQ(read(visible), (Times{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(first.tail(), first.head());

  HeldBack held(set, *host.table(), builder.options());
  ASSERT_EQ(held.start(), 0);
  fill();
  host.during_yield = [&] { host.now_ns += 1000; };
  EXPECT_EQ(read(held), (Times{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(second.tail(), second.head());
}

/// Between the looks at the two rings the first one gets time 20, then the second one 30.
TEST_F(PerfSessions, TheOrderOfWhatIsVisibleIsNotThatOfTime) {  // K1
  const auto between = [&] {
    if (host.yields == 1) {
      first.put_at(20, payload(1, 4));
      second.put_at(30, payload(2, 4));
    }
    host.now_ns += 1000;
  };
  second.put_at(10, payload(2, 4));
  AsVisible visible(set, *host.table(), builder.options());
  ASSERT_EQ(visible.start(), 0);
  host.during_yield = between;
  EXPECT_EQ(read(visible), (Times{10, 30}));
  EXPECT_EQ(read(visible), (Times{20}));
}

TEST_F(PerfSessions, WhoHoldsBackKeepsTheOrderOfTime) {
  second.put_at(10, payload(2, 4));
  HeldBack held(set, *host.table(), builder.options());
  ASSERT_EQ(held.start(), 0);
  host.during_yield = [&] {
    if (host.yields == 1) {
      first.put_at(20, payload(1, 4));
      second.put_at(30, payload(2, 4));
    }
    host.now_ns += 1000;
  };
  EXPECT_EQ(read(held), (Times{10, 20, 30}));
}

TEST_F(PerfSessions, AProducerThatStandsStillForLongerIsHandedOutLate) {  // Q3
  second.put_at(30, payload(2, 4));
  HeldBack held(set, *host.table(), builder.hold_back_ns(5000).options());
  ASSERT_EQ(held.start(), 0);
  host.during_yield = [&] { host.now_ns += 1000; };
  EXPECT_EQ(read(held), (Times{30}));
  first.put_at(20, payload(1, 4));
  EXPECT_EQ(read(held), (Times{20}));
}

TEST_F(PerfSessions, HoldsBackForAsLongAsItSays) {
  second.put_at(10, payload(2, 4));
  HeldBack held(set, *host.table(), builder.hold_back_ns(5000).options());
  ASSERT_EQ(held.start(), 0);
  std::int64_t waited_ns = 0;
  host.during_yield = [&] { host.now_ns += 100, waited_ns += 100; };
  read(held);
  EXPECT_GE(waited_ns, 5000);
  EXPECT_LT(waited_ns, 6000);
}

TEST_F(PerfSessions, AReadingThatStopsGoesOnWhereItWas) {
  for (const std::uint64_t time : Times{10, 30}) first.put_at(time, payload(1, 4));
  for (const std::uint64_t time : Times{20, 40}) second.put_at(time, payload(2, 4));
  HeldBack held(set, *host.table(), builder.hold_back_ns(0).options());
  ASSERT_EQ(held.start(), 0);
  EXPECT_EQ(read(held, 1), (Times{10}));
  EXPECT_EQ(read(held, 1), (Times{20}));
  EXPECT_EQ(read(held), (Times{30, 40}));
}

TEST_F(PerfSessions, ReadsAtMost101RecordsOfARingBeforeTheNextLook) {
  for (std::uint64_t time = 1; time <= 102; ++time) first.put_at(time, payload(1, 4));
  AsVisible visible(set, *host.table(), builder.options());
  ASSERT_EQ(visible.start(), 0);
  host.during_yield = [&] {
    if (host.yields == 2) second.put_at(101, payload(2, 4));  // behind the first 101
  };
  const Times times = read(visible);
  ASSERT_EQ(times.size(), 102u);  // as many as lay there at first
  EXPECT_EQ(times[101], 101u);
  EXPECT_EQ(read(visible), (Times{102}));
}

TEST_F(PerfSessions, ReadsTheCpusOfItsMaskOnly) {
  first.put_at(10, payload(1, 4));
  second.put_at(20, payload(2, 4));
  AsVisible visible(set, *host.table(), builder.cpu(3).options());
  ASSERT_EQ(visible.start(), 0);
  EXPECT_EQ(read(visible), (Times{20}));
  EXPECT_EQ(first.tail(), 0u);
  SessionBuilder nobody;
  AsVisible none(set, *host.table(), nobody.cpu(1).options());
  EXPECT_EQ(none.start(), -EINVAL);
}

TEST_F(PerfSessions, RefusesAWatermarkThatItsRingCannotPassAndPagesThatItHasNot) {  // L1
  set.watermark_bytes = 4096;
  EXPECT_EQ(AsVisible(set, *host.table(), SessionBuilder().watermark(4096).options()).start(), -EINVAL);
  set.watermark_bytes = 4095;
  EXPECT_EQ(AsVisible(set, *host.table(), SessionBuilder().watermark(4095).options()).start(), 0);
  EXPECT_EQ(AsVisible(set, *host.table(), SessionBuilder().watermark(1).options()).start(), -EINVAL);
  EXPECT_EQ(AsVisible(set, *host.table(), SessionBuilder().pages(1).options()).start(), 0);
  EXPECT_EQ(AsVisible(set, *host.table(), SessionBuilder().pages(2).options()).start(), -EINVAL);
}

TEST_F(PerfSessions, SleepsForAFixedTimeOrInEpoll) {
  std::vector<std::int64_t> slept;
  host.during_sleep = [&](std::int64_t timeout_ns) {
    slept.push_back(timeout_ns);
    host.now_ns += timeout_ns;
    return 0;
  };
  AsVisible by_default(set, *host.table(), SessionBuilder().options());
  AsVisible often(set, *host.table(), SessionBuilder().read_timeout_ms(4).options());
  AsVisible epoll(set, *host.table(), SessionBuilder().watermark(0).options());
  for (AsVisible* session : {&by_default, &often, &epoll}) {
    ASSERT_EQ(session->start(), 0);
    EXPECT_EQ(session->sleep_until_ready(Deadline(*host.table(), 20'000'000)), 0);
  }
  constexpr std::int64_t ms = 1'000'000;
  EXPECT_EQ(slept, (std::vector<std::int64_t>{15 * ms, 5 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 4 * ms, 20 * ms}));
}

TEST_F(PerfSessions, ParsesUntilItIsAskedToStop) {
  for (std::uint64_t time = 1; time <= 3; ++time) first.put_at(time, payload(1, 4));
  AsVisible session(set, *host.table(), builder.options());
  ASSERT_EQ(session.start(), 0);
  int records = 0;
  EXPECT_EQ(session.parse_until([&] { return records == 3; }, [&](const SessionRecord&) { ++records; }), 0);
  EXPECT_EQ(records, 3);
  EXPECT_EQ(host.sleeps, 0);
}

TEST_F(PerfSessions, ParsesForADurationAndNoLonger) {
  AsVisible session(set, *host.table(), builder.options());
  ASSERT_EQ(session.start(), 0);
  const std::int64_t begun_ns = host.now_ns;
  EXPECT_EQ(session.parse_for_duration(40'000'000, [](const SessionRecord&) {}), 0);
  EXPECT_LT(host.now_ns - begun_ns, 40'000'100);  // 15 + 15 + 10, and the looks
  EXPECT_EQ(host.sleeps, 3);
}

TEST_F(PerfSessions, ParsesAllUntilItIsDisabledAndTheRingsAreEmpty) {
  AsVisible session(set, *host.table(), builder.options());
  ASSERT_EQ(session.start(), 0);
  host.during_sleep = [&](std::int64_t) {
    if (host.sleeps == 1) return -EINTR;
    first.put_at(5, payload(1, 4));
    session.disable();
    return 0;
  };
  int records = 0;
  EXPECT_EQ(session.parse_all([&](const SessionRecord&) { ++records; }), 0);
  EXPECT_EQ(records, 1);
}

}  // namespace
}  // namespace ringside::consumers
