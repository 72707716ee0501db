// SPDX-License-Identifier: Apache-2.0
//
// When a perf ring wakes its readers: every measured row of KERNEL-RINGS 2.9 (N = 4096, consumer draining).
#include <gtest/gtest.h>

#include <string>

#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using test::drain;
using test::make_perf;

struct Wakeup {
  int record;          // counted from 1
  std::uint64_t head;  // state after that record; 0: not compared
  std::uint64_t wakeup;
  friend bool operator==(const Wakeup&, const Wakeup&) = default;
};
std::ostream& operator<<(std::ostream& out, const Wakeup& wakeup) {
  return out << '#' << wakeup.record << '(' << wakeup.head << ',' << wakeup.wakeup << ')';
}

// The records of 16 bytes after which POLLIN was seen.
std::vector<Wakeup> wakeups(PerfRingModel& ring, int records) {
  const auto payload = test::bytes_of(4, 0x11);
  std::vector<Wakeup> seen;
  for (int record = 1; record <= records; ++record) {
    EXPECT_EQ(ring.output(payload), 0);
    if (ring.poll() == poll_readable) seen.push_back({record, ring.state().head, ring.state().wakeup});
    drain(ring);
  }
  return seen;
}

std::vector<int> records_of(const std::vector<Wakeup>& wakeups) {
  std::vector<int> records;
  for (const Wakeup& wakeup : wakeups) records.push_back(wakeup.record);
  return records;
}

std::vector<int> all_up_to(int last) {
  std::vector<int> records;
  for (int record = 1; record <= last; ++record) records.push_back(record);
  return records;
}

PerfAttr by_events(std::uint32_t events) { return {.wakeup_events = events}; }
PerfAttr by_bytes(std::uint32_t bytes) { return {.watermark = true, .wakeup_watermark = bytes}; }

std::vector<int> wakeup_records(const PerfAttr& attr, int records) {
  return records_of(wakeups(*make_perf(attr), records));
}

TEST(PerfWakeup, EventsOfOneWakeEveryTime) { EXPECT_EQ(wakeup_records(by_events(1), 300), all_up_to(300)); }

TEST(PerfWakeup, EventsOfThreeWakeEveryThird) {
  const std::vector<Wakeup> expected = {{3, 48, 1}, {6, 96, 2}, {9, 144, 3}, {12, 192, 4}};
  EXPECT_EQ(wakeups(*make_perf(by_events(3)), 12), expected);
}

TEST(PerfWakeup, EventsOfAHundredShareTheirCounterWithTheHalfBufferStamp) {
  const std::vector<Wakeup> seen = wakeups(*make_perf(by_events(100)), 600);
  const std::vector<Wakeup> start = {{100, 1600, 1},    {129, 2064, 2049}, {200, 3200, 2050},
                                     {257, 4112, 4098}, {300, 4800, 4099}, {385, 6160, 6147}};
  ASSERT_GE(seen.size(), start.size());
  EXPECT_EQ(std::vector<Wakeup>(seen.begin(), seen.begin() + 6), start);
  EXPECT_EQ(records_of(seen), (std::vector<int>{100, 129, 200, 257, 300, 385, 400, 500, 513, 600}));
  EXPECT_EQ(seen[8], (Wakeup{513, 8208, 8197}));
}

TEST(PerfWakeup, NoEventsAndNoWatermarkWakeAtHalfTheBuffer) {
  const std::vector<int> half = {129, 257, 385, 513, 641};
  const std::vector<Wakeup> seen = wakeups(*make_perf(by_events(0)), 700);
  EXPECT_EQ(records_of(seen), half);
  EXPECT_EQ(seen[0], (Wakeup{129, 2064, 2048}));
  EXPECT_EQ(seen[1], (Wakeup{257, 4112, 4096}));
  EXPECT_EQ(wakeup_records(by_bytes(0), 700), half);
}

TEST(PerfWakeup, WatermarksBelowARecordWakeEveryTime) {
  EXPECT_EQ(wakeup_records(by_bytes(1), 300), all_up_to(300));
  const std::vector<Wakeup> seen = wakeups(*make_perf(by_bytes(15)), 3);
  EXPECT_EQ(seen, (std::vector<Wakeup>{{1, 16, 15}, {2, 32, 30}, {3, 48, 45}}));
}

TEST(PerfWakeup, AWatermarkOfOneRecordWakesFromTheSecondOn) {
  std::vector<int> expected = all_up_to(100);
  expected.erase(expected.begin());  // 16 - 0 > 16 is false
  EXPECT_EQ(wakeup_records(by_bytes(16), 100), expected);
}

