// SPDX-License-Identifier: Apache-2.0
//
// The BPF ring buffer against the measured facts of KERNEL-RINGS 1.
#include "sim/ringbuf.h"

#include <gtest/gtest.h>

#include <limits>

#include "sim/ringbuf_commit.h"
#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using test::consume_to;
using test::drain;
using test::header_at;
using test::make_ringbuf;

constexpr std::uint32_t busy = ring::ringbuf::busy_bit;
constexpr std::uint32_t discarded = ring::ringbuf::discard_bit;

int output(RingbufModel& ring, std::size_t size, std::uint64_t flags = 0) {
  return ring.output(test::bytes_of(size, 0x11), flags);
}

// 1.2

TEST(RingbufCreate, RefusesFlagsThatTheKernelRefuses) {
  for (const std::uint32_t flags : {1u, 2u, 8u, 1u << 10, flag_rb_overwrite}) {
    const auto ring = RingbufModel::create({.map_flags = flags});
    ASSERT_FALSE(ring) << flags;
    EXPECT_EQ(ring.error().code, EINVAL);
  }
  EXPECT_TRUE(RingbufModel::create({.map_flags = flag_numa_node}));
}

TEST(RingbufCreate, TakesTheOverwriteFlagFrom6_19On) {
  EXPECT_FALSE(RingbufModel::create({.map_flags = flag_rb_overwrite, .kernel = {6, 18}}));
  EXPECT_TRUE(RingbufModel::create({.map_flags = flag_rb_overwrite, .kernel = {6, 19}}));
}

TEST(RingbufCreate, RefusesKernelsWithoutRingbuf) { EXPECT_FALSE(RingbufModel::create({.kernel = {5, 7}})); }

TEST(RingbufCreate, RefusesPositionsBetweenRecords) {
  const auto ring = RingbufModel::create({.start_position = 12});
  ASSERT_FALSE(ring);
  EXPECT_EQ(ring.error().code, EINVAL);
}

// 1.4

TEST(RingbufRecord, HeaderIsBusyWithThePageOffsetUntilItIsCommitted) {
  const auto ring = make_ringbuf({.data_size = 8192});
  const auto first = ring->reserve(4080).value();
  EXPECT_EQ(header_at(*ring, 0), busy | 4080u);
  EXPECT_EQ(test::load<std::uint32_t>(ring->memory().user_data(), 4), 3u);  // 3 at data offset 0
  const auto second = ring->reserve(5).value();
  EXPECT_EQ(second.position, 4088u);
  EXPECT_EQ(test::load<std::uint32_t>(ring->memory().user_data(), 4092), 3u);
  const auto third = ring->reserve(0).value();
  EXPECT_EQ(third.position, 4104u);                                            // 4088 + up8(5 + 8)
  EXPECT_EQ(test::load<std::uint32_t>(ring->memory().user_data(), 4108), 4u);  // the second data page
  ring->submit(first);
  ring->discard(second);
  EXPECT_EQ(header_at(*ring, 0), 4080u);
  EXPECT_EQ(header_at(*ring, 4088), discarded | 5u);
  EXPECT_EQ(header_at(*ring, 4104), busy);
}

TEST(RingbufRecord, SpansAreMultiplesOf8) {
  const auto ring = make_ringbuf();
  std::uint64_t expected = 0;
  for (std::size_t size = 0; size <= 24; ++size) {
    ASSERT_EQ(output(*ring, size), 0);
    expected += size == 0 ? 8 : size <= 8 ? 16 : size <= 16 ? 24 : 32;
    EXPECT_EQ(ring->producer_pos(), expected) << size;
  }
}

TEST(RingbufRecord, ReserveTouchesNeitherPayloadNorPadding) {
  const auto ring = make_ringbuf();
  for (int i = 0; i < 127; ++i) ASSERT_EQ(output(*ring, 24), 0);  // leaves 0x11 all over the ring
  drain(*ring);
  ASSERT_EQ(output(*ring, 24), 0);  // the last 32 bytes of the lap
  drain(*ring);
  const std::uint64_t at = ring->reserve(5)->position;
  for (std::uint64_t offset = 8; offset < 16; ++offset) {
    EXPECT_EQ(test::load<unsigned char>(ring->memory().user_data(), (at & 4095) + offset), 0x11) << offset;
  }
}

TEST(RingbufRecord, PayloadThatPassesTheEndIsContiguousThroughTheSecondMapping) {
  const auto ring = make_ringbuf();
  ASSERT_EQ(output(*ring, 4064), 0);  // producer at 4072
  drain(*ring);
  ASSERT_EQ(ring->output(test::bytes_of(100, 0x22)), 0);
  const auto* data = static_cast<const std::byte*>(ring->memory().user_data());
  EXPECT_EQ(std::vector<std::byte>(data + 4080, data + 4180), test::bytes_of(100, 0x22));
  EXPECT_EQ(test::load<unsigned char>(data, 83), 0x22);  // 4180 - 1 - 4096
}

