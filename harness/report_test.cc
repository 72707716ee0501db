// SPDX-License-Identifier: Apache-2.0
#include "harness/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "harness/report_example.h"
#include "harness/run_result_json.h"

namespace ringside::harness {
namespace {

using example::bad_run;
using example::clean_run;
using example::fault_run;
using example::skipped_run;
using ring::DefectKind;

Report mixed_report() {
  return example::report_of({clean_run("copy", "steady"), bad_run("copy", "wrap", {DefectKind::torn}),
                             skipped_run("libbpf", "steady", "no CAP_BPF"),
                             fault_run("copy", "busy_head", "fork: EAGAIN"), clean_run("copy", "used_ring")});
}

TEST(Report, CountsCellsByOutcome) {
  const OutcomeCounts counts = count_outcomes(mixed_report());
  EXPECT_EQ(counts.clean, 2u);
  EXPECT_EQ(counts.defects, 1u);
  EXPECT_EQ(counts.skipped, 1u);
  EXPECT_EQ(counts.fault, 1u);
}

TEST(Report, KnowsItsFormatsByName) {
  for (const ReportFormat format : {ReportFormat::table, ReportFormat::json, ReportFormat::junit}) {
    EXPECT_EQ(report_format_of(name_of(format)), format);
  }
  EXPECT_EQ(report_format_of("yaml"), std::nullopt);
}

TEST(Report, DescribesThisMachine) {
  const ReportContext context = describe_machine();
  EXPECT_FALSE(context.kernel_release.empty());
  EXPECT_GE(context.cpus, 1u);
  EXPECT_TRUE(std::regex_match(context.date, std::regex("20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ")))
      << context.date;
  EXPECT_TRUE(std::regex_match(context.ringside_version, std::regex("\\d+\\.\\d+\\.\\d+")));
}

TEST(ReportJson, CarriesEverythingOfEveryRun) {
  const Report report = mixed_report();
  const auto json = nlohmann::ordered_json::parse(render(report, ReportFormat::json, {}));
  EXPECT_EQ(json["schema"], "ringside-check/1");
  EXPECT_EQ(json["context"]["seed"], "0x00000000000000ff");
  EXPECT_EQ(json["counts"]["defects"], 1);
  ASSERT_EQ(json["runs"].size(), report.runs.size());
  for (std::size_t index = 0; index < report.runs.size(); ++index) {
    const ring::Result<RunResult> back = run_result_from_json(json["runs"][index].dump());
    ASSERT_TRUE(back.has_value()) << back.error();
    EXPECT_EQ(to_json_line(*back), to_json_line(report.runs[index]));
  }
}

TEST(ReportJson, SaysOfEachMutantWhetherItWasConvicted) {
  MutantReport report;
  report.context = example::context();
  report.mutants = {example::mutant_of(bad_run("m", "s", {DefectKind::torn}), DefectKind::torn),
                    example::mutant_of(bad_run("n", "s", {DefectKind::torn}), DefectKind::lost),
                    example::explored_mutant("o", DefectKind::torn, DefectKind::data_race, DefectKind::data_race)};
  const auto json = nlohmann::ordered_json::parse(render(report, ReportFormat::json, {}));
  EXPECT_EQ(json["schema"], "ringside-mutants/2");
  EXPECT_EQ(json["mutants"][0]["convicted"], true);
  EXPECT_EQ(json["mutants"][1]["convicted"], false);
  EXPECT_EQ(json["mutants"][1]["expected"], "lost");
  EXPECT_EQ(json["counts"]["escaped"], 1);
  EXPECT_EQ(json["mutants"][0]["records"], 1204);
  EXPECT_FALSE(json["mutants"][0].contains("executions"));
  EXPECT_FALSE(json["mutants"][1].contains("records"));  // it was not convicted
  EXPECT_EQ(json["mutants"][2]["own"], "torn");
  EXPECT_EQ(json["mutants"][2]["expected"], "data_race");
  EXPECT_EQ(json["mutants"][2]["executions"], 105);
  EXPECT_EQ(json["mutants"][2]["run"]["world"], "explored");
}

TEST(MutantCounts, SkippedAndFaultyTrialsAreNotTried) {
  MutantReport report;
  report.mutants = {example::mutant_of(skipped_run("a", "s", "why"), DefectKind::torn),
                    example::mutant_of(fault_run("b", "s", "why"), DefectKind::torn),
                    example::mutant_of(clean_run("c", "s"), DefectKind::torn)};
  const MutantCounts counts = count_mutants(report);
  EXPECT_EQ(counts.skipped, 1u);
  EXPECT_EQ(counts.fault, 1u);
  EXPECT_EQ(counts.escaped, 1u);
  EXPECT_EQ(counts.convicted, 0u);
}

}  // namespace
}  // namespace ringside::harness
