// SPDX-License-Identifier: Apache-2.0
//
// A comparison held against an earlier one: what got slower, by how much, how surely.
//
// Times on one machine drift between two runs, with its clock, its neighbours and the pages that a ring gets; one pass
// over the same bytes drifts with them. So what is held against the earlier run is each round's time as a multiple of
// the one pass of that round.
#pragma once

#include <string>

#include "harness/compare/compare.h"

namespace ringside::harness {

/// Reads what `ringside compare --format json` wrote and holds `report` against it; into report.changes. `least` is the
/// least change that counts, 0.05 for a twentieth. Errors, each with the file's name: it cannot be read, is no such
/// report, or has nothing in common with this one.
ring::Result<void> hold_against(const std::string& path, double least, CompareReport& report);

/// Whether the file can be read and is such a report: asked before anything is timed.
ring::Result<void> check_baseline(const std::string& path);

}  // namespace ringside::harness