TEST(PerfWakeup, AWatermarkOfSeventeenSkipsTheSeventeenth) {
  std::vector<int> expected;
  for (int record = 2; record <= 33; ++record) {
    if (record != 17) expected.push_back(record);
  }
  EXPECT_EQ(wakeup_records(by_bytes(17), 33), expected);
}

TEST(PerfWakeup, WatermarksOf32And100) {
  EXPECT_EQ(wakeup_records(by_bytes(32), 10), (std::vector<int>{3, 5, 7, 9}));
  EXPECT_EQ(wakeup_records(by_bytes(100), 40), (std::vector<int>{7, 13, 19, 26, 32, 38}));
}

TEST(PerfWakeup, WatermarksAreClampedToTheBuffer) {
  for (const std::uint32_t bytes : {4096u, 5000u, 1u << 31, ~0u}) {
    EXPECT_EQ(wakeup_records(by_bytes(bytes), 600), (std::vector<int>{257, 513})) << bytes;
  }
}

TEST(PerfWakeup, TheStampLagsForEverBehindOneLargeRecord) {
  const auto ring = make_perf(by_bytes(16));
  ASSERT_EQ(ring->output(test::bytes_of(996, 1)), 0);  // 8 + up8(996 + 4) = 1008
  EXPECT_EQ(ring->poll(), poll_readable);
  EXPECT_EQ(ring->state().wakeup, 16u);  // one watermark, however large the record
  drain(*ring);
  EXPECT_EQ(records_of(wakeups(*ring, 100)), all_up_to(100));
}

TEST(PerfWakeup, BackwardRingsCountTheSame) {
  PerfAttr bytes = by_bytes(32);
  bytes.write_backward = true;
  EXPECT_EQ(wakeup_records(bytes, 11), (std::vector<int>{3, 5, 7, 9, 11}));
  PerfAttr events = by_events(3);
  events.write_backward = true;
  EXPECT_EQ(wakeup_records(events, 12), (std::vector<int>{3, 6, 9, 12}));
}

TEST(PerfWakeup, EventsFrom2To31OnAreNegative) {
  for (const std::uint32_t events : {0x80000000u, 0x80000001u, 0xffffffffu}) {
    EXPECT_EQ(wakeup_records(by_events(events), 50), all_up_to(50)) << events;
  }
}

TEST(PerfWakeup, EventsGrowByANegativeThreshold) {
  const auto ring = make_perf(by_events(0x80000000u));
  ASSERT_EQ(ring->output({}), 0);
  EXPECT_EQ(ring->state().events, 1 + (std::int64_t{1} << 31));
}

TEST(PerfWakeup, OtherRecordsMoveTheWatermarkButAreNoEvents) {
  const auto ring = make_perf(by_events(1));
  const auto body = test::bytes_of(16, 1);  // a COMM of 24 bytes
  int record = 0;
  do {
    ASSERT_EQ(ring->write({.type = 3, .misc = 0, .payload = body}), 0);
    ++record;
    drain(*ring);
  } while (record < 1000 && ring->poll() == 0);
  EXPECT_EQ(record, 86);
  EXPECT_EQ(ring->data_head(), 2064u);
}

TEST(PerfWakeup, ALostRecordWakesNobody) {
  const auto ring = make_perf();
  const auto payload = test::bytes_of(4, 1);
  for (int i = 0; i < 255; ++i) ASSERT_EQ(ring->output(payload), 0);
  EXPECT_EQ(ring->output(payload), -ENOSPC);
  EXPECT_EQ(ring->poll(), poll_readable);
  EXPECT_EQ(ring->output(payload), -ENOSPC);
  EXPECT_EQ(ring->poll(), 0u);
  drain(*ring);
  EXPECT_EQ(ring->output(payload), 0);
  EXPECT_EQ(ring->poll(), poll_readable);
}

TEST(PerfWakeup, EventsOfTwoWritersShareTheCounterEachWithItsOwnThreshold) {
  const auto ring = make_perf(by_events(4));
  PerfEventState other{.attr = by_events(2), .id = 2};
  const auto payload = test::bytes_of(4, 1);
  const std::string order = "eeebbbbeeeeb";
  const std::int64_t events[] = {1, 2, 3, 2, 1, 0, 1, 2, 3, 0, 1, 0};
  std::vector<int> woken;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ASSERT_EQ(ring->write({.payload = payload}, order[i] == 'e' ? ring->event() : other), 0);
    EXPECT_EQ(ring->state().events, events[i]) << i;
    if (ring->poll() != 0) woken.push_back(static_cast<int>(i) + 1);
  }
  EXPECT_EQ(woken, (std::vector<int>{4, 5, 6, 10, 12}));
}

}  // namespace
}  // namespace ringside::sim
