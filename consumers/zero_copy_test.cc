// SPDX-License-Identifier: Apache-2.0
//
// What zero_copy promises of its views: their space stays reserved until they are released, in whatever order that is.
#include <gtest/gtest.h>

#include <cerrno>

#include "consumers/fake_host.h"
#include "consumers/strategies.h"
#include "consumers/zero_copy.h"

namespace ringside::consumers {
namespace {

using testing::FakeHost;
using testing::FakeRingbuf;
using testing::OpenConsumer;
using testing::payload;

class ZeroCopyTest : public ::testing::Test {
 protected:
  /// Puts `count` records of span 16 and drains them all.
  void drain_records(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) ring.put(payload(i, 8));
    ASSERT_EQ(consumer.drain(), count);
  }
  std::uint64_t token(std::size_t index) const { return host.deliveries.at(index).token; }

  FakeRingbuf ring{4096};
  FakeHost host;
  OpenConsumer consumer{zero_copy(), host, {ring.ring()}};
};

TEST_F(ZeroCopyTest, HandsOutViewsIntoTheRingWithDistinctTokens) {
  drain_records(2);
  const auto* data = static_cast<const std::uint8_t*>(ring.ring().data);
  EXPECT_EQ(host.deliveries[0].place, data + 8);
  EXPECT_EQ(host.deliveries[1].place, data + 24);
  EXPECT_NE(token(0), 0u);
  EXPECT_NE(token(1), 0u);
  EXPECT_NE(token(0), token(1));
}

TEST_F(ZeroCopyTest, KeepsAllSpaceWhileTheOldestViewIsHeld) {
  drain_records(3);
  EXPECT_EQ(ring.consumer_pos(), 0u);
  EXPECT_EQ(consumer.release(token(1)), 0);
  EXPECT_EQ(consumer.release(token(2)), 0);
  EXPECT_EQ(ring.consumer_pos(), 0u);
  EXPECT_EQ(consumer.release(token(0)), 0);
  EXPECT_EQ(ring.consumer_pos(), 48u);
}

TEST_F(ZeroCopyTest, MovesOverTheReleasedPrefixOnly) {
  drain_records(4);
  EXPECT_EQ(consumer.release(token(2)), 0);
  EXPECT_EQ(consumer.release(token(0)), 0);
  EXPECT_EQ(ring.consumer_pos(), 16u);
  EXPECT_EQ(consumer.release(token(1)), 0);
  EXPECT_EQ(ring.consumer_pos(), 48u);  // 1, and 2 with it
}

TEST_F(ZeroCopyTest, HandsDiscardedRecordsBackWithWhatFollowsThem) {
  ring.put(payload(1, 8));
  ring.put_discarded(8);
  ring.put(payload(2, 8));
  ring.put_discarded(8);
  ASSERT_EQ(consumer.drain(), 2);
  EXPECT_EQ(consumer.release(token(0)), 0);
  EXPECT_EQ(ring.consumer_pos(), 32u);  // the first record and the discarded one behind it
  EXPECT_EQ(consumer.release(token(1)), 0);
  EXPECT_EQ(ring.consumer_pos(), 64u);
}

TEST_F(ZeroCopyTest, RefusesTokensThatAreNotHeld) {
  drain_records(2);
  EXPECT_EQ(consumer.release(0), -EINVAL);
  EXPECT_EQ(consumer.release(token(1) + 1), -EINVAL);
  EXPECT_EQ(consumer.release(UINT64_MAX), -EINVAL);
  EXPECT_EQ(consumer.release(token(1)), 0);
  EXPECT_EQ(consumer.release(token(1)), -EINVAL);  // twice, with an older one still held
  EXPECT_EQ(consumer.release(token(0)), 0);
  EXPECT_EQ(consumer.release(token(0)), -EINVAL);  // twice, with none held
  EXPECT_EQ(ring.consumer_pos(), 32u);
}

TEST_F(ZeroCopyTest, TokensOfSeveralRingsAreKeptApart) {
  FakeRingbuf second(4096);
  FakeRingbuf third(4096);
  FakeRingbuf first(4096);
  for (FakeRingbuf* each : {&first, &second, &third}) each->put(payload(1, 8));
  FakeHost other;
  OpenConsumer three(zero_copy(), other, {first.ring(), second.ring(), third.ring()});
  ASSERT_EQ(three.drain(), 3);

  EXPECT_EQ(three.release(other.deliveries[1].token), 0);
  EXPECT_EQ(first.consumer_pos(), 0u);
  EXPECT_EQ(second.consumer_pos(), 16u);
  EXPECT_EQ(three.release(4), -EINVAL);  // ring 3 of 0 to 2: three rings take two bits of a token
}

TEST_F(ZeroCopyTest, HoldsABoundedNumberOfViews) {
  FakeRingbuf large(65536);
  for (int i = 0; i < 5000; ++i) large.put({});  // 5000 spans of 8 bytes
  FakeHost other;
  OpenConsumer bounded(zero_copy(), other, {large.ring()});

  EXPECT_EQ(bounded.drain(), 4096);
  EXPECT_EQ(bounded.drain(), 0);  // the host's own views are in the way
  EXPECT_EQ(bounded.release(other.deliveries[0].token), 0);
  EXPECT_EQ(bounded.drain(), 1);
}

TEST_F(ZeroCopyTest, LooksAgainAndAgainWhileHeldViewsHoldTheWakeUpBack) {
  drain_records(1);
  host.during_sleep = [&](std::int64_t timeout_ns) {
    if (host.sleeps == 3) ring.put(payload(2, 8));  // wakes nobody: the published position is behind it
    host.now_ns += timeout_ns;
    return 0;
  };
  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
  EXPECT_EQ(host.sleeps, 3);
}

TEST_F(ZeroCopyTest, KeepsTheDeadlineWhileViewsAreHeld) {
  drain_records(1);
  EXPECT_EQ(consumer.wait(2'500'000), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(host.now_ns, 1'000 + 2'500'000);  // slices of 1, 1 and 0.5 ms
  EXPECT_EQ(host.sleeps, 3);
}

TEST_F(ZeroCopyTest, CloseWithViewsHeldHandsNothingBack) {
  drain_records(2);
  consumer.close();
  EXPECT_EQ(ring.consumer_pos(), 0u);
}

}  // namespace
}  // namespace ringside::consumers
