// SPDX-License-Identifier: Apache-2.0
//
// Comparisons on the model: who gets a figure, and what figures are made of. How fast anything is decides no test.
#include "harness/compare/compare.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "consumers/registry.h"
#include "harness/compare/filled_ring.h"
#include "harness/compare/preset.h"
#include "harness/compare/quiet_cpu.h"

namespace ringside::harness {
namespace {

CompareOptions small(std::vector<std::string> consumers) {
  CompareOptions options;
  options.world = WorldKind::model;
  options.consumers = std::move(consumers);
  options.sizes = {8, 264};
  options.touches = {Touch::line, Touch::all};
  options.ring_bytes = 65536;
  options.rounds = 3;
  return options;
}

CompareReport run(const CompareOptions& options) {
  CompareReport report;
  const auto ran = run_compare(options, [](const CompareProgress&) {}, [](const std::string&) {}, report);
  EXPECT_TRUE(ran) << ran.error();
  return report;
}

TEST(Estimate, IsTheMedianAndWhatHoldsIt) {
  EXPECT_EQ(estimate({7}), (Estimate{7, 7, 7}));
  EXPECT_EQ(estimate({4, 1, 3, 2}), (Estimate{2.5, 1, 4}));
  EXPECT_EQ(estimate({5, 1, 4, 2, 3}), (Estimate{3, 1, 5})) << "of five values no two are 95 % sure";
  // The exact ranks for the median: of 15 the fourth from either end (96.5 %), of 6 the ends (96.9 %).
  EXPECT_EQ(estimate({1, 2, 3, 4, 5, 6}), (Estimate{3.5, 1, 6}));
  EXPECT_EQ(estimate({15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}), (Estimate{8, 4, 12}));
  EXPECT_EQ(estimate({9, 1, 8, 2, 7, 3, 6, 4, 5}), (Estimate{5, 2, 8}));
}

TEST(Estimate, OfRatiosGoesRoundByRound) {
  // The second round was slow for both.
  EXPECT_EQ(estimate_of_ratios({2, 20, 2}, {1, 10, 1}), (Estimate{2, 2, 2}));
}

TEST(FilledRing, HoldsAllThatFitsAndIsReadAgain) {
  const auto ring = FilledRing::fill(WorldKind::model, 4096, 24);
  ASSERT_TRUE(ring) << ring.error();
  EXPECT_EQ((*ring)->records(), 4095u / 32);
  const ringside_consumer& copy = *consumers::find_strategy("copy")->consumer;
  for (int time = 0; time < 2; ++time) {
    const auto drain = time_drain(copy, **ring, Touch::all);
    ASSERT_TRUE(drain) << drain.error();
    EXPECT_GT(drain->wall_ns, 0);
  }
  EXPECT_FALSE(FilledRing::fill(WorldKind::model, 4096, 4096)) << "no such record fits";
}

/// `copy` that delivers each record with its first byte changed.
ringside_consumer changer() {
  static const ringside_consumer* const honest = consumers::find_strategy("copy")->consumer;
  static const ringside_host* opened = nullptr;
  static ringside_host between;
  ringside_consumer consumer = *honest;
  consumer.name = "changer";
  consumer.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    opened = host;
    between = *host;
    between.deliver = [](void*, const ringside_record* record) {
      std::vector<std::uint64_t> bytes(record->size / 8);
      std::memcpy(bytes.data(), record->data, record->size);
      bytes[0] ^= 1;
      ringside_record changed = *record;
      changed.data = bytes.data();
      return opened->deliver(opened->context, &changed);
    };
    return honest->open(rings, &between, state);
  };
  return consumer;
}

TEST(TimedDrain, KnowsWhoReadSomethingElse) {
  const auto ring = FilledRing::fill(WorldKind::model, 4096, 24);
  ASSERT_TRUE(ring);
  const ringside_consumer consumer = changer();
  for (const Touch touch : {Touch::line, Touch::all, Touch::copy}) {
    const auto drain = time_drain(consumer, **ring, touch);
    ASSERT_FALSE(drain) << name_of(touch);
    EXPECT_NE(ring::to_string(drain.error()).find("what it read is not what lies in the ring"), std::string::npos);
  }
}

TEST(TimedDrain, KnowsWhoLeavesRecordsOut) {
  const auto ring = FilledRing::fill(WorldKind::model, 4096, 24);
  ASSERT_TRUE(ring);
  ringside_consumer consumer = *consumers::find_strategy("copy")->consumer;
  consumer.drain = [](void*, std::uint64_t) -> std::int64_t { return 0; };
  const auto drain = time_drain(consumer, **ring, Touch::none);
  ASSERT_FALSE(drain);
  EXPECT_NE(ring::to_string(drain.error()).find("it delivered 0 of 127 records"), std::string::npos);
}

TEST(Compare, GivesEachItsFigures) {
  const CompareReport report = run(small({"copy", "callback"}));
  EXPECT_EQ(report.base, "copy") << "libbpf is not compared";
  ASSERT_EQ(report.series.size(), 2u * 2 * 2);
  for (const CompareSeries& series : report.series) {
    EXPECT_TRUE(series.has_figure()) << series.reason;
    EXPECT_EQ(series.wall_ns.size(), 3u) << "the first round warms up";
  }
  EXPECT_EQ(report.limits.size(), 2u * 2);
  EXPECT_EQ(report.planned, (2u + 1) * 2 * 2 * (3 + 1));
  EXPECT_TRUE(report.convicted().empty());
}

TEST(Compare, AFastWrongConsumerGetsNone) {
  const CompareReport report = run(small({"copy", "ignore_busy", "ignore_discard", "break_at_end"}));
  EXPECT_EQ(report.convicted(), (std::vector<std::string>{"ignore_busy", "ignore_discard", "break_at_end"}));
  EXPECT_TRUE(report.find("copy", 264, Touch::line)->has_figure());
  const CompareSeries* series = report.find("break_at_end", 264, Touch::line);
  ASSERT_NE(series, nullptr);
  EXPECT_FALSE(series->has_figure());
  EXPECT_NE(series->reason.find("convicted of torn"), std::string::npos) << series->reason;
  const std::string table = render(report, CompareFormat::table, {});
  EXPECT_NE(table.find("no figure"), std::string::npos);
  EXPECT_NE(table.find("break_at_end: at 264 B convicted of torn"), std::string::npos) << table;
}

TEST(Compare, OneRoundOfItIsNotJudgedAgain) {
  CompareOptions options = small({"copy", "break_at_end"});
  options.part = 2;
  const CompareReport report = run(options);
  EXPECT_EQ(report.find("copy", 8, Touch::line)->wall_ns.size(), 1u);
  EXPECT_TRUE(report.convicted().empty());
  EXPECT_TRUE(report.method.empty()) << "who started it keeps the machine quiet";
}

TEST(Compare, APageHasAPlotForEachSizeAndTouch) {
  CompareReport report = run(small({"copy", "callback", "break_at_end"}));
  report.context.command_line = "ringside <compare> & more";
  const std::string page = render(report, CompareFormat::html, {});
  const auto count = [&page](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<figure>"), 4u);
  EXPECT_EQ(count("<g class="), 4u * 2) << "who has no figure is in no plot";
  EXPECT_EQ(count("<tr><td>"), 4u * 3) << "but in the table";
  EXPECT_EQ(count("convicted of torn"), 4u);
  EXPECT_EQ(count("<script"), 0u);
  EXPECT_EQ(count("http"), 0u) << "it needs nothing else";
  EXPECT_EQ(count("ringside &lt;compare&gt; &amp; more"), 1u);
}

TEST(Compare, IsWrittenForProgramsToo) {
  const CompareReport report = run(small({"copy", "callback"}));
  const auto json = nlohmann::json::parse(render(report, CompareFormat::json, {}));
  EXPECT_EQ(json["schema"], "ringside-compare/1");
  EXPECT_EQ(json["series"].size(), 8u);
  EXPECT_EQ(json["series"][0]["wall_ns_a_record"]["rounds"].size(), 3u);
  EXPECT_TRUE(json["series"][0].contains("share_of_one_pass"));
  EXPECT_EQ(json["one_pass"].size(), 4u);
  const std::string csv = render(report, CompareFormat::csv, {});
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + (2 + 1) * 4 * 3);
}

std::string refused(const CompareOptions& options) {
  const auto plan = plan_compare(options);
  return plan ? std::string() : ring::to_string(plan.error());
}

TEST(Compare, RefusesWhatCannotBe) {
  EXPECT_EQ(refused(small({})), "");
  EXPECT_NE(refused(small({"libbpf"})).find("reads no BPF ring buffer of the model world"), std::string::npos);
  EXPECT_NE(refused(small({"drain_all"})).find("reads no BPF ring buffer"), std::string::npos);
  EXPECT_NE(refused(small({"nobody"})).find("no consumer has that name"), std::string::npos);
  CompareOptions options = small({"copy"});
  options.base = "callback";
  EXPECT_NE(refused(options).find("it is not compared"), std::string::npos);
  options = small({"copy"});
  options.sizes = {12};
  EXPECT_NE(refused(options).find("multiples of 8"), std::string::npos);
  options.sizes = {65536};
  EXPECT_NE(refused(options).find("the largest is"), std::string::npos);
}

TEST(Preset, SetsThePublishedFiguresBesideThoseOfHere) {
  EXPECT_FALSE(preset_options("zero-copy"));
  CompareOptions options = *preset_options("zero-copy-debate");
  EXPECT_EQ(options.ring_bytes, 1u << 30);
  EXPECT_EQ(refused(options), "");
  options.world = WorldKind::model;
  options.consumers = {"read_into", "peek_consume"};
  options.ring_bytes = 1u << 20;
  options.rounds = 1;
  const std::string table = render(run(options), CompareFormat::table, {});
  EXPECT_NE(table.find("published, M/s"), std::string::npos) << table;
  EXPECT_NE(table.find("1024 B  8.90   34.94  3.93×"), std::string::npos) << table;
  EXPECT_NE(table.find("What such a table hides"), std::string::npos);
  EXPECT_EQ(render(run(small({"copy"})), CompareFormat::table, {}).find("published"), std::string::npos);
}

TEST(QuietCpu, LeavesTheThreadAsItWas) {
  cpu_set_t before;
  sched_getaffinity(0, sizeof(before), &before);
  const int policy = sched_getscheduler(0);
  {
    const auto cpu = QuietCpu::take([] {});
    ASSERT_TRUE(cpu) << cpu.error();
    EXPECT_FALSE((*cpu)->method().empty());
  }
  cpu_set_t after;
  sched_getaffinity(0, sizeof(after), &after);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  EXPECT_EQ(sched_getscheduler(0), policy);
}

TEST(QuietCpu, WaitsForTheComparisonThatRuns) {
  auto first = QuietCpu::take([] {});
  ASSERT_TRUE(first);
  bool waited = false;
  const auto second = QuietCpu::take([&] {
    waited = true;
    first->reset();  // it ends while the other waits
  });
  EXPECT_TRUE(second);
  EXPECT_TRUE(waited);
}

}  // namespace
}  // namespace ringside::harness