// 1.5

TEST(RingbufReserveRule, LargestPayloadLeavesSixteenBytes) {
  for (const std::size_t size : {4081u, 4088u, 4096u, 5000u}) EXPECT_EQ(output(*make_ringbuf(), size), -EAGAIN) << size;
  EXPECT_EQ(output(*make_ringbuf(), 4080), 0);
}

TEST(RingbufReserveRule, SizesThatNeedThirtyBitsAreRefused) {
  const auto ring = make_ringbuf({.data_size = std::uint64_t{1} << 31});
  EXPECT_TRUE(ring->reserve(0x3fffffff));
  EXPECT_FALSE(ring->reserve(0x40000000));
  EXPECT_FALSE(ring->reserve(std::numeric_limits<std::uint64_t>::max()));
}

TEST(RingbufReserveRule, A4096RingHolds127RecordsOf24AndOneOf16AndThenNothing) {
  // 1.10, from position 392 on: 49 records of no bytes, consumed.
  const auto ring = make_ringbuf();
  for (int i = 0; i < 49; ++i) ASSERT_EQ(output(*ring, 0), 0);
  drain(*ring);
  ASSERT_EQ(ring->producer_pos(), 392u);
  for (int i = 0; i < 127; ++i) ASSERT_EQ(output(*ring, 24), 0);
  EXPECT_EQ(ring->producer_pos(), 4456u);
  EXPECT_EQ(output(*ring, 24), -EAGAIN);
  EXPECT_EQ(ring->pending_pos(), 4456u);
  EXPECT_EQ(output(*ring, 16), 0);
  EXPECT_EQ(ring->producer_pos(), 4480u);
  EXPECT_EQ(output(*ring, 8), -EAGAIN);
  EXPECT_EQ(output(*ring, 0), -EAGAIN);
}

TEST(RingbufReserveRule, A4096RingHolds511EmptyRecords) {
  const auto ring = make_ringbuf();
  int held = 0;
  while (held < 1000 && output(*ring, 0) == 0) ++held;
  EXPECT_EQ(held, 511);
}

TEST(RingbufReserveRule, AFailedReserveChangesPendingPosOnly) {
  const auto ring = make_ringbuf();
  const auto first = ring->reserve(2000).value();
  const auto second = ring->reserve(2000).value();
  EXPECT_EQ(ring->pending_pos(), 0u);
  ring->submit(first);
  EXPECT_EQ(ring->pending_pos(), 0u);  // commit takes no lock and moves nothing
  EXPECT_FALSE(ring->reserve(100));
  EXPECT_EQ(ring->pending_pos(), 2008u);
  EXPECT_EQ(ring->producer_pos(), 4016u);
  ring->submit(second);
  EXPECT_FALSE(ring->reserve(100));
  EXPECT_EQ(ring->pending_pos(), 4016u);
}

TEST(RingbufReserveRule, DiscardedRecordsTakeSpaceUntilTheConsumerPassesThem) {
  const auto ring = make_ringbuf();
  ring->discard(ring->reserve(4080).value());
  EXPECT_FALSE(ring->reserve(0));
  drain(*ring);
  EXPECT_TRUE(ring->reserve(4080));
}

TEST(RingbufReserveRule, ABusyRecordLimitsTheRingEvenWhenTheConsumerHasPassedIt) {
  const auto ring = make_ringbuf();
  const auto held = ring->reserve(24).value();
  consume_to(*ring, 32);
  for (int i = 0; i < 126; ++i) {
    ASSERT_EQ(output(*ring, 24), 0);
    drain(*ring);
  }
  EXPECT_EQ(ring->producer_pos(), 4064u);
  EXPECT_EQ(output(*ring, 24), -EAGAIN);  // 4096 - 0 > 4095, though all is consumed
  ring->submit(held);
  EXPECT_EQ(output(*ring, 24), 0);
}

TEST(RingbufReserveRule, BeforePendingPosALyingConsumerMakesReservationsOverlap) {
  // CVE-2024-41009: the consumer says that it has passed the held record.
  const auto ring = make_ringbuf({.kernel = {6, 8}});
  const auto held = ring->reserve(3000).value();
  consume_to(*ring, 3008);
  const auto second = ring->reserve(3000);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->position, 3008u);  // up to 6016: over the held header at 0, one lap on
  EXPECT_EQ(ring->pending_pos(), 0u);
  EXPECT_EQ(held.position, 0u);

  const auto fixed = make_ringbuf();
  ASSERT_TRUE(fixed->reserve(3000));
  consume_to(*fixed, 3008);
  EXPECT_FALSE(fixed->reserve(3000));
}

