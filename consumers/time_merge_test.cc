// SPDX-License-Identifier: Apache-2.0
//
// `time_merge`, each fact against rings filled by hand.
#include "consumers/time_merge.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "consumers/fake_host.h"
#include "consumers/mutants/time_merge.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

using testing::Bytes;
using testing::FakeHost;
using testing::FakeRingbuf;
using testing::OpenConsumer;

/// Two rings of stamped records.
class TimeMergeTest : public ::testing::Test {
 protected:
  static Bytes stamped(std::uint64_t time_ns) {
    Bytes bytes(16, 7);
    std::memcpy(bytes.data(), &time_ns, sizeof time_ns);
    return bytes;
  }
  void put(int ring, std::uint64_t time_ns) { rings_[ring].put(stamped(time_ns)); }
  std::uint64_t hold(int ring, std::uint64_t time_ns) {
    const std::uint64_t position = rings_[ring].reserve(16);
    rings_[ring].write(position, stamped(time_ns));
    return position;
  }
  OpenConsumer open(const ringside_consumer& consumer = time_merge(), std::uint32_t stamp_bytes = 8) {
    set_.kind = RINGSIDE_RINGBUF;
    set_.ring_count = 2;
    set_.rings = views_;
    set_.stamp_bytes = stamp_bytes;
    return OpenConsumer(consumer, host, set_);
  }
  std::vector<std::uint64_t> times() const {
    std::vector<std::uint64_t> told;
    for (const testing::Delivery& delivery : host.deliveries) told.push_back(delivery.time_ns);
    return told;
  }
  using Times = std::vector<std::uint64_t>;

  FakeHost host;
  FakeRingbuf rings_[2] = {FakeRingbuf(4096), FakeRingbuf(4096)};
  ringside_ring views_[2] = {rings_[0].ring(), rings_[1].ring()};
  ringside_ring_set set_{};
};

TEST_F(TimeMergeTest, HandsOutByTimeAndTellsIt) {
  for (const std::uint64_t time_ns : {10u, 30u, 50u}) put(0, time_ns);
  for (const std::uint64_t time_ns : {20u, 40u, 60u}) put(1, time_ns);
  OpenConsumer consumer = open();
  EXPECT_EQ(consumer.drain(), 6);
  EXPECT_EQ(times(), (Times{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(host.deliveries[1].ring, 1u);
  EXPECT_EQ(host.deliveries[1].bytes, stamped(20));
  for (const FakeRingbuf& ring : rings_) EXPECT_EQ(ring.consumer_pos(), ring.producer_pos());
}

TEST_F(TimeMergeTest, OfEqualTimesEachComes) {
  put(0, 10);
  put(1, 10);
  OpenConsumer consumer = open();
  EXPECT_EQ(consumer.drain(), 2);
}

TEST_F(TimeMergeTest, StopsAtABusyRecordOfAnyRing) {
  put(0, 10);
  const std::uint64_t busy = hold(0, 15);
  put(1, 20);
  OpenConsumer consumer = open();
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(consumer.drain(), 0);
  rings_[0].commit(busy);
  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(times(), (Times{10, 15, 20}));
}

TEST_F(TimeMergeTest, SleepsOnABusyRecordThoughAnotherRingHasACommittedOne) {
  hold(0, 15);
  put(1, 20);
  OpenConsumer consumer = open();
  EXPECT_EQ(consumer.wait(1000), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(host.sleeps, 1);
}

TEST_F(TimeMergeTest, HandsBackWhatWasDiscardedBeforeItSleeps) {
  rings_[0].put_discarded(16);
  hold(0, 15);
  OpenConsumer consumer = open();
  EXPECT_EQ(consumer.wait(1000), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(rings_[0].consumer_pos(), 24u);  // the BUSY record is the first of its ring
}

TEST_F(TimeMergeTest, LeavesWhatIsYoungerThanTheBound) {
  put(0, 10);
  int yields = 0;
  host.during_yield = [&] {
    // One behind each access: ring 0's position, its record, ring 1's position. Then that ring is looked through.
    if (++yields == 3) put(1, 11);
  };
  OpenConsumer consumer = open();
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(times(), (Times{10, 11}));
}

TEST_F(TimeMergeTest, WhoKnowsNoBoundHandsItOut) {
  put(0, 10);
  int yields = 0;
  host.during_yield = [&] {
    if (++yields == 3) put(1, 11);
  };
  OpenConsumer consumer = open(mutant::merge_without_bound());
  EXPECT_EQ(consumer.drain(), 2);
}

TEST_F(TimeMergeTest, AnOlderRecordThatComesBetweenTheLooksIsSeen) {
  put(0, 10);
  int yields = 0;
  host.during_yield = [&] {
    if (++yields == 3) put(1, 5);
  };
  OpenConsumer consumer = open();
  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(times(), (Times{5, 10}));
}

TEST_F(TimeMergeTest, WhoTakesThePositionsFirstDoesNotSeeIt) {
  int yields = 0;
  host.during_yield = [&] {
    // The positions are ring 0's, a yield, ring 1's.
    if (++yields != 1) return;
    put(0, 5);
    put(1, 10);
  };
  OpenConsumer consumer = open(mutant::merge_positions_first());
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(times(), (Times{10, 5}));
}

TEST_F(TimeMergeTest, GoesOnWhereItWasStopped) {
  for (const std::uint64_t time_ns : {10u, 30u, 50u}) put(0, time_ns);
  put(1, 20);
  host.stop_after = 2;
  OpenConsumer consumer = open();
  EXPECT_EQ(consumer.drain(), 2);
  host.stop_after = 0;
  EXPECT_EQ(consumer.drain(1), 1);
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(times(), (Times{10, 20, 30, 50}));
}

TEST_F(TimeMergeTest, ADrainEndsThoughEachRecordBringsAnother) {
  put(0, 1);
  std::uint64_t next = 2;
  host.during_delivery = [&] {
    if (next < 100) put(static_cast<int>(next % 2), next);
    ++next;
  };
  OpenConsumer consumer = open();
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_LE(consumer.drain(), 2);
}

TEST_F(TimeMergeTest, ARecordWithoutRoomForItsStampIsAnError) {
  rings_[0].put(Bytes(4, 1));
  OpenConsumer consumer = open();
  EXPECT_EQ(consumer.drain(), -EBADMSG);
  EXPECT_EQ(consumer.wait(1000), RINGSIDE_WAIT_READY);  // drain tells it
}

TEST_F(TimeMergeTest, KnowsStampsOfEightBytesAlone) { EXPECT_EQ(open(time_merge(), 4).open_result(), -EINVAL); }

TEST_F(TimeMergeTest, WithoutStampsABusyRecordHoldsUpItsOwnRingAlone) {
  hold(0, 15);
  put(1, 20);
  OpenConsumer consumer = open(time_merge(), 0);
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(times(), (Times{0}));
}

}  // namespace
}  // namespace ringside::consumers
