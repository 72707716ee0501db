// SPDX-License-Identifier: Apache-2.0
//
// Reports: what a check or a trial of the mutants found, for people (table), programs (json) and CI services (junit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/check.h"
#include "harness/run_result.h"
#include "harness/text_layout.h"

namespace ringside::harness {

/// Where and how a report came to be: enough to judge whether two reports may be compared.
struct ReportContext {
  std::string ringside_version;
  std::string kernel_release;  ///< `uname -r`
  std::string cpu_model;       ///< as /proc/cpuinfo says; empty where it says nothing
  unsigned cpus = 0;           ///< CPUs online
  std::string date;            ///< UTC, `2026-11-30T00:24:37Z`
  std::string command_line;    ///< the line that runs the same again, its seed spelled out
  std::uint64_t seed = 0;
};

/// This machine, now: everything but command_line and seed.
ReportContext describe_machine();

/// One `ringside check`.
struct Report {
  ReportContext context;
  std::vector<RunResult> runs;
  std::size_t planned = 0;  ///< cells; more than runs when the check was interrupted
  double duration_seconds = 0;
  int interrupted_by = 0;  ///< the signal, 0 for none
};

/// One `ringside mutants`.
struct MutantReport {
  ReportContext context;
  std::vector<MutantResult> mutants;
  std::size_t planned = 0;
  double duration_seconds = 0;
  int interrupted_by = 0;
};

/// Cells by their outcome.
struct OutcomeCounts {
  std::size_t clean = 0;
  std::size_t defects = 0;
  std::size_t skipped = 0;
  std::size_t fault = 0;
};
OutcomeCounts count_outcomes(const Report& report);

/// Mutants by what became of them; one that was skipped or met a fault was not tried.
struct MutantCounts {
  std::size_t convicted = 0;
  std::size_t escaped = 0;
  std::size_t skipped = 0;
  std::size_t fault = 0;
};
MutantCounts count_mutants(const MutantReport& report);

enum class ReportFormat : std::uint8_t { table, json, junit };
/// `table`, `json`, `junit`.
std::string_view name_of(ReportFormat format);
std::optional<ReportFormat> report_format_of(std::string_view name);

/// The whole report as text that ends with a line feed. The style shapes the table only.
std::string render(const Report& report, ReportFormat format, const TextStyle& style);
std::string render(const MutantReport& report, ReportFormat format, const TextStyle& style);

/// The last line of the table: what came out, in one sentence without a line feed.
std::string verdict_line(const Report& report, const TextStyle& style);
std::string verdict_line(const MutantReport& report, const TextStyle& style);

}  // namespace ringside::harness
