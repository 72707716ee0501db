// SPDX-License-Identifier: Apache-2.0
//
// The surprises of KERNEL-RINGS 8 that are about perf rings, each by its number, on the running kernel and in the model
// at once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <string>
#include <vector>

#include "conform/perf_test_support.h"
#include "real/handle.h"
#include "ring/layout.h"

namespace ringside::conform {
namespace {

using ring::perf::RecordHeader;
using test::Duel;

constexpr std::uint64_t readable = 0x41;  // POLLIN | POLLRDNORM
constexpr std::uint64_t hung_up = 0x10;   // POLLHUP
constexpr int small = 4;                  // payload bytes of a record of 16 with nothing but RAW: 8 + up8(4 + 4)

using SurprisesPerf = test::PerfConform;

/// The numbers, from 1 on, of those outputs of 16 bytes after which poll said readable.
std::vector<int> waking_outputs(Duel& duel, int outputs) {
  std::vector<int> waking;
  for (int i = 1; i <= outputs; ++i) {
    if (duel.wakes("a", small)) waking.push_back(i);
    duel("consume event=a count=64");
  }
  return waking;
}

TEST_F(SurprisesPerf, Surprise8_1_WakeupEventsZeroIsNotOne) {
  Duel duel(lab(), {.wakeup = "0"});
  // Half of 4096 bytes is 128 records of 16; the comparison is strict, so the 129th is the first.
  EXPECT_EQ(waking_outputs(duel, 130), (std::vector<int>{129}));
}

TEST_F(SurprisesPerf, Surprise8_2_TheWatermarkIsComparedStrictlyAndCountsProducedBytes) {
  Duel duel(lab(), {.watermark = "yes", .wakeup = "16"});
  EXPECT_EQ(waking_outputs(duel, 4), (std::vector<int>{2, 3, 4}));  // a watermark of one record
}

TEST_F(SurprisesPerf, Surprise8_2_TheStampLagsForEverAfterOneBigRecord) {
  Duel duel(lab(), {.watermark = "yes", .wakeup = "16"});
  EXPECT_TRUE(duel.wakes("a", 996));  // 1008 bytes, and the stamp moves by 16
  EXPECT_EQ(duel.number("a.wakeup"), 16u);
  duel("consume event=a count=1");
  // (1008 - 16) / 16 = 62 records behind: each of the next ones is ahead of the stamp, and moves it by its own size.
  std::vector<int> all(20);
  for (int i = 0; i < 20; ++i) all[static_cast<std::size_t>(i)] = i + 1;
  EXPECT_EQ(waking_outputs(duel, 20), all);
  EXPECT_EQ(duel.number("a.wakeup"), 16u + 20u * 16u);
}

TEST_F(SurprisesPerf, Surprise8_3_WakeupEventsHasASecondTriggerAtHalfTheRing) {
  Duel duel(lab(), {.wakeup = "100"});
  EXPECT_EQ(waking_outputs(duel, 130), (std::vector<int>{100, 129}));
  // One counter for both: 1 for the 100th record, 2048 for the 129th.
  EXPECT_EQ(duel.number("a.wakeup"), 2049u);
}

TEST_F(SurprisesPerf, Surprise8_4_PollIsOneShotAndShared) {
  Duel duel(lab(), {.wakeup = "1"});
  EXPECT_EQ(duel("redirect event=b to=a").result, 0);
  duel("output slot=a size=4 flags=0");
  EXPECT_EQ(duel.poll("b"), readable);  // the flag is the ring's, and b is the first to ask
  EXPECT_EQ(duel.poll("a"), 0u);        // although the record is unread
  EXPECT_NE(duel.number("a.data_head"), duel.number("a.data_tail"));
}

TEST_F(SurprisesPerf, Surprise8_4_AddingToAnEpollSetEatsAWakeup) {
  Duel duel(lab(), {.wakeup = "1"});
  duel("output slot=a size=4 flags=0");
  duel("epoll_add set=0 trigger=level event=a");
  EXPECT_EQ(duel.number("a.poll"), 0u);
  EXPECT_EQ(duel("epoll_wait set=0").result, 0);
}

// 65528 is the largest multiple of 8 that 16 bits hold; 8 bytes of header and 4 of raw_size leave 65516.
TEST_F(SurprisesPerf, Surprise8_5_AnOversizeOutputReturnsZeroAndCorruptsTheRing) {
  Duel duel(lab(), {});
  duel("output slot=a size=4 flags=0");
  EXPECT_EQ(duel.at<RecordHeader>("a", 0).size, 16);
  EXPECT_EQ(duel("output slot=a size=65525 flags=0").result, 0);
  EXPECT_EQ(duel.number("a.head"), 16u + 8u);  // 8 + up8(65525 + 4) = 65544, modulo 65536
  // All of it was written nevertheless, over the unread record, too.
  EXPECT_FALSE(duel.at<RecordHeader>("a", 0).type == ring::perf::type_sample &&
               duel.at<RecordHeader>("a", 0).size == 16);
}

TEST_F(SurprisesPerf, Surprise8_5_ARecordOfSizeZeroVanishes) {
  Duel duel(lab(), {});
  EXPECT_EQ(duel("output slot=a size=65517 flags=0").result, 0);
  EXPECT_EQ(duel.number("a.data_head"), 0u);
  EXPECT_EQ(duel("output slot=a size=65524 flags=0").result, 0);
  EXPECT_EQ(duel.number("a.data_head"), 0u);
}

TEST_F(SurprisesPerf, Surprise8_6_LostNamesTheEventThatWritesNext) {
  Duel duel(lab(), {});
  EXPECT_EQ(duel("redirect event=b to=a").result, 0);
  EXPECT_EQ(duel("output slot=a size=4080 flags=0").result, -ENOSPC);  // 8 + up8(4084) = 4096 fits no ring of 4096
  EXPECT_EQ(duel("output slot=b size=4 flags=0").result, 0);
  EXPECT_EQ(duel.at<RecordHeader>("a", 0).type, ring::perf::type_lost);
  EXPECT_EQ(duel.at<std::uint64_t>("a", 8), duel.facts().event_id[1]);
  EXPECT_EQ(duel.at<std::uint64_t>("a", 16), 1u);
  // What the event itself lost stays with the loser.
  EXPECT_EQ(duel.number("a.lost_read"), 1u);
  EXPECT_EQ(duel.number("b.lost_read"), 0u);
}

TEST_F(SurprisesPerf, Surprise8_7_PaddingIsStaleAndRawSizeCountsIt) {
  Duel duel(lab(), {});
  // One lap of 4080 bytes leaves its payload everywhere but in the last 16.
  duel("output slot=a size=4068 flags=0");
  duel("consume event=a count=1");
  duel("output slot=a size=4 flags=0");  // up to the end of the ring
  duel("consume event=a count=1");
  const auto stale = duel.at<std::uint8_t>("a", 13);
  duel("output slot=a size=1 flags=0");  // header 0..7, raw_size 8..11, data 12, padding 13..15
  EXPECT_EQ(duel.at<std::uint32_t>("a", 8), 4u);
  EXPECT_EQ(duel.at<std::uint8_t>("a", 13), stale);
  EXPECT_NE(stale, 0u);
}

// A reader that an oversize record has put out of step reads on wherever a false size took it to. Memory that was never
// written says size 0 there, and a loop that adds the size to its position stays at it for ever; the kernel minds
// nothing, and goes on publishing.
TEST_F(SurprisesPerf, Surprise8_20_AHeaderOfSizeZeroStopsNobodyButTheReader) {
  Duel duel(lab(), {});
  duel("output slot=a size=4 flags=0");
  EXPECT_EQ(duel("tail event=a base=zero offset=2048").result, 0);
  EXPECT_EQ(duel("output slot=a size=4 flags=0").result, 0);
  EXPECT_EQ(duel.at<RecordHeader>("a", 2048).size, 0);
  EXPECT_NE(duel.number("a.data_tail"), duel.number("a.data_head"));
  EXPECT_EQ(duel("consume event=a count=1").result, 0);
}

TEST_F(SurprisesPerf, Surprise8_21_DetachingNeedsALongMinusOne) {
  Duel duel(lab(), {});
  EXPECT_EQ(duel("redirect event=b to=a").result, 0);
  EXPECT_EQ(duel("detach event=b").result, 0);  // an unsigned long -1
  EXPECT_EQ(duel("output slot=b size=4 flags=0").result, -ENOSPC);
  EXPECT_EQ(duel.poll("b"), hung_up);
  // One of 32 bits is a descriptor that nobody has.
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  const auto event = real::open_event(attr, 0, -1, "perf event");
  ASSERT_TRUE(event) << event.error();
  EXPECT_EQ(::ioctl(event->get(), PERF_EVENT_IOC_SET_OUTPUT, 0xffffffffUL), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(::ioctl(event->get(), PERF_EVENT_IOC_SET_OUTPUT, ~0UL), 0);
}

TEST_F(SurprisesPerf, Surprise8_22_AWritableMappingOfAnOverwriteRingLeavesItOne) {
  Duel duel(lab(), {.readonly = "yes"});
  EXPECT_EQ(duel("map event=a pages=1 readonly=no").result, 0);
  EXPECT_EQ(duel.number("a.overwrite"), 1u);
  // Twice what the ring holds, with data_tail at 0 all the time.
  for (int i = 0; i < 8; ++i) EXPECT_EQ(duel("output slot=a size=1000 flags=0").result, 0);
  EXPECT_EQ(duel.number("a.lost"), 0u);
  EXPECT_EQ(duel("tail event=a base=producer offset=0").result, 0);  // the control page can be written to now
  EXPECT_EQ(duel.number("a.data_tail"), duel.number("a.data_head"));
}

}  // namespace
}  // namespace ringside::conform