TEST(RingbufReserveRule, BeforeTheOversizeCheckALyingConsumerGetsASpanLargerThanTheRing) {
  const auto old = make_ringbuf({.kernel = {5, 9}});
  consume_to(*old, 8008);
  EXPECT_TRUE(old->reserve(8000));                                                  // CVE-2021-3489
  for (const KernelVersion kernel : {KernelVersion{6, 8}, KernelVersion{6, 18}}) {  // without and with pending_pos
    const auto fixed = make_ringbuf({.kernel = kernel});
    consume_to(*fixed, 8008);
    EXPECT_FALSE(fixed->reserve(8000)) << kernel;
  }
}

// 1.6

struct Committed {
  std::uint64_t consumer_offset;  // consumer_pos - position of the record
  std::uint64_t flags;
  bool wakes;
};

TEST(RingbufCommitRule, WakesByTheConsumersOffsetAndTheFlags) {
  const std::uint64_t no = ring::flag_no_wakeup;
  const std::uint64_t force = ring::flag_force_wakeup;
  const Committed rows[] = {
      {0, 0, true},           // caught up
      {0, no, false},         // told not to
      {0, force, true},       //
      {0, no | force, true},  // FORCE wins
      {8, 0, false},          // ahead by one header
      {1, 0, false},          // ahead by one byte
      {std::uint64_t{0} - 8, 0, false},
      {std::uint64_t{0} - 8, force, true},
      {std::uint64_t{0} - 4096, 0, true},  // wrong by a lap: the test is on offsets
      {3 * 4096, 0, true},
      {0, 1u << 7, true},  // unknown bits are ignored
      {8, 1u << 7, false},
  };
  for (const bool discard : {false, true}) {
    for (const Committed& row : rows) {
      const auto ring = make_ringbuf({.start_position = 8192});
      const auto record = ring->reserve(8).value();
      consume_to(*ring, record.position + row.consumer_offset);
      const std::uint64_t before = ring->wait_queue().wakeups();
      discard ? ring->discard(record, row.flags) : ring->submit(record, row.flags);
      EXPECT_EQ(ring->wait_queue().wakeups() - before, row.wakes ? 1u : 0u)
          << "consumer off by " << row.consumer_offset << ", flags " << row.flags << ", discard " << discard;
    }
  }
}

TEST(RingbufCommitRule, TheHeadsCommitWakesNotTheOneBehindIt) {
  const auto ring = make_ringbuf();
  const auto first = ring->reserve(8).value();
  const auto second = ring->reserve(8).value();
  ring->submit(second);
  EXPECT_EQ(ring->wait_queue().wakeups(), 0u);
  ring->submit(first);
  EXPECT_EQ(ring->wait_queue().wakeups(), 1u);
}

TEST(RingbufCommitRule, AQueuedWakeupMergesWithTheNext) {
  const auto ring = make_ringbuf();
  EXPECT_TRUE(ring->queue_wakeup());
  EXPECT_FALSE(ring->queue_wakeup());
  ring->run_wakeup();
  EXPECT_EQ(ring->wait_queue().wakeups(), 1u);
  EXPECT_TRUE(ring->queue_wakeup());
}

// 1.7

TEST(RingbufHelpers, RefuseFlagsEachInItsOwnWay) {
  const auto ring = make_ringbuf();
  EXPECT_FALSE(ring->reserve(8, 1));
  EXPECT_EQ(output(*ring, 8, 4), -EINVAL);
  EXPECT_EQ(output(*ring, 5000, 4), -EINVAL);  // before anything else
  EXPECT_EQ(ring->producer_pos(), 0u);
  std::optional<RingbufModel::Reservation> dynptr;
  EXPECT_EQ(ring->reserve_dynptr(8, 1, dynptr), -EINVAL);
}

TEST(RingbufHelpers, DynptrsFailWithTheirOwnErrors) {
  const auto ring = make_ringbuf();
  std::optional<RingbufModel::Reservation> dynptr;
  EXPECT_EQ(ring->reserve_dynptr(0x1000000, 0, dynptr), -E2BIG);
  EXPECT_EQ(ring->reserve_dynptr(0xffffff, 0, dynptr), -EINVAL);
  EXPECT_FALSE(dynptr);
  ring->submit_dynptr(dynptr);  // a null dynptr: nothing
  ring->discard_dynptr(dynptr);
  EXPECT_EQ(ring->producer_pos(), 0u);
  EXPECT_EQ(ring->reserve_dynptr(8, 0, dynptr), 0);
  ring->discard_dynptr(dynptr);
  EXPECT_EQ(header_at(*ring, 0), discarded | 8u);
}

