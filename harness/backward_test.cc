// SPDX-License-Identifier: Apache-2.0
//
// Rings that are written backward in `check`: who runs on them, and what is laid to whom.
#include <gtest/gtest.h>

#include <algorithm>

#include "consumers/registry.h"
#include "harness/backward_world.h"
#include "harness/check.h"
#include "harness/scenario.h"

namespace ringside::harness {
namespace {

using ring::DefectKind;

const ringside_consumer& honest() { return *consumers::find_strategy("overwritable")->consumer; }

RunResult run_on(const ringside_consumer& consumer, const std::string& name, std::uint64_t seed = 3) {
  const auto scenario = find_scenario(name);
  EXPECT_TRUE(scenario) << scenario.error();
  return run_cell({.consumer = consumer.name, .scenario = name, .ring = ring::RingKind::perf, .seed = seed}, consumer,
                  *scenario, {});
}

TEST(Backward, OnlyConsumersThatClaimItRunThereAndNowhereElse) {
  CheckOptions options;
  options.worlds = {WorldKind::model};
  options.scenarios = {"backward_lapped", "wrap"};
  options.rings = {ring::RingKind::perf};
  const auto specs = plan_check(options);
  ASSERT_TRUE(specs) << specs.error();
  for (const RunSpec& spec : *specs) {
    EXPECT_EQ(spec.scenario == "backward_lapped", spec.consumer == "overwritable") << spec.consumer;
  }
  options.scenarios = {"backward_lapped"};
  options.consumers = {"drain_all"};
  EXPECT_FALSE(plan_check(options));
}

TEST(Backward, WhatWasOverwrittenBetweenTwoDumpsIsNotMissing) {
  const RunResult lapped = run_on(honest(), "backward_lapped");
  EXPECT_EQ(lapped.outcome, Outcome::clean) << lapped.verdict << lapped.reason;
  EXPECT_GT(lapped.verdict.accounting.overwritten, 100u);
  EXPECT_GT(lapped.verdict.accounting.failed, 100u) << "what is put out into a paused ring is lost";
  const RunResult steady = run_on(honest(), "backward_steady");
  EXPECT_EQ(steady.outcome, Outcome::clean) << steady.verdict << steady.reason;
  EXPECT_EQ(steady.verdict.accounting.overwritten, 0u);
}

/// overwritable that keeps every n-th record to itself.
template <std::uint64_t n>
ringside_consumer swallower() {
  static const ringside_host* opened_host = nullptr;
  static ringside_host between;
  static std::uint64_t records = 0;
  static std::int64_t swallowed = 0;  // in the drain under way
  ringside_consumer consumer = honest();
  consumer.name = "swallower";
  consumer.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    opened_host = host;
    between = *host;
    between.deliver = [](void* context, const ringside_record* record) {
      if (++records % n != 0) return opened_host->deliver(context, record);
      ++swallowed;
      return 0;
    };
    return honest().open(rings, &between, state);
  };
  consumer.drain = [](void* state, std::uint64_t most) -> std::int64_t {
    swallowed = 0;
    const std::int64_t count = honest().drain(state, most);
    return count < 0 ? count : count - swallowed;
  };
  return consumer;
}

TEST(Backward, WhatADumpHeldAndNobodyDeliveredIsLost) {
  const RunResult result = run_on(swallower<10>(), "backward_lapped");
  const ring::Accounting& sum = result.verdict.accounting;
  EXPECT_TRUE(result.verdict.has(DefectKind::lost)) << result.verdict << result.reason;
  EXPECT_GE(sum.missing, sum.delivered / 9 - 1) << result.verdict;
}

TEST(Backward, WhoSleepsOnADumpThatItHasNotHandedOverMissesAWakeUp) {
  const RunResult result = run_on(swallower<2>(), "backward_steady");
  EXPECT_TRUE(result.verdict.has(DefectKind::missed_wakeup)) << result.verdict;
}

/// A consumer that only ever opens.
TEST(Backward, WhoNeverReadsHasAllThatTheRingsHoldMissing) {
  ringside_consumer consumer = honest();
  consumer.name = "idler";
  consumer.drain = [](void*, std::uint64_t) -> std::int64_t { return 0; };
  const RunResult result = run_on(consumer, "backward_lapped");
  EXPECT_TRUE(result.verdict.has(DefectKind::lost)) << result.verdict << result.reason;
  EXPECT_GT(result.verdict.accounting.missing, 0u);
  EXPECT_GT(result.verdict.accounting.overwritten, 10'000u);
}

TEST(Backward, ScenariosThatCannotBeAreRefused) {
  const auto refused = [](const std::string& ring, const std::string& more = "") {
    const auto scenario = parse_scenario(
        "name = \"x\"\nsummary = \"x\"\n" + more + "[ring]\nbackward = true\n" + ring + "\n[[source]]\nsize = 2000\n",
        "x.toml");
    return scenario ? std::string() : ring::to_string(scenario.error());
  };
  const std::string perf = "rings = [\"perf\"]\n";
  EXPECT_EQ(refused("", perf), "");
  EXPECT_NE(refused("", "rings = [\"ringbuf\"]\n").find("a mode of perf rings"), std::string::npos);
  EXPECT_NE(refused("sides = 2", perf).find("take one of them"), std::string::npos);
  EXPECT_NE(refused("start = 8", perf).find("starts at 0"), std::string::npos);
  EXPECT_NE(refused("size = 4096", perf).find("at most 1024 bytes"), std::string::npos);
  EXPECT_NE(refused("", perf + "drive = \"free\"\n").find("stepped"), std::string::npos);
}

}  // namespace
}  // namespace ringside::harness
