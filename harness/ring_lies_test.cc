// SPDX-License-Identifier: Apache-2.0
//
// Rings that lie: every strategy comes through, whatever is drawn, and the lies are told.
#include "harness/ring_lies.h"

#include <gtest/gtest.h>

#include <string>

#include "consumers/registry.h"
#include "harness/check.h"
#include "harness/scenario.h"

namespace ringside::harness {
namespace {

using ring::DefectKind;

class Lies : public testing::TestWithParam<const char*> {};

TEST_P(Lies, EveryStrategyComesThroughUnderEverySeed) {
  const Scenario scenario = *find_scenario(GetParam());
  const auto kind = scenario.rings.front();
  const std::uint32_t bit = kind == ring::RingKind::perf ? RINGSIDE_PERF : RINGSIDE_RINGBUF;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const consumers::Entry& entry : consumers::strategies()) {
      const ringside_consumer& consumer = *entry.consumer;
      const std::uint32_t elsewhere = RINGSIDE_CLAIM_READS_BACKWARD | RINGSIDE_CLAIM_READS_SIDES;
      if ((consumer.ring_kinds & bit) == 0 || consumer.needs != 0 || (consumer.claims & elsewhere) != 0) continue;
      const RunResult result = run_cell(
          {.consumer = consumer.name, .scenario = scenario.name, .ring = kind, .seed = seed}, consumer, scenario, {});
      EXPECT_EQ(result.outcome, Outcome::clean) << consumer.name << ", seed " << seed << result.verdict;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Lies, testing::Values("broken_sizes", "broken_loss", "broken_length", "head_steps_back"),
                         [](const auto& tested) { return std::string(tested.param); });

/// Each ring of several has a broken record of its own.
TEST(LiesOfAScenario, AreToldByEachRing) {
  Scenario scenario = *find_scenario("broken_length");
  scenario.ring.cpus = 2;
  scenario.ring.per_cpu = true;
  scenario.sources.push_back(scenario.sources.front());
  scenario.sources.back().cpu = 1;
  ASSERT_TRUE(validate(scenario));
  for (const char* name : {"copy", "callback", "zero_copy", "time_merge"}) {
    const ringside_consumer& consumer = *consumers::find_strategy(name)->consumer;
    const RunResult result = run_cell({.consumer = name, .scenario = scenario.name}, consumer, scenario, {});
    EXPECT_EQ(result.outcome, Outcome::clean) << name << result.verdict << result.reason;
    EXPECT_EQ(result.verdict.accounting.left, 0u) << name;
  }
}

Scenario plain(const std::string& faults, const std::string& rings = "\"perf\"") {
  const auto scenario = parse_scenario(
      "name = \"x\"\nworlds = [\"model\"]\nrings = [" + rings + "]\n[[source]]\n[faults]\n" + faults, "x.toml");
  return scenario ? *scenario : Scenario{};
}

TEST(LiesOfAScenario, AreForOneKindOfPlainRing) {
  EXPECT_EQ(plain("broken_sizes = [0, 65528]\n").faults.broken_sizes, (std::vector<std::uint32_t>{0, 65528}));
  EXPECT_EQ(plain("broken_sizes = [70000]\n", "\"ringbuf\"").faults.broken_sizes, (std::vector<std::uint32_t>{70000}));
  EXPECT_EQ(plain("head_back_every = 2\n").faults.head_back_every, 2u);
  for (const char* const wrong : {"broken_sizes = []\n", "broken_sizes = [-1]\n", "broken_sizes = [65536]\n"}) {
    EXPECT_EQ(plain(wrong), Scenario{}) << wrong;
  }
  EXPECT_EQ(plain("broken_sizes = [0]\n", "\"perf\", \"ringbuf\""), Scenario{});
  EXPECT_EQ(plain("head_back_every = 2\n", "\"ringbuf\""), Scenario{});
}

}  // namespace
}  // namespace ringside::harness
