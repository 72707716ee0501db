// SPDX-License-Identifier: Apache-2.0
//
// What is called slower: the rank test, many of them together, and reports held against one another.
#include "harness/compare/baseline.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "harness/compare/parts.h"
#include "harness/compare/rank_test.h"

namespace ringside::harness {
namespace {

TEST(RankTest, IsExactForShortSeries) {
  EXPECT_NEAR(rank_test({1, 2, 3}, {4, 5, 6}), 2.0 / 20, 1e-12) << "the one end of 20 ways, and the other";
  EXPECT_NEAR(rank_test({4, 5, 6}, {1, 2, 3}), 2.0 / 20, 1e-12);
  EXPECT_NEAR(rank_test({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 2.0 / 252, 1e-12);
  EXPECT_NEAR(rank_test({1, 2, 3, 6, 8}, {4, 5, 7, 9, 10}), 24.0 / 252 + 14.0 / 252, 1e-12) << "5 pairs: 19 ways below";
  EXPECT_EQ(rank_test({1, 4}, {2, 3}), 1) << "in the middle";
}

TEST(RankTest, SharesRanksAmongEqualValues) {
  EXPECT_EQ(rank_test({1, 1, 1}, {1, 1, 1}), 1);
  EXPECT_GT(rank_test({1, 1, 2}, {1, 2, 2}), 0.3);
  EXPECT_LT(rank_test({1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2}), 0.01);
}

TEST(RankTest, LongSeriesGoByTheNormalDistribution) {
  std::vector<double> a(100);
  std::vector<double> b(100);
  for (std::size_t i = 0; i < 100; ++i) a[i] = static_cast<double>(2 * i), b[i] = static_cast<double>(2 * i + 1);
  EXPECT_GT(rank_test(a, b), 0.9);
  for (double& value : b) value += 60;
  EXPECT_LT(rank_test(a, b), 1e-5);
}

TEST(RankTest, FindsADifferenceByChanceAsOftenAsItSays) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> time(0, 0.1);
  int found = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> a(15);
    std::vector<double> b(15);
    for (double& value : a) value = time(random);
    for (double& value : b) value = time(random);
    found += rank_test(a, b) < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(found, 100, 30);
}

TEST(StandTogether, IsHarderOnMany) {
  EXPECT_EQ(stand_together({0.004}, 0.01), std::vector<bool>{true});
  EXPECT_EQ(stand_together({0.004, 0.5, 0.6}, 0.01), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(stand_together({0.004, 0.001, 0.6}, 0.01), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(stand_together({}, 0.01), std::vector<bool>{});
}

/// A report as if it had been measured: each consumer takes that many nanoseconds, give or take a hundredth.
CompareReport made_up(const std::vector<std::pair<std::string, double>>& times, std::uint64_t seed,
                      double machine = 1) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> noise(0, 0.01);
  CompareReport report;
  report.context.kernel_release = "6.18";
  report.context.cpu_model = "a processor";
  report.options.world = WorldKind::model;
  report.options.sizes = {128};
  report.options.touches = {Touch::line};
  report.limits.push_back(
      {.consumer = "one pass", .size = 128, .touch = Touch::line, .wall_ns = {}, .cpu_ns = {}, .reason = {}});
  for (const auto& [name, ns] : times) {
    report.consumers.push_back(name);
    report.series.push_back(
        {.consumer = name, .size = 128, .touch = Touch::line, .wall_ns = {}, .cpu_ns = {}, .reason = {}});
  }
  for (int round = 0; round < 15; ++round) {
    const double now = machine * noise(random);
    report.limits[0].wall_ns.push_back(2 * now * noise(random));
    for (std::size_t index = 0; index < times.size(); ++index) {
      report.series[index].wall_ns.push_back(times[index].second * now * noise(random));
    }
  }
  report.limits[0].cpu_ns = report.limits[0].wall_ns;
  for (CompareSeries& series : report.series) series.cpu_ns = series.wall_ns;
  return report;
}

class BaselineTest : public testing::Test {
 protected:
  void TearDown() override { unlink(path_.c_str()); }
  void keep(const std::string& text) { std::ofstream(path_) << text; }
  void keep(const CompareReport& report) { keep(render(report, CompareFormat::json, {})); }
  ring::Result<void> hold(double least, CompareReport& report) const {
    const auto baseline = read_baseline(path_);
    if (!baseline) return tl::unexpected(baseline.error());
    return hold_against(*baseline, least, report);
  }
  std::string complaint(CompareReport report) const {
    const auto held = hold(0.05, report);
    return held ? std::string() : ring::to_string(held.error());
  }

  std::string path_ = testing::TempDir() + "/ringside_baseline_" + std::to_string(getpid()) + ".json";
};

TEST_F(BaselineTest, NamesWhatGotSlowerAndNothingElse) {
  keep(made_up({{"copy", 5}, {"callback", 4}, {"read", 25}, {"lease", 9}}, 1));
  CompareReport now = made_up({{"copy", 5}, {"callback", 4.4}, {"read", 25}, {"lease", 8}}, 2);
  ASSERT_TRUE(hold(0.05, now));
  ASSERT_EQ(now.changes.size(), 4u);
  EXPECT_FALSE(now.changes[0].stands);
  EXPECT_TRUE(now.changes[1].stands);
  EXPECT_NEAR(now.changes[1].times_as_long, 1.1, 0.02);
  EXPECT_FALSE(now.changes[2].stands);
  EXPECT_TRUE(now.changes[3].stands) << "faster";
  EXPECT_EQ(now.slower(), 1u);
  const std::string table = render(now, CompareFormat::table, {});
  EXPECT_NE(table.find("callback at 128 B, line: 1.1"), std::string::npos) << table;
  EXPECT_NE(table.find("times as slow"), std::string::npos);
  EXPECT_NE(table.find("slower than the baseline: 1 figure"), std::string::npos);
}

TEST_F(BaselineTest, AMachineThatRunsAtAnotherSpeedTodayIsNoChange) {
  keep(made_up({{"copy", 5}, {"callback", 4}}, 1));
  CompareReport now = made_up({{"copy", 5}, {"callback", 4}}, 2, 1.3);
  ASSERT_TRUE(hold(0.05, now));
  EXPECT_EQ(now.slower(), 0u);
}

TEST_F(BaselineTest, AChangeBelowTheLeastOneIsNone) {
  keep(made_up({{"copy", 5}}, 1));
  CompareReport now = made_up({{"copy", 5.2}}, 2);
  ASSERT_TRUE(hold(0.05, now));
  EXPECT_LT(now.changes[0].probability, 0.001) << "sure";
  EXPECT_EQ(now.slower(), 0u) << "but small";
  CompareReport strict = made_up({{"copy", 5.2}}, 2);
  ASSERT_TRUE(hold(0.02, strict));
  EXPECT_EQ(strict.slower(), 1u);
}

TEST_F(BaselineTest, OfAnotherMachineIsToldSo) {
  CompareReport then = made_up({{"copy", 5}}, 1);
  then.context.kernel_release = "5.10";
  keep(then);
  CompareReport now = made_up({{"copy", 5}}, 2);
  ASSERT_TRUE(hold(0.05, now));
  EXPECT_NE(now.baseline_remark.find("another machine: 5.10"), std::string::npos);
}

TEST_F(BaselineTest, ThatIsNoneIsRefusedWithItsName) {
  const CompareReport now = made_up({{"copy", 5}}, 2);
  EXPECT_NE(complaint(now).find(path_), std::string::npos) << "no such file";
  for (const char* text : {"{", "[]", "{\"schema\": \"ringside-check/1\"}"}) {
    keep(text);
    EXPECT_NE(complaint(now).find("no report of a comparison"), std::string::npos) << complaint(now);
  }
  keep(R"({"schema": "ringside-compare/1", "context": {}})");
  EXPECT_NE(complaint(now).find("not found"), std::string::npos) << complaint(now);
  keep(made_up({{"other", 5}}, 1));
  EXPECT_NE(complaint(now).find("no consumer on records of a size in common"), std::string::npos);
  CompareReport larger = made_up({{"copy", 5}}, 1);
  larger.options.ring_bytes = 1u << 30;
  keep(larger);
  EXPECT_NE(complaint(now).find("compare on the same rings"), std::string::npos);
}

TEST(Parts, AreAskedForWhoMayBeTimed) {
  CompareReport report = made_up({{"copy", 5}, {"wrong", 4}}, 1);
  report.series[1].reason = "convicted";
  const auto arguments = arguments_of_part(report, 3);
  const auto has = [&](const char* word) {
    return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
  };
  EXPECT_TRUE(has("copy"));
  EXPECT_FALSE(has("wrong"));
  EXPECT_TRUE(has("3"));
}

TEST(Parts, ThatCannotBeRunAreTold) {
  CompareReport report = made_up({{"copy", 5}}, 1);
  report.options.rounds = 1;
  const CompareProgressSink silent = [](const CompareProgress&) {};
  report.options.command = "/nowhere/ringside";
  EXPECT_FALSE(measure_in_parts(silent, report));
  report.options.command = "/bin/sh";  // which knows no such script
  const auto wrong = measure_in_parts(silent, report);
  ASSERT_FALSE(wrong);
  EXPECT_NE(ring::to_string(wrong.error()).find("it ended with status"), std::string::npos) << wrong.error();
  report.options.command = "/bin/true";
  const auto silent_end = measure_in_parts(silent, report);
  ASSERT_FALSE(silent_end);
  EXPECT_NE(ring::to_string(silent_end.error()).find("no report"), std::string::npos) << silent_end.error();
}

}  // namespace
}  // namespace ringside::harness
