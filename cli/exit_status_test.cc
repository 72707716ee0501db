// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_status.h"

#include <gtest/gtest.h>

#include "harness/report_example.h"

namespace ringside::cli {
namespace {

using namespace harness::example;
using ring::DefectKind;

const harness::RunResult clean = clean_run("copy", "steady");
const harness::RunResult bad = bad_run("copy", "steady", {DefectKind::lost});
const harness::RunResult skipped = skipped_run("copy", "steady", "why");
const harness::RunResult fault = fault_run("copy", "steady", "why");

int status(const std::vector<harness::RunResult>& runs) { return exit_status(report_of(runs)); }

TEST(ExitStatus, IsCleanDespiteASkipThatWasTold) { EXPECT_EQ(status({clean, skipped}), 0); }
TEST(ExitStatus, TellsADefect) { EXPECT_EQ(status({clean, bad}), 1); }
TEST(ExitStatus, TellsADefectDespiteAFault) { EXPECT_EQ(status({bad, fault}), 1); }
TEST(ExitStatus, TellsAFaultOfRingside) { EXPECT_EQ(status({clean, fault}), 70); }
TEST(ExitStatus, TellsThatNothingCouldBeJudged) {
  EXPECT_EQ(status({skipped, skipped}), 3);
  EXPECT_EQ(status({}), 3);
}

TEST(ExitStatus, TellsASignalAsShellsDo) {
  harness::Report report = report_of({bad});
  report.interrupted_by = 15;
  EXPECT_EQ(exit_status(report), 143);
}

TEST(ExitStatus, TellsAnEscapedMutant) {
  harness::MutantReport report;
  report.mutants = {mutant_of(bad, DefectKind::lost)};
  EXPECT_EQ(exit_status(report), 0);
  report.mutants.push_back(mutant_of(bad, DefectKind::torn));
  EXPECT_EQ(exit_status(report), 1);
}

TEST(ExitStatus, TellsAMutantThatTheExplorerAcquits) {
  using harness::example::explored_mutant;
  harness::MutantReport report;
  report.mutants = {explored_mutant("a", DefectKind::phantom, DefectKind::data_race, DefectKind::data_race)};
  EXPECT_EQ(exit_status(report), 0);
  report.mutants.push_back(explored_mutant("b", DefectKind::phantom, DefectKind::data_race, DefectKind::phantom));
  EXPECT_EQ(exit_status(report), 1);
}

}  // namespace
}  // namespace ringside::cli
