// SPDX-License-Identifier: Apache-2.0
//
// The report for programs: everything of every run, under a name and number of the schema. A reader may rely on the
// keys of "ringside-check/1" and "ringside-mutants/2"; new keys may come, a changed meaning takes a new number.
#include "harness/report_formats.h"
#include "harness/run_result_json.h"

namespace ringside::harness {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string json_of(const Report& report) {
  Json json = json_document("ringside-check/1", report);
  const OutcomeCounts counts = count_outcomes(report);
  json["counts"] = {
      {"clean", counts.clean}, {"defects", counts.defects}, {"skipped", counts.skipped}, {"fault", counts.fault}};
  json["runs"] = Json::array();
  for (const RunResult& run : report.runs) json["runs"].push_back(to_json(run));
  return dump(json, 2) + '\n';
}

std::string json_of(const MutantReport& report) {
  Json json = json_document("ringside-mutants/2", report);
  const MutantCounts counts = count_mutants(report);
  json["counts"] = {{"convicted", counts.convicted},
                    {"escaped", counts.escaped},
                    {"skipped", counts.skipped},
                    {"fault", counts.fault}};
  json["mutants"] = Json::array();
  for (const MutantResult& result : report.mutants) {
    Json mutant;
    mutant["mutant"] = result.mutant;
    mutant["own"] = ring::name_of(result.own);
    mutant["expected"] = ring::name_of(result.expected);
    mutant["convicted"] = result.convicted();
    const bool explored = result.run.spec.world == WorldKind::explored;
    if (explored) mutant["executions"] = result.executions;
    if (!explored && result.convicted()) mutant["records"] = result.effort();
    mutant["run"] = to_json(result.run);
    json["mutants"].push_back(std::move(mutant));
  }
  return dump(json, 2) + '\n';
}

}  // namespace ringside::harness
