// SPDX-License-Identifier: Apache-2.0
#include "harness/list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ringside::harness {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(List, KnowsTheShippedNames) {
  EXPECT_TRUE(has(strategy_names(), "copy"));
  EXPECT_TRUE(has(scenario_names(), "steady"));
  EXPECT_GE(mutant_names().size(), 10u);
}

TEST(List, NoStrategyIsAlsoAMutant) {
  for (const std::string& mutant : mutant_names()) EXPECT_FALSE(has(strategy_names(), mutant)) << mutant;
}

TEST(List, TellsEveryNameOfATopicAsATableAndAsJson) {
  for (const auto& [topic, names] : {std::pair{"consumers", strategy_names()}, std::pair{"scenarios", scenario_names()},
                                     std::pair{"mutants", mutant_names()}}) {
    const ring::Result<std::string> table = list(topic, ReportFormat::table, {false, 100});
    const ring::Result<std::string> text = list(topic, ReportFormat::json, {});
    ASSERT_TRUE(table.has_value() && text.has_value()) << topic;
    const auto json = nlohmann::json::parse(*text);
    ASSERT_EQ(json[topic].size(), names.size()) << topic;
    for (std::size_t index = 0; index < names.size(); ++index) {
      EXPECT_NE(table->find("\n  " + names[index] + " "), std::string::npos) << names[index];
      EXPECT_EQ(json[topic][index]["name"], names[index]);
      EXPECT_FALSE(json[topic][index]["summary"].get<std::string>().empty()) << names[index];
    }
  }
}

TEST(List, TellsAllTopicsWhenNoneIsNamed) {
  const ring::Result<std::string> table = list("", ReportFormat::table, {false, 100});
  ASSERT_TRUE(table.has_value());
  for (const std::string& topic : list_topics()) {
    EXPECT_TRUE(table->starts_with(topic) || table->find("\n\n" + topic + "\n") != std::string::npos) << topic;
  }
}

TEST(List, EveryScenarioOfAMutantIsShipped) {
  const auto json = nlohmann::json::parse(*list("mutants", ReportFormat::json, {}));
  for (const auto& mutant : json["mutants"]) {
    const std::string scenario = mutant["scenario"];
    EXPECT_TRUE(scenario.empty() || has(scenario_names(), scenario)) << mutant.dump();
  }
}

TEST(List, NamesTheValidTopics) {
  const ring::Result<std::string> result = list("plans", ReportFormat::table, {});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().remedy, "valid: consumers, scenarios, mutants, programs, rings");
}

TEST(List, HasNoJunit) { EXPECT_FALSE(list("rings", ReportFormat::junit, {}).has_value()); }

}  // namespace
}  // namespace ringside::harness
