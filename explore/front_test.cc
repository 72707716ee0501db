// SPDX-License-Identifier: Apache-2.0
#include "explore/front.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "explore/report.h"

namespace ringside::explore {
namespace {

Atomic<std::int32_t> flag;

std::map<std::string, Program> two_programs() {
  const auto begin = [] { flag.set(0); };
  return {{"asleep", {.begin = begin, .threads = {[] { flag.await_equal(2); }, [] { flag.store(1); }}, .end = {}}},
          {"awake", {.begin = begin, .threads = {[] { flag.await_equal(1); }, [] { flag.store(1); }}, .end = {}}}};
}

class FrontTest : public testing::Test {
 protected:
  FrontTest() : programs_(two_programs()) {}
  ~FrontTest() override { std::remove(path_.c_str()); }

  int run(std::vector<std::string> arguments, const std::string& build = "0123abcd") {
    arguments.insert(arguments.end(), {"--quiet", "--format", "json", "--output", path_});
    return front("./program", arguments,
                 {.programs = programs_,
                  .explore = [](const Program& program, const SearchOptions& options,
                                const FrontHooks::SearchBy& search_by) { return search_by(program, options); },
                  .prepare = [](const Program& program) { return program; },
                  .build = build});
  }

  std::vector<ProgramReport> reports() const {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return reports_from_json(text.str()).value_or(std::vector<ProgramReport>{});
  }

  std::map<std::string, Program> programs_;
  std::string path_ = testing::TempDir() + "ringside_front_" + std::to_string(::getpid()) + ".json";
};

TEST_F(FrontTest, ExploresEveryProgramAndSaysByItsStatusThatOneFails) {
  EXPECT_EQ(run({}), front_failed);
  const auto all = reports();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].verdict, Verdict::failed);
  EXPECT_EQ(all[0].failure->defect, "deadlock");
  EXPECT_EQ(all[1].verdict, Verdict::proved);
  EXPECT_EQ(run({"awake"}), front_clean);
}

TEST_F(FrontTest, ABoundThatCutSomethingIsInTheVerdict) {
  programs_["many"] = {
      .begin = [] { flag.set(0); }, .threads = {[] { flag.load(); }, [] { flag.store(1); }}, .end = {}};
  EXPECT_EQ(run({"many", "--executions", "1"}), front_clean);
  ASSERT_EQ(reports().size(), 1u);
  EXPECT_EQ(reports()[0].verdict, Verdict::bounded);
  EXPECT_FALSE(reports()[0].bounds.empty());
  EXPECT_EQ(run({"many", "--executions", "2"}), front_clean);
  EXPECT_EQ(reports()[0].verdict, Verdict::proved);
}

TEST_F(FrontTest, APartOfTheSearchProvesNothingAlone) {
  EXPECT_EQ(run({"awake", "--shard", "1/2"}), front_clean);
  ASSERT_EQ(reports().size(), 1u);
  EXPECT_EQ(reports()[0].verdict, Verdict::bounded);
  EXPECT_EQ(reports()[0].bounds, (std::vector<std::string>{"part 1 of 2"}));
}

TEST_F(FrontTest, WalksFindTheFailureAndProveNothing) {
  for (const char* const way : {"random", "pct"}) {
    EXPECT_EQ(run({"asleep", "--search", way}), front_failed);
    EXPECT_EQ(run({"awake", "--search", way, "--executions", "5"}), front_clean);
    EXPECT_EQ(reports().at(0).verdict, Verdict::bounded) << way;
  }
  EXPECT_EQ(run({"asleep", "--preemptions", "0"}), front_failed);
}

TEST_F(FrontTest, RepeatsAFailureByItsToken) {
  ASSERT_EQ(run({"asleep", "--memory=sc"}), front_failed);
  const ReportedFailure found = *reports().at(0).failure;
  EXPECT_EQ(found.token.substr(0, 19), "asleep/sc/0123abcd/");
  EXPECT_EQ(found.replay, "./program --replay " + found.token);
  ASSERT_EQ(run({"--replay", found.token}), front_failed);
  const ProgramReport again = reports().at(0);
  EXPECT_EQ(again.memory, "sc");
  EXPECT_EQ(again.failure->steps, found.steps);
  EXPECT_EQ(again.failure->token, found.token);
}

TEST_F(FrontTest, RefusesATokenOfAnotherBuildOrProgram) {
  ASSERT_EQ(run({"asleep"}), front_failed);
  const std::string token = reports().at(0).failure->token;
  EXPECT_EQ(run({"--replay", token}, "99999999"), front_usage);
  programs_.erase("asleep");
  EXPECT_EQ(run({"--replay", token}), front_usage);
}

TEST_F(FrontTest, AFailureThatDoesNotComeAgainIsAFault) {
  ASSERT_EQ(run({"asleep"}), front_failed);
  const std::string token = reports().at(0).failure->token;
  programs_["asleep"].threads[0] = [] { flag.await_equal(1); };
  const int status = run({"--replay", token});
  // The thread that slept goes on now: its steps are the same, and nothing fails.
  EXPECT_EQ(status, front_fault);
}

TEST_F(FrontTest, SaysWhatIsWrongWithItsArguments) {
  EXPECT_EQ(run({"nobody"}), front_usage);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--memory", "arm"},
                                                {"--executions", "many"},
                                                {"--executions", "0"},
                                                {"--events"},
                                                {"--format", "pdf"},
                                                {"--search", "luck"},
                                                {"--shard", "3/2"},
                                                {"--shard", "1/2", "--search", "pct"},
                                                {"--fast"},
                                                {"--replay", "t", "name"}}) {
    EXPECT_FALSE(front_options(wrong)) << wrong.front();
  }
  EXPECT_EQ(front_options({"--memory", "tso", "a", "b"})->names, (std::vector<std::string>{"a", "b"}));
}

TEST(Token, IsReadAsItIsWritten) {
  const Token token{.name = "dir/name", .model = MemoryModel::tso, .build = "0123abcd", .schedule = "0x3,1.2#9e2f0c41"};
  EXPECT_EQ(to_text(token), "dir/name/tso/0123abcd/0x3,1.2#9e2f0c41");
  EXPECT_EQ(token_from(to_text(token)).value(), token);
  EXPECT_FALSE(token_from("name"));
  EXPECT_FALSE(token_from("name/arm/0123abcd/0#00000000"));
}

}  // namespace
}  // namespace ringside::explore
