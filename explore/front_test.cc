// SPDX-License-Identifier: Apache-2.0
#include "explore/front.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "explore/report.h"
#include "ring/sanitizers.h"

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

/// Some tens of executions.
Program many() {
  return {.begin = [] { flag.set(0); },
          .threads = {[] { flag.fetch_add(1); }, [] { flag.fetch_add(1); },
                      [] {
                        flag.load();
                        flag.load();
                      }},
          .end = {}};
}

TEST_F(FrontTest, GoesOnWithWhatACheckpointKeptUntilAllIsSeen) {
  programs_ = {{"many", many()}, {"more", many()}};
  const std::string kept = path_ + ".kept";
  ASSERT_EQ(run({}), front_clean);
  const auto whole = reports();
  ASSERT_GT(whole.at(0).complete, 10u);
  ASSERT_EQ(run({"--executions", "4", "--checkpoint", kept}), front_clean);
  EXPECT_EQ(reports().at(0).verdict, Verdict::bounded);
  EXPECT_EQ(reports().at(1).complete, 4u);
  int commands = 1;
  while (reports().at(1).verdict != Verdict::proved && commands < 20) {
    ASSERT_EQ(run({"--resume", kept, "--checkpoint", kept, "--executions", "4"}), front_clean);
    ++commands;
  }
  EXPECT_EQ(commands, static_cast<int>(whole[0].complete + 3) / 4);
  for (const std::size_t program : {0u, 1u}) {
    EXPECT_EQ(reports().at(program).complete, whole[program].complete);
    EXPECT_EQ(reports().at(program).verdict, Verdict::proved);
  }
  std::remove(kept.c_str());
}

TEST_F(FrontTest, ACheckpointRemembersWhatFailed) {
  const std::string kept = path_ + ".kept";
  ASSERT_EQ(run({"--checkpoint", kept}), front_failed);
  const auto found = reports();
  EXPECT_EQ(run({"--resume", kept}), front_failed);
  EXPECT_EQ(reports(), found);
  std::remove(kept.c_str());
}

TEST_F(FrontTest, RefusesACheckpointOfAnotherProgramBuildModelOrShard) {
  const std::string kept = path_ + ".kept";
  ASSERT_EQ(run({"awake", "--checkpoint", kept}), front_clean);
  EXPECT_EQ(run({"--resume", kept}), front_clean);
  EXPECT_EQ(run({"awake", "--resume", kept}), front_clean);
  EXPECT_EQ(run({"asleep", "--resume", kept}), front_usage);
  EXPECT_EQ(run({"--resume", kept}, "99999999"), front_usage);
  EXPECT_EQ(run({"--resume", kept, "--memory", "sc"}), front_usage);
  EXPECT_EQ(run({"--resume", kept, "--shard", "1/2"}), front_usage);
  std::ofstream(kept) << "{}";
  EXPECT_EQ(run({"--resume", kept}), front_usage);
  std::remove(kept.c_str());
  EXPECT_EQ(run({"--resume", kept}), front_usage);
  EXPECT_EQ(run({"--checkpoint", "/nowhere/kept"}), front_usage);
}

TEST_F(FrontTest, SearchesBySeveralProcesses) {
  if (RINGSIDE_ADDRESS_SANITIZER != 0) GTEST_SKIP() << "AddressSanitizer has mapped too much for the kernel to fork";
  programs_ = {{"many", many()}};
  ASSERT_EQ(run({}), front_clean);
  const auto whole = reports();
  ASSERT_EQ(run({"--jobs", "2"}), front_clean);
  EXPECT_EQ(reports().at(0).complete, whole.at(0).complete);
  EXPECT_EQ(reports().at(0).verdict, Verdict::proved);
}

TEST_F(FrontTest, WalksFindTheFailureAndProveNothing) {
  for (const char* const way : {"random", "pct", "uniform"}) {
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
                                                {"--jobs", "2", "--search", "random"},
                                                {"--jobs", "65"},
                                                {"--time", "5 days"},
                                                {"--time", "0"},
                                                {"--time", "9", "--preemptions", "2"},
                                                {"--checkpoint", "f", "--search", "uniform"},
                                                {"--resume", "f", "--search", "uniform"},
                                                {"--fast"},
                                                {"--replay", "t", "name"}}) {
    EXPECT_FALSE(front_options(wrong)) << wrong.front();
  }
  EXPECT_EQ(front_options({"--time", "90s"})->seconds, 90);
  EXPECT_EQ(front_options({"--time", "1.5m"})->seconds, 90);
  EXPECT_EQ(front_options({"--time=2h"})->seconds, 7200);
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
