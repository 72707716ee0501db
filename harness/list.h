// SPDX-License-Identifier: Apache-2.0
//
// What there is to name on a command line: consumers, scenarios, mutants, programs, rings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/report.h"
#include "harness/text_layout.h"
#include "ring/result.h"

namespace ringside::harness {

/// The topics that a listing knows, in the order of a full listing: `consumers`, `scenarios`, `mutants`, `programs` and
/// `rings`.
const std::vector<std::string>& list_topics();

/// Names for completion and for suggestions, in the order of their registries.
std::vector<std::string> strategy_names();
std::vector<std::string> mutant_names();
std::vector<std::string> scenario_names();

/// One topic with a line each, or all of them when `topic` is empty; as a table or as JSON ("ringside-list/1").
/// Errors: an unknown topic, with the valid ones; junit, which has no place for it.
ring::Result<std::string> list(std::string_view topic, ReportFormat format, const TextStyle& style);

}  // namespace ringside::harness
