// SPDX-License-Identifier: Apache-2.0
//
// Reports of the runs that hold the model to the kernel: scripts played, rules broken on purpose, one script played
// again, and the rules that differ between kernels.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "conform/campaign.h"
#include "harness/report.h"
#include "ring/result.h"
#include "sim/kernel_version.h"

namespace ringside::harness {

/// One `ringside conform`.
struct ConformReport {
  ReportContext context;
  conform::CampaignResult campaign;
  std::size_t planned = 0;  ///< scripts, of all kinds of ring
  double duration_seconds = 0;
  int interrupted_by = 0;  ///< the signal, 0 for none

  bool deviates() const;
};

/// One `ringside conform --mutants`: models that break one rule each.
struct RuleReport {
  ReportContext context;
  std::vector<conform::MutantResult> rules;
  std::size_t planned = 0;  ///< rules
  double duration_seconds = 0;
  int interrupted_by = 0;

  std::size_t escaped() const;
};

/// One `ringside replay FILE`.
struct ReplayReport {
  ReportContext context;
  std::string file;
  conform::Script script;
  conform::Played played;
  std::size_t planned = 1;
  double duration_seconds = 0;
  int interrupted_by = 0;
};

/// As the reports of harness/report.h: the whole report, and its last sentence.
std::string render(const ConformReport& report, ReportFormat format, const TextStyle& style);
std::string render(const RuleReport& report, ReportFormat format, const TextStyle& style);
std::string render(const ReplayReport& report, ReportFormat format, const TextStyle& style);
std::string verdict_line(const ConformReport& report, const TextStyle& style);
std::string verdict_line(const RuleReport& report, const TextStyle& style);
std::string verdict_line(const ReplayReport& report, const TextStyle& style);

/// The rules that differ between kernels, and whether they hold on `kernel`: as a table or as JSON
/// ("ringside-rules/1"). Errors: junit, which has no place for it.
ring::Result<std::string> version_rules_text(const sim::KernelVersion& kernel, ReportFormat format,
                                             const TextStyle& style);

}  // namespace ringside::harness