TEST(RingbufHelpers, QueryCountsHeadersBusyAndDiscardedRecords) {
  const auto ring = make_ringbuf();
  ring->discard(ring->reserve(8).value());
  ASSERT_TRUE(ring->reserve(8));
  consume_to(*ring, 8);
  EXPECT_EQ(ring->query(RingbufQuery::avail_data), 24u);
  EXPECT_EQ(ring->query(RingbufQuery::ring_size), 4096u);
  EXPECT_EQ(ring->query(RingbufQuery::cons_pos), 8u);
  EXPECT_EQ(ring->query(RingbufQuery::prod_pos), 32u);
  EXPECT_EQ(ring->query(RingbufQuery::overwrite_pos), 0u);
  EXPECT_EQ(ring->query(17), 0u);
  consume_to(*ring, 40);
  EXPECT_EQ(ring->query(RingbufQuery::avail_data), std::uint64_t{0} - 8);
}

// 1.9

TEST(RingbufLies, ReserveUsesConsumerPosAsItIs) {
  struct Row {
    std::int64_t off;  // consumer_pos - producer_pos
    bool ok;
  };
  const Row rows[] = {
      {-4079, true},
      {-4080, false},
      {-4081, false},
      {-4096, false},
      {-8192, false},
      {1, true},
      {7, true},
      {8, true},
      {15, true},
      {16, true},
      {17, false},
      {1000, false},
      {std::int64_t{1} << 40, false},
      {std::numeric_limits<std::int64_t>::min(), false},
  };
  for (const Row& row : rows) {
    const auto ring = make_ringbuf({.start_position = 1 << 20});
    consume_to(*ring, ring->producer_pos() + static_cast<std::uint64_t>(row.off));
    EXPECT_EQ(ring->reserve(8).has_value(), row.ok) << "producer_pos + " << row.off;
  }
  for (const std::uint64_t absolute : {std::uint64_t{3}, std::numeric_limits<std::uint64_t>::max()}) {
    const auto ring = make_ringbuf({.start_position = 1 << 20});
    consume_to(*ring, absolute);
    EXPECT_FALSE(ring->reserve(8)) << absolute;
  }
}

TEST(RingbufLies, AConsumerAheadOfTheProducerIsPolledReadable) {
  const auto ring = make_ringbuf();
  EXPECT_EQ(ring->poll(), 0u);
  consume_to(*ring, 8);
  EXPECT_EQ(ring->poll(), poll_readable);
  EXPECT_FALSE(ring->deliverable());
}

TEST(RingbufLies, UnreadRecordsAreOnlyThoseOfAnHonestPosition) {
  const auto ring = make_ringbuf();
  ASSERT_EQ(output(*ring, 8), 0);
  int seen = 0;
  const auto count = [&](std::uint64_t, std::uint32_t) { ++seen; };
  ring->visit_unread(count);
  EXPECT_EQ(seen, 1);
  for (const std::uint64_t lie : {std::uint64_t{4}, std::uint64_t{24}, std::uint64_t{0} - 8192}) {
    consume_to(*ring, lie);
    ring->visit_unread(count);
    EXPECT_FALSE(ring->deliverable()) << lie;
  }
  EXPECT_EQ(seen, 1);
}

// Start positions

TEST(RingbufStart, ARingGoesOnOver2To32AndOver2To64) {
  for (const std::uint64_t start : {(std::uint64_t{1} << 32) - 4096, std::uint64_t{0} - 4096}) {
    const auto ring = make_ringbuf({.start_position = start, .kernel = {7, 2}});
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t at = ring->producer_pos();
      ASSERT_EQ(at, start + 16 * static_cast<std::uint64_t>(i));
      ASSERT_EQ(output(*ring, 8), 0) << i;
      ASSERT_TRUE(ring->deliverable());
      ASSERT_EQ(header_at(*ring, at), 8u);
      drain(*ring);
    }
  }
}

TEST(RingbufStart, ThePendingWalkBefore7_2StopsShortOver2To64) {
  // 1.5.6, q < p: a BUSY record in front of the wrap is at a larger position than the producer after it. The walk does
  // not start, pending_pos stays, and the ring fills for good; from 7.2 (q != p) it goes on.
  for (const bool newer : {false, true}) {
    const auto ring = make_ringbuf(
        {.start_position = std::uint64_t{0} - 16, .kernel = newer ? KernelVersion{7, 2} : KernelVersion{6, 18}});
    int taken = 0;
    for (int i = 0; i < 1000 && output(*ring, 8) == 0; ++i) {
      drain(*ring);
      ++taken;
    }
    // (n - q) <= 4095 with q = -16: n up to 4079, 4064 + 16 bytes of 16 each.
    EXPECT_EQ(taken, newer ? 1000 : 255);
  }
}

}  // namespace
}  // namespace ringside::sim
