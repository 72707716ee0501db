// SPDX-License-Identifier: Apache-2.0
//
// The surprises of KERNEL-RINGS 8 that concern the BPF ring buffer, each on the running kernel and on the model. What
// is expected stands here as a number: agreement of the two alone would not show that both are surprising.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "conform/ringbuf_test_support.h"
#include "ring/layout.h"

namespace ringside::conform {
namespace {

using test::BothRings;

constexpr const char* asked = "ringbuf pages=1 overwrite=no look=asked";
constexpr const char* two_pages = "ringbuf pages=2 overwrite=no look=asked";
constexpr std::uint64_t readable = 0x41;  // POLLIN | POLLRDNORM
constexpr std::uint64_t epoll_in = 0x1;

class Surprise : public test::RingbufConform {};

TEST_F(Surprise, Surprise8_7_PaddingAndUnwrittenPayloadAreStaleMemory) {
  BothRings rings(lab(), asked);
  rings("output size=4080 flags=0");
  const auto left = rings.data<std::uint64_t>(16);
  ASSERT_NE(left, 0u);
  rings("consume count=1");
  // The next record starts at 4088; the one after it at 4096, which is 0 again.
  rings("output size=0 flags=0");
  rings("reserve size=9 reserve_flags=0 write=nothing fate=submit flags=0");
  EXPECT_EQ(rings.data<std::uint32_t>(0), 9u);
  EXPECT_EQ(rings.data<std::uint64_t>(16), left);  // one byte of payload, seven of padding
}

TEST_F(Surprise, Surprise8_8_PageOffsetCountsFromThePrivateObject) {
  BothRings rings(lab(), two_pages);
  rings("output size=4088 flags=0");
  rings("output size=0 flags=0");
  EXPECT_EQ(rings.data<std::uint32_t>(4), 3u);         // data offset 0
  EXPECT_EQ(rings.data<std::uint32_t>(4096 + 4), 4u);  // the second page
}

TEST_F(Surprise, Surprise8_9_PollSaysReadableForABusyRecord) {
  BothRings rings(lab(), asked);
  rings("hold slot=0 size=8");
  EXPECT_EQ(rings("poll").details, std::vector{readable});
  EXPECT_EQ(rings("consume count=1").result, 0);
  // A level-triggered set tells it again and again while nothing can be read.
  rings("epoll_add set=0 trigger=level");
  for (int i = 0; i < 5; ++i) {
    const Outcome ready = rings("epoll_wait set=0");
    EXPECT_EQ(ready.result, 1);
    EXPECT_EQ(ready.details, (std::vector<std::uint64_t>{0, epoll_in}));
  }
}

TEST_F(Surprise, Surprise8_9_PollSaysReadableForADiscardedRecord) {
  BothRings rings(lab(), asked);
  rings("reserve size=8 reserve_flags=0 write=all fate=discard flags=0");
  EXPECT_EQ(rings("poll").details, std::vector{readable});
  EXPECT_EQ(rings("consume count=1").result, 0);  // passed, not delivered
  EXPECT_EQ(rings("poll").details, std::vector<std::uint64_t>{0});
}

TEST_F(Surprise, Surprise8_10_DataWithoutWakeupIsSeenByPollAndNotByEpoll) {
  BothRings rings(lab(), asked);
  rings("epoll_add set=0 trigger=level");
  rings("output size=8 flags=1");
  EXPECT_EQ(rings("epoll_wait set=0").result, 0);
  EXPECT_EQ(rings("poll").details, std::vector{readable});
  // Nor is what follows, as the consumer has not caught up.
  rings("output size=8 flags=0");
  EXPECT_EQ(rings("epoll_wait set=0").result, 0);
  rings("output size=8 flags=2");
  EXPECT_EQ(rings("epoll_wait set=0").result, 1);
}

TEST_F(Surprise, Surprise8_11_TheWakeupTestIsModuloTheRing) {
  struct Case {
    const char* consumer;
    std::int64_t woken;
  };
  for (const Case& each : {Case{"consumer base=zero offset=4096", 1},
                           {"consumer base=zero offset=-4096", 1},
                           {"consumer base=zero offset=8", 0},
                           {"consumer base=zero offset=1", 0}}) {
    SCOPED_TRACE(each.consumer);
    BothRings rings(lab(), asked);
    rings("epoll_add set=0 trigger=level");
    rings("hold slot=0 size=8");
    rings(each.consumer);
    rings("settle slot=0 fate=submit flags=0");
    EXPECT_EQ(rings("epoll_wait set=0").result, each.woken);
  }
}

TEST_F(Surprise, Surprise8_11_AConsumerPosThatIsUnalignedOrALittleAheadIsAccepted) {
  struct Case {
    const char* consumer;
    std::int64_t result;
  };
  // A span of 16: n - c is 16 - offset, and wraps above 16.
  for (const Case& each : {Case{"consumer base=producer offset=1", 0},
                           {"consumer base=producer offset=7", 0},
                           {"consumer base=producer offset=16", 0},
                           {"consumer base=producer offset=17", -EAGAIN},
                           {"consumer base=producer offset=-4079", 0},
                           {"consumer base=producer offset=-4080", -EAGAIN},
                           {"consumer base=producer offset=1099511627776", -EAGAIN}}) {
    SCOPED_TRACE(each.consumer);
    BothRings rings(lab(), asked);
    rings("output size=100 flags=0");
    rings(each.consumer);
    EXPECT_EQ(rings("output size=8 flags=0").result, each.result);
  }
}

TEST_F(Surprise, Surprise8_12_UnknownFlagsAreIgnoredRejectedOrGiveNull) {
  BothRings rings(lab(), asked);
  rings("epoll_add set=0 trigger=level");
  EXPECT_EQ(rings("reserve size=8 reserve_flags=0 write=all fate=submit flags=4294967292").result, 1);
  EXPECT_EQ(rings("epoll_wait set=0").result, 1);  // as with flags 0
  EXPECT_EQ(rings("reserve size=8 reserve_flags=0 write=all fate=discard flags=4").result, 1);
  EXPECT_EQ(rings("output size=8 flags=4").result, -EINVAL);
  EXPECT_EQ(rings("reserve size=8 reserve_flags=1 write=all fate=submit flags=0").result, 0);  // NULL
  EXPECT_EQ(rings("dynptr size=8 reserve_flags=1 write=all fate=submit flags=0").result, -EINVAL);
  EXPECT_EQ(rings.number("producer_pos"), 32u);
}

TEST_F(Surprise, Surprise8_13_FailuresDifferByHelperAndDoNotTellFullFromTooLarge) {
  BothRings rings(lab(), asked);
  const auto fail_all = [&] {
    EXPECT_EQ(rings("reserve size=4081 reserve_flags=0 write=all fate=submit flags=0").result, 0);
    EXPECT_EQ(rings("output size=4081 flags=0").result, -EAGAIN);
    EXPECT_EQ(rings("dynptr size=4081 reserve_flags=0 write=all fate=submit flags=0").result, -EINVAL);
    EXPECT_EQ(rings("dynptr size=16777216 reserve_flags=0 write=all fate=submit flags=0").result, -E2BIG);
  };
  fail_all();  // too large for any ring of this size
  rings("output size=4080 flags=0");
  fail_all();
  EXPECT_EQ(rings("reserve size=0 reserve_flags=0 write=all fate=submit flags=0").result, 0);  // full
  EXPECT_EQ(rings("output size=0 flags=0").result, -EAGAIN);
  EXPECT_EQ(rings("dynptr size=0 reserve_flags=0 write=all fate=submit flags=0").result, -EINVAL);
  // Of all these nothing is left in the ring.
  EXPECT_EQ(rings.number("producer_pos"), 4088u);
}

TEST_F(Surprise, Surprise8_14_PendingPosIsVisibleAndMovedByFailingReservations) {
  BothRings rings(lab(), asked);
  rings("output size=100 flags=0");
  EXPECT_EQ(rings.number("producer_pos"), 112u);
  EXPECT_EQ(rings.number("pending_pos"), 0u);  // only reservations walk
  EXPECT_EQ(rings("output size=4000 flags=0").result, -EAGAIN);
  EXPECT_EQ(rings.number("producer_pos"), 112u);
  EXPECT_EQ(rings.number("pending_pos"), 112u);
}

// 8.18: a consumer that returns at a BUSY record without publishing what it has read.
TEST_F(Surprise, Surprise8_18_WithoutPublishingLevelTriggeredSpinsUntilTheCommit) {
  BothRings rings(lab(), asked);
  rings("epoll_add set=0 trigger=level");
  rings("output size=8 flags=0");
  rings("hold slot=0 size=8");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(rings("epoll_wait set=0").result, 1);
  rings("settle slot=0 fate=submit flags=0");
  EXPECT_EQ(rings("epoll_wait set=0").result, 1);
}

TEST_F(Surprise, Surprise8_18_WithoutPublishingEdgeTriggeredIsNeverWoken) {
  BothRings rings(lab(), asked);
  rings("epoll_add set=0 trigger=edge");
  rings("output size=8 flags=0");
  rings("hold slot=0 size=8");
  EXPECT_EQ(rings("epoll_wait set=0").result, 1);
  rings("settle slot=0 fate=submit flags=0");  // consumer_pos stands at 0, the record at 16
  EXPECT_EQ(rings("epoll_wait set=0").result, 0);
  EXPECT_EQ(rings("poll").details, std::vector{readable});
}

TEST_F(Surprise, Surprise8_18_WhoPublishesFirstIsWokenByTheCommit) {
  BothRings rings(lab(), asked);
  rings("epoll_add set=0 trigger=edge");
  rings("output size=8 flags=0");
  rings("hold slot=0 size=8");
  EXPECT_EQ(rings("epoll_wait set=0").result, 1);
  EXPECT_EQ(rings("consume count=64").result, 1);
  rings("settle slot=0 fate=submit flags=0");
  EXPECT_EQ(rings("epoll_wait set=0").result, 1);
}

}  // namespace
}  // namespace ringside::conform
