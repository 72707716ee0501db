// SPDX-License-Identifier: Apache-2.0
//
// What the exit status says. A script may rely on each.
#pragma once

#include "harness/compare/compare.h"
#include "harness/conform_report.h"
#include "harness/explore.h"
#include "harness/report.h"

namespace ringside::cli {

inline constexpr int exit_clean = 0;
inline constexpr int exit_defects = 1;        ///< of a consumer, or of the model; or a mutant that escaped
inline constexpr int exit_usage = 2;          ///< nothing was run
inline constexpr int exit_cannot = 3;         ///< this machine cannot do what was asked
inline constexpr int exit_fault = 70;         ///< ringside itself failed
inline constexpr int exit_signal_base = 128;  ///< plus the number of the signal

/// In this order: a signal, as shells say it; a defect that was found, since it is true whatever else happened; a fault
/// of ringside; nothing that could be judged; clean.
int exit_status(const harness::Report& report);
int exit_status(const harness::MutantReport& report);
int exit_status(const harness::ConformReport& report);
int exit_status(const harness::RuleReport& report);
int exit_status(const harness::ReplayReport& report);
int exit_status(const harness::ExploreReport& report);
int exit_status(const harness::CompareReport& report);

}  // namespace ringside::cli
