// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_version.h"

#include <gtest/gtest.h>

#include <array>

namespace ringside::sim {
namespace {

TEST(KernelVersion, ReadsWhatUnameSays) {
  EXPECT_EQ(parse_kernel_version("6.18.44-fc-v857").value(), (KernelVersion{6, 18, 44}));
  EXPECT_EQ(parse_kernel_version("6.1.192").value(), (KernelVersion{6, 1, 192}));
}

TEST(KernelVersion, WithoutAPatchLevelIsTheNewestOfItsSeries) {
  const KernelVersion series = parse_kernel_version("6.12").value();
  EXPECT_GT(series, (KernelVersion{6, 12, 118}));
  EXPECT_LT(series, (KernelVersion{6, 13, 0}));
  EXPECT_EQ(to_string(series), "6.12");
  EXPECT_EQ(to_string(KernelVersion{6, 12, 118}), "6.12.118");
}

TEST(KernelVersion, RefusesWhatIsNone) {
  for (const char* text : {"", "6", "six", "6.", "6.x", "6.1.", "6.1.x", "70000.1"}) {
    const auto version = parse_kernel_version(text);
    ASSERT_FALSE(version) << text;
    EXPECT_NE(to_string(version.error()).find(text), std::string::npos);
  }
}

TEST(RingbufRules, AreThoseOfTheReleaseWhereTheyChanged) {
  EXPECT_FALSE(ringbuf_rules({5, 7}).has_ringbuf);
  EXPECT_TRUE(ringbuf_rules({5, 8}).has_ringbuf);
  EXPECT_FALSE(ringbuf_rules({6, 18}).has_overwrite);
  EXPECT_TRUE(ringbuf_rules({6, 19}).has_overwrite);
  EXPECT_EQ(ringbuf_rules({6, 15}).nmi_lock, NmiLock::try_once);
  EXPECT_EQ(ringbuf_rules({6, 16}).nmi_lock, NmiLock::resilient);
  EXPECT_FALSE(ringbuf_rules({7, 1}).walks_while_unequal);
  EXPECT_TRUE(ringbuf_rules({7, 2}).walks_while_unequal);
}

TEST(RingbufRules, OversizeIsRefusedFromFourPatchLevelsOn) {
  for (const KernelVersion fixed : {KernelVersion{5, 10, 37}, {5, 11, 21}, {5, 12, 4}, {5, 13, 0}}) {
    EXPECT_TRUE(ringbuf_rules(fixed).refuses_oversize) << fixed;
  }
  for (const KernelVersion open : {KernelVersion{5, 8}, {5, 9}, {5, 10, 36}, {5, 11, 20}, {5, 12, 3}}) {
    EXPECT_FALSE(ringbuf_rules(open).refuses_oversize) << open;
  }
}

TEST(RingbufRules, PendingPositionCameWith6_10AndTheStableSeriesOfItsDay) {
  for (const KernelVersion fixed :
       {KernelVersion{5, 10, 262}, {5, 15}, {6, 1, 192}, {6, 6}, {6, 9}, {6, 10, 0}, {6, 18, 44}, {7, 3}}) {
    EXPECT_TRUE(ringbuf_rules(fixed).has_pending_pos) << fixed;
  }
  for (const KernelVersion open : {KernelVersion{5, 8}, {5, 16}, {6, 0}, {6, 2}, {6, 8}}) {
    EXPECT_FALSE(ringbuf_rules(open).has_pending_pos) << open;
  }
}

}  // namespace
}  // namespace ringside::sim
