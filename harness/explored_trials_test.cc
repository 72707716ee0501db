// SPDX-License-Identifier: Apache-2.0
//
// Mutants in the explored world, with files that answer as explored programs do: `fails`, `holds`, `has_no_end`.
#include "harness/explored_trials.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "consumers/registry.h"
#include "consumers/strategies.h"
#include "harness/catalogue.h"
#include "harness/check.h"
#include "harness/report.h"

namespace ringside::harness {
namespace {

using explore::ProgramReport;
using ring::DefectKind;

class Explored : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "ringside-explored-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A file with one program, which always reports that.
  void ship(const ProgramReport& report) {
    const std::filesystem::path path = folder_ / ("file_of_" + report.name);
    std::ofstream(path) << "#!/bin/sh\n"
                        << "if [ \"$1\" = --list ]; then echo " << report.name << "; exit 0; fi\n"
                        << "cat <<'END'\n"
                        << explore::json_of({report}) << "\nEND\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  void ship_failing(const std::string& name, const std::string& defect) {
    ProgramReport report{.name = name, .memory = "c11", .verdict = explore::Verdict::failed, .complete = 7};
    report.blocked = 2;
    report.failure.emplace();
    report.failure->defect = defect;
    report.failure->what = "what happened";
    ship(report);
  }
  void ship_proved(const std::string& name) { ship({.name = name, .memory = "c11", .complete = 345}); }

  ExploredTrial run(const std::string& program) const {
    const RunSpec spec{.consumer = "m", .scenario = program, .world = WorldKind::explored};
    return ExploredTrials(folder_.string()).run(spec, "c11");
  }
  CheckOptions options() const {
    CheckOptions options;
    options.worlds = {WorldKind::explored};
    options.explored = folder_.string();
    return options;
  }

  std::filesystem::path folder_;
};

TEST_F(Explored, AProgramThatFailsConvictsOfItsDefect) {
  ship_failing("fails", "data_race");
  const ExploredTrial trial = run("fails");
  EXPECT_EQ(trial.run.outcome, Outcome::defects) << trial.run.reason;
  EXPECT_TRUE(trial.run.verdict.has(DefectKind::data_race));
  EXPECT_EQ(trial.run.verdict.defects.at(0).detail, "what happened");
  EXPECT_EQ(trial.executions, 10u);  // 7 complete, 2 blocked, and the one that failed
}

TEST_F(Explored, AProgramThatHoldsConvictsOfNothing) {
  ship_proved("holds");
  const ExploredTrial trial = run("holds");
  EXPECT_EQ(trial.run.outcome, Outcome::clean) << trial.run.reason;
  EXPECT_EQ(trial.executions, 345u);
}

TEST_F(Explored, AFaultOfTheProgramItselfConvictsNobody) {
  ship_failing("has_no_end", "too_long");
  const ExploredTrial trial = run("has_no_end");
  EXPECT_EQ(trial.run.outcome, Outcome::fault);
  EXPECT_EQ(trial.run.reason, "the program failed: too_long: what happened");
}

TEST_F(Explored, AProgramThatIsNotBuiltIsSkippedWithTheReason) {
  EXPECT_EQ(run("fails").run.outcome, Outcome::skipped);
  EXPECT_EQ(run("fails").run.reason,
            "there is no explored program in " + folder_.string() + ": build them, or install them");
  ship_proved("holds");
  EXPECT_EQ(run("fails").run.reason, "no file in " + folder_.string() + " has the program fails: build it");
}

TEST_F(Explored, WhatMissesIsToldBeforeAnythingRuns) {
  ship_failing("ignore_busy", "data_race");
  CheckOptions one = options();
  one.consumers = {"ignore_busy"};
  EXPECT_EQ(explored_obstacle(one), std::nullopt);
  one.consumers.emplace_back("header_relaxed");
  EXPECT_EQ(explored_obstacle(one), "no file in " + folder_.string() + " has the program header_relaxed: build it");
  one.worlds = {WorldKind::model};
  EXPECT_EQ(explored_obstacle(one), std::nullopt);
  one.consumers = {"trust_perf_size"};  // nothing of it is explored
  one.worlds = {WorldKind::explored};
  EXPECT_EQ(explored_obstacle(one), std::nullopt);
}

TEST_F(Explored, AMutantIsConvictedOfWhatTheRegistrySays) {
  ship_failing("ignore_busy", "data_race");
  CheckOptions one = options();
  one.consumers = {"ignore_busy"};
  const auto results = run_mutants(one, {});
  ASSERT_TRUE(results) << results.error();
  ASSERT_EQ(results->size(), 1u);
  EXPECT_TRUE(results->at(0).convicted());
  EXPECT_EQ(results->at(0).own, DefectKind::phantom);
  EXPECT_EQ(results->at(0).effort(), 10u);
  EXPECT_EQ(results->at(0).run.repeat, "ringside explore ignore_busy");
}

/// A right strategy that is given out for a mutant.
JudgedMutant impostor(const consumers::Trial& trial) {
  return {.judged = {.consumer = &consumers::copy()},
          .expected = DefectKind::torn,
          .what = "Nothing.",
          .case_number = "A1",
          .trial = trial};
}

MutantReport report_on(const JudgedMutant& mutant, const CheckOptions& options) {
  MutantReport report;
  auto results = run_mutants({mutant}, options, {});
  EXPECT_TRUE(results) << results.error();
  report.mutants = std::move(*results);
  report.planned = report.mutants.size();
  return report;
}

TEST_F(Explored, ARightStrategyGivenOutForAMutantEscapes) {
  ship_proved("holds");
  const auto trial = consumers::explored_only("holds", DefectKind::data_race, "tso");
  const MutantReport report = report_on(impostor(trial), options());
  EXPECT_EQ(count_mutants(report).escaped, 1u);
  const std::string text = render(report, ReportFormat::table, {false, 120});
  EXPECT_NE(text.find("copy (ringbuf), explored, holds: should be convicted of data_race, was convicted of nothing"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("    repeat: ringside explore holds --memory tso\n"), std::string::npos) << text;
}

TEST_F(Explored, ARightStrategyGivenOutForAMutantEscapesOnTheModelToo) {
  CheckOptions on_model;
  on_model.worlds = {WorldKind::model};
  const MutantReport report = report_on(impostor(consumers::on_both("one_page")), on_model);
  EXPECT_EQ(count_mutants(report).escaped, 1u);
  const std::string text = render(report, ReportFormat::table, {false, 120});
  EXPECT_NE(text.find("copy (ringbuf), model, one_page: should be convicted of torn, was convicted of nothing"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace ringside::harness
