// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_version.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string_view>

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

TEST(KernelVersion, OfARunningKernelIsWhatWasBuiltNotTheNameOfAnInterface) {
  EXPECT_EQ(running_kernel_version("6.1.0-57-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26)").value(),
            (KernelVersion{6, 1, 192}));
  EXPECT_EQ(running_kernel_version("6.12.118+deb13-amd64", "#1 SMP Debian 6.12.118-1 (2026-11-20)").value(),
            (KernelVersion{6, 12, 118}));
}

TEST(KernelVersion, OfARunningKernelIsItsReleaseWhereNothingElseIsSaid) {
  EXPECT_EQ(running_kernel_version("6.18.44-fc", "#1 SMP Mon Nov 30").value(), (KernelVersion{6, 18, 44}));
  // A kernel of one's own with somebody else's version, and a version that is cut short.
  EXPECT_EQ(running_kernel_version("6.18.44", "#1 SMP Debian 6.1.192-3").value(), (KernelVersion{6, 18, 44}));
  EXPECT_EQ(running_kernel_version("6.18.44", "#1 SMP Debian ").value(), (KernelVersion{6, 18, 44}));
  EXPECT_FALSE(running_kernel_version("unknown", "#1 SMP Debian 6.1.192-3"));
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

TEST(RingbufRules, AvailableOfAnOverwriteRingChangedIn7_3) {
  EXPECT_FALSE(ringbuf_rules({7, 2}).available_is_least);
  EXPECT_TRUE(ringbuf_rules({7, 3, 0}).available_is_least);
}

TEST(VersionRules, StandInTheOrderOfTheEnumerationUnderNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (std::size_t at = 0; at < version_rules().size(); ++at) {
    const VersionRule& rule = version_rules()[at];
    EXPECT_EQ(static_cast<std::size_t>(rule.id), at) << rule.name;
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    ASSERT_FALSE(rule.since.empty()) << rule.name;
    EXPECT_FALSE(rule.section.empty() || rule.holds.empty() || rule.before.empty()) << rule.name;
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(VersionRuleId::user_ringbuf) + 1);
}

TEST(VersionRules, AnOlderSeriesThatGotARuleKeepsItToItself) {
  const VersionRule& rule = version_rule(VersionRuleId::ringbuf_oversize);
  EXPECT_TRUE(holds(rule, {5, 10, 37}));
  EXPECT_FALSE(holds(rule, {5, 10, 36}));
  EXPECT_FALSE(holds(rule, {5, 11, 0}));
  EXPECT_TRUE(holds(rule, {5, 13, 0}));
}

TEST(VersionRules, AgreeWithTheKernelsOnWhichTheyWereMeasured) {
  struct Measured {
    VersionRuleId id;
    KernelVersion version;
    bool has;
  };
  using enum VersionRuleId;
  for (const Measured& measured : {Measured{ringbuf_no_exec, {6, 12, 118}, false},
                                   {ringbuf_no_exec, {6, 18, 44}, true},
                                   {perf_redirected_mmap, {6, 12, 118}, false},
                                   {perf_redirected_mmap, {6, 18, 44}, true},
                                   {perf_redirected_mmap, {6, 19, 14}, true},
                                   {perf_format_lost, {5, 10, 262}, true},
                                   {perf_unsplit_mapping, {6, 1, 192}, true},
                                   {ringbuf_resilient_lock, {6, 12, 118}, false},
                                   {ringbuf_resilient_lock, {6, 16, 3}, true},
                                   {ringbuf_overwrite, {6, 18, 44}, false},
                                   {ringbuf_overwrite, {6, 19, 14}, true},
                                   {ringbuf_overwrite_available, {7, 2, 13}, false},
                                   {ringbuf_overwrite_available, {7, 3, 4}, true},
                                   {ringbuf_walk_unequal, {7, 0, 13}, false},
                                   {user_ringbuf, {6, 1, 192}, true},
                                   {user_ringbuf, {5, 10, 262}, false}}) {
    EXPECT_EQ(holds(measured.id, measured.version), measured.has)
        << version_rule(measured.id).name << " on " << measured.version;
  }
}

}  // namespace
}  // namespace ringside::sim
