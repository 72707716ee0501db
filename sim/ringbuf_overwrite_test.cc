// SPDX-License-Identifier: Apache-2.0
//
// The overwrite ring of 6.19 against the measured facts of KERNEL-RINGS 1.11, and the worked example of case M2.
#include <gtest/gtest.h>

#include <memory>

#include "sim/ringbuf.h"
#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using test::consume_to;

struct Positions {
  std::uint64_t producer = 0;
  std::uint64_t pending = 0;
  std::uint64_t overwrite = 0;
  std::uint64_t available = 0;
  friend bool operator==(const Positions&, const Positions&) = default;
};
std::ostream& operator<<(std::ostream& out, const Positions& at) {
  return out << "producer " << at.producer << " pending " << at.pending << " overwrite " << at.overwrite
             << " available " << at.available;
}

Positions positions_of(const RingbufModel& ring) {
  return {.producer = ring.producer_pos(),
          .pending = ring.pending_pos(),
          .overwrite = ring.query(RingbufQuery::overwrite_pos),
          .available = ring.query(RingbufQuery::avail_data)};
}

std::unique_ptr<RingbufModel> make_overwrite(KernelVersion kernel = {6, 19}, std::uint64_t start = 0) {
  return test::make_ringbuf({.start_position = start, .map_flags = flag_rb_overwrite, .kernel = kernel});
}

int output(RingbufModel& ring, std::size_t size, std::uint64_t flags = 0) {
  return ring.output(test::bytes_of(size, 0x11), flags);
}

TEST(RingbufOverwrite, GivesUpTheOldestRecordsAsMeasured) {
  const auto ring = make_overwrite();
  for (int i = 0; i < 8; ++i) ASSERT_EQ(output(*ring, 504), 0);  // spans of 512
  EXPECT_EQ(positions_of(*ring), (Positions{4096, 3584, 512, 3584}));
  for (int i = 8; i < 12; ++i) ASSERT_EQ(output(*ring, 504), 0);
  EXPECT_EQ(positions_of(*ring), (Positions{6144, 5632, 2560, 3584}));

  struct Vector {
    std::size_t size;
    std::uint64_t producer;
    std::uint64_t overwrite;
  };
  for (const Vector& vector :
       {Vector{8, 6160, 2560}, {1000, 7168, 3584}, {0, 7176, 3584}, {2000, 9184, 5120}, {4080, 13272, 9184}}) {
    ASSERT_EQ(output(*ring, vector.size), 0);
    EXPECT_EQ(ring->producer_pos(), vector.producer) << vector.size;
    EXPECT_EQ(ring->overwrite_pos(), vector.overwrite) << vector.size;
  }
}

TEST(RingbufOverwrite, TakesAtMostTheSizeLess16) {
  const auto ring = make_overwrite();
  EXPECT_EQ(output(*ring, 4080), 0);
  EXPECT_EQ(output(*ring, 4081), -EAGAIN);
}

// CASES M2: A 512, B 1024, C 2048 reserved, A and B committed; D 1536 fits, E 1024 does not while C is BUSY.
TEST(RingbufOverwrite, NeverPassesARecordThatIsStillBusy) {
  const auto ring = make_overwrite();
  const auto a = ring->reserve(512 - 8).value();
  const auto b = ring->reserve(1024 - 8).value();
  const auto c = ring->reserve(2048 - 8).value();
  ring->submit(a);
  ring->submit(b);
  const auto d = ring->reserve(1536 - 8).value();
  EXPECT_EQ(d.position, 3584u);                  // 512 + 1024 + 2048
  EXPECT_EQ(ring->overwrite_pos(), c.position);  // 5120 - 1536 <= 4095
  EXPECT_FALSE(ring->reserve(1024 - 8));         // 6144 - 1536 > 4095
  EXPECT_EQ(ring->producer_pos(), 5120u);
  ring->submit(c);
  ring->submit(d);
  EXPECT_TRUE(ring->reserve(1024 - 8));
  EXPECT_EQ(ring->pending_pos(), 5120u);         // the end of D
  EXPECT_EQ(ring->overwrite_pos(), d.position);  // 6144 - 3584 <= 4095
}

