// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_status.h"

#include <algorithm>

namespace ringside::cli {
namespace {

int status_of(int interrupted_by, std::size_t bad, std::size_t fault, std::size_t good) {
  if (interrupted_by != 0) return exit_signal_base + interrupted_by;
  if (bad != 0) return exit_defects;
  if (fault != 0) return exit_fault;
  return good == 0 ? exit_cannot : exit_clean;
}

}  // namespace

int exit_status(const harness::Report& report) {
  const harness::OutcomeCounts counts = count_outcomes(report);
  return status_of(report.interrupted_by, counts.defects, counts.fault, counts.clean);
}

int exit_status(const harness::MutantReport& report) {
  const harness::MutantCounts counts = count_mutants(report);
  return status_of(report.interrupted_by, counts.escaped, counts.fault, counts.convicted);
}

int exit_status(const harness::ConformReport& report) {
  return status_of(report.interrupted_by, report.deviates() ? 1 : 0, 0, report.campaign.kinds.size());
}

int exit_status(const harness::RuleReport& report) {
  const std::size_t escaped = report.escaped();
  return status_of(report.interrupted_by, escaped, 0, report.rules.size() - escaped);
}

int exit_status(const harness::ReplayReport& report) {
  return status_of(report.interrupted_by, report.played.deviation ? 1 : 0, 0, 1);
}

int exit_status(const harness::ExploreReport& report) {
  return status_of(report.interrupted_by, report.failed(), 0, report.programs.size());
}

int exit_status(const harness::CompareReport& report) {
  const auto has_figure = [](const harness::CompareSeries& series) { return series.has_figure(); };
  const auto figures = std::count_if(report.series.begin(), report.series.end(), has_figure);
  return status_of(report.interrupted_by, report.convicted().size() + report.slower(), 0,
                   static_cast<std::size_t>(figures));
}

}  // namespace ringside::cli
