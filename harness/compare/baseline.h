// SPDX-License-Identifier: Apache-2.0
//
// A comparison held against an earlier one: what got slower, by how much, how surely.
//
// Times on one machine drift between two runs, with its clock, its neighbours and the pages that a ring gets; one pass
// over the same bytes drifts with them. So what is held against the earlier run is each round's time as a multiple of
// the one pass of that round.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "harness/compare/compare.h"

namespace ringside::harness {

/// One earlier run.
struct Baseline {
  using Key = std::tuple<std::string, std::uint32_t, std::string>;  // consumer, size, touch

  std::string path;
  std::string machine;                           ///< kernel and processor
  std::string setting;                           ///< world and ring
  std::map<Key, std::vector<double>> multiples;  ///< of one pass, a value a round
};

/// Reads what `ringside compare --format json` wrote. Errors, each with the file's name: it cannot be read, or is no
/// such report.
ring::Result<Baseline> read_baseline(const std::string& path);

/// Holds `report` against it; into report.changes. `least` is the least change that counts, 0.05 for a twentieth.
/// Errors: it has nothing in common with this run.
ring::Result<void> hold_against(const Baseline& baseline, double least, CompareReport& report);

}  // namespace ringside::harness
