// SPDX-License-Identifier: Apache-2.0
//
// How many executions a search will have, guessed before it begins: ways down from the first execution, each time to
// any one of those that an execution leaves open, say how wide the tree is there (Knuth: "Estimating the Efficiency of
// Backtrack Programs", Mathematics of Computation 29, 1975). Right on average over all ways; a tree that is deep to one
// side takes many ways to show it.
#pragma once

#include <cstdint>
#include <functional>

#include "explore/search.h"

namespace ringside::explore {

struct Estimate {
  double executions = 0;  ///< complete and blocked: the average of all ways
  double low = 0;         ///< two standard errors below, but no less than what one way has seen
  double high = 0;        ///< and above
  std::uint64_t ways = 0;
  std::uint64_t seen = 0;  ///< executions that it took
};

/// By so many ways at most, until `enough` says so. Nothing is observed. No ways at all where the program fails within;
/// a search will say so.
Estimate estimate(const Program& program, const SearchOptions& options, std::uint64_t seed, std::uint64_t most_ways,
                  const std::function<bool()>& enough = {});

}  // namespace ringside::explore
