// SPDX-License-Identifier: Apache-2.0
//
// Rounds of a comparison as processes of their own. Where code, heap, stack and the ring's pages lie decides a tenth of
// the time of a loop of some nanoseconds, and within one process it is decided once: two comparisons would differ for
// sure by what is drawn anew at each start. So it is drawn anew for each round, and is a part of the spread.
#pragma once

#include "harness/compare/compare.h"
#include "ring/result.h"

namespace ringside::harness {

/// Runs report.options.rounds times `report.options.command` with the part's number and adds what each has measured.
/// Who has a reason for having no figure is left out. Errors: a part that cannot be run, or ends as it should not. A
/// signal ends it after the part under way.
ring::Result<void> measure_in_parts(const CompareProgressSink& progress, CompareReport& report);

/// The arguments of one part, without the command.
std::vector<std::string> arguments_of_part(const CompareReport& report, std::uint32_t part);

}  // namespace ringside::harness
