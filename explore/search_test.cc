// SPDX-License-Identifier: Apache-2.0
//
// The search against everything there is: random tiny programs, of which a brute-force enumeration knows all
// executions.
#include "explore/search.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "explore/brute_force.h"
#include "explore/schedule.h"
#include "explore/tiny_programs.h"

namespace ringside::explore {
namespace {

class Search : public testing::TestWithParam<MemoryModel> {};
INSTANTIATE_TEST_SUITE_P(Models, Search, testing::Values(MemoryModel::sc, MemoryModel::tso, MemoryModel::c11),
                         [](const auto& given) { return std::string(name_of(given.param)); });

/// The schedule of every execution leads to that execution.
void replays(const TinyProgram& tiny, MemoryModel model) {
  const TinyMemory memory(tiny);
  std::vector<std::pair<std::string, TinyShape>> executions;
  search(memory.program(),
         {.model = model,
          .observe = [&](const Graph& graph) { executions.emplace_back(to_text(schedule_of(graph)), graph.shape()); },
          .anew = [&] { executions.clear(); }});
  for (const auto& [schedule, shape] : executions) {
    TinyShape again;
    const SearchResult result = replay(memory.program(), schedule,
                                       {.model = model, .observe = [&](const Graph& graph) { again = graph.shape(); }});
    ASSERT_FALSE(result.failure) << result.failure->what << ' ' << schedule << '\n' << tiny;
    ASSERT_EQ(again, shape) << schedule << '\n' << tiny;
  }
}

void agrees_with_brute_force(MemoryModel model, bool mixed) {
  const char* const asked = std::getenv("RINGSIDE_TINY_PROGRAMS");
  const int programs = asked != nullptr ? std::atoi(asked) : 300;
  std::mt19937 random(20261130);
  for (int i = 0; i < programs; ++i) {
    const TinyProgram program = draw_program(random, mixed);
    const Explored explored = explore(program, model);
    ASSERT_FALSE(explored.result.failure) << explored.result.failure->what << '\n' << program;
    ASSERT_EQ(explored.visits, explored.shapes.size()) << "visited twice, program " << i << '\n' << program;
    ASSERT_EQ(explored.shapes, brute_force(program, model)) << "program " << i << '\n' << program;
  }
}

TEST(Questions, EveryCombinationOfAnswersIsFound) {
  const char* const asked = std::getenv("RINGSIDE_TINY_PROGRAMS");
  const int programs = asked != nullptr ? std::atoi(asked) : 300;
  std::mt19937 random(20261202);
  std::uint64_t visits = 0;
  std::uint64_t all = 0;
  for (int i = 0; i < programs; ++i) {
    const TinyProgram program = draw_questions(random);
    const Asking asking(program);
    std::set<TinyShape> shapes;
    bool deferred = true;
    const auto observe = [&](const Graph& graph) {
      ++visits;
      shapes.insert(answers_of(program, graph, deferred));
    };
    const auto begin_anew = [&] {
      deferred = false;
      shapes.clear();
    };
    const SearchResult result = search(asking.program(), {.observe = observe, .anew = begin_anew});
    ASSERT_FALSE(result.failure) << result.failure->what << '\n' << program;
    ASSERT_EQ(shapes, brute_force_answers(program, MemoryModel::c11)) << "program " << i << '\n' << program;
    all += brute_force(program, MemoryModel::c11).size();
  }
  EXPECT_LT(visits, all);
  RecordProperty("visits", std::to_string(visits));
  RecordProperty("executions", std::to_string(all));
}

TEST(Questions, WhichHaveNothingToReadYetAreAskedAtTheirPlace) {
  const TinyProgram program = asks_too_early();
  const Asking asking(program);
  std::set<TinyShape> shapes;
  std::vector<std::string> schedules;
  bool anew = false;
  const auto observe = [&](const Graph& graph) {
    shapes.insert(answers_of(program, graph, !anew));
    schedules.push_back(to_text(schedule_of(graph)));
  };
  const auto begin_anew = [&] {
    anew = true;
    shapes.clear();
    schedules.clear();
  };
  const SearchResult result = search(asking.program(), {.observe = observe, .anew = begin_anew});
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_TRUE(anew);
  EXPECT_EQ(shapes, brute_force_answers(program, MemoryModel::c11));
  for (const std::string& schedule : schedules) {
    const SearchResult again = replay(asking.program(), schedule);
    EXPECT_FALSE(again.failure) << again.failure->what << ' ' << schedule;
  }
}

TEST_P(Search, FindsExactlyTheExecutionsThereAreAndEachOnce) { agrees_with_brute_force(GetParam(), false); }

TEST_P(Search, FindsThemWhereAccessesOfTheSameBytesDifferInWidth) { agrees_with_brute_force(GetParam(), true); }

TEST_P(Search, ReplaysEachExecutionByItsSchedule) {
  std::mt19937 random(20261201);
  for (int i = 0; i < 60; ++i) replays(draw_program(random, i % 2 == 0), GetParam());
}

}  // namespace
}  // namespace ringside::explore