TEST(RingbufOverwrite, AHeldRecordLimitsWhatFollowsToTheRing) {
  const auto ring = make_overwrite();
  const auto held = ring->reserve(24).value();
  int taken = 0;
  while (output(*ring, 24) == 0) ++taken;
  EXPECT_EQ(taken, 126);  // 127 spans of 32 are 4064, 128 would be 4096
  ring->submit(held);
  EXPECT_EQ(output(*ring, 24), 0);
}

TEST(RingbufOverwrite, ConsumerPosIsNoLimitWhereverItStands) {
  const auto ring = make_overwrite();
  for (const std::uint64_t consumer : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{100000}, ~std::uint64_t{0}}) {
    consume_to(*ring, consumer);
    for (int i = 0; i < 300; ++i) ASSERT_EQ(output(*ring, 100), 0) << consumer;
  }
}

TEST(RingbufOverwrite, AvailableBefore7_3CountsFromTheGreaterPosition) {
  const auto ring = make_overwrite({7, 2});
  ASSERT_EQ(output(*ring, 24), 0);
  consume_to(*ring, ring->producer_pos() + 100000);
  EXPECT_EQ(ring->query(RingbufQuery::avail_data), std::uint64_t{0} - 100000);
  EXPECT_EQ(ring->poll(), poll_readable);
}

TEST(RingbufOverwrite, AvailableFrom7_3OnIsTheLesserDifference) {
  const auto ring = make_overwrite({7, 3});
  ASSERT_EQ(output(*ring, 24), 0);
  consume_to(*ring, ring->producer_pos() + 100000);
  EXPECT_EQ(ring->query(RingbufQuery::avail_data), 32u);
  consume_to(*ring, ring->producer_pos());
  EXPECT_EQ(ring->query(RingbufQuery::avail_data), 0u);
  EXPECT_EQ(ring->poll(), 0u);
}

TEST(RingbufOverwrite, AConsumerThatFellBehindIsWokenByAliasOnly) {
  const auto ring = make_overwrite();
  for (int i = 0; i < 600; ++i) ASSERT_EQ(output(*ring, 16), 0);
  EXPECT_EQ(ring->wait_queue().wakeups(), 2u);  // at 0 and at 12288, which is 3 * 4096 and 512 * 24
}

TEST(RingbufOverwrite, UnreadRecordsOfALappedConsumerStartAtOverwritePos) {
  const auto ring = make_overwrite();
  for (int i = 0; i < 12; ++i) ASSERT_EQ(output(*ring, 504), 0);
  std::vector<std::uint64_t> positions;
  ring->visit_unread([&](std::uint64_t at, std::uint32_t) { positions.push_back(at); });
  EXPECT_EQ(positions, (std::vector<std::uint64_t>{2560, 3072, 3584, 4096, 4608, 5120, 5632}));
}

TEST(RingbufOverwrite, PositionsMayWrapThe64Bits) {
  const auto ring = make_overwrite({7, 2}, std::uint64_t{0} - 4096);
  for (int i = 0; i < 12; ++i) ASSERT_EQ(output(*ring, 504), 0);
  EXPECT_EQ(ring->producer_pos(), 2048u);  // 12 * 512 - 4096
  EXPECT_EQ(ring->overwrite_pos(), std::uint64_t{0} - 1536);
}

TEST(RingbufOverwrite, OtherRingsKeepOverwritePosAt0) {
  const auto ring = test::make_ringbuf({.kernel = {6, 19}});
  while (output(*ring, 24) == 0) {
  }
  EXPECT_EQ(ring->query(RingbufQuery::overwrite_pos), 0u);
}

}  // namespace
}  // namespace ringside::sim
