// SPDX-License-Identifier: Apache-2.0
//
// How many executions a search will have, guessed before it begins: descents from the first execution, each time to any
// one of those that an execution leaves open, say how wide the tree is there (Knuth: "Estimating the Efficiency of
// Backtrack Programs", Mathematics of Computation 29, 1975). A tree that is deep to one side hides from such a single
// way down. So a descent goes down many at once: what is open is told apart by how many alternatives lead to it and by
// the events that it is about, and of each kind one is run for all of it (Chen: "Heuristic Sampling: a
// Method for Predicting the Performance of Tree Searching Programs", SIAM Journal on Computing 21, 1992). Right on
// average over all descents.
#pragma once

#include <cstdint>
#include <functional>

#include "explore/search.h"

namespace ringside::explore {

struct Estimate {
  double executions = 0;  ///< complete and blocked: the average of all descents
  double low = 0;         ///< two standard errors below, but no less than what one descent has seen
  double high = 0;        ///< four above: what descents rarely meet is much when they do
  std::uint64_t descents = 0;
  std::uint64_t seen = 0;  ///< executions that it took
};

/// By so many descents at most, until `enough` says so of what there is (without low and high). Nothing is observed. No
/// descents at all where the program fails within; a search will say so.
Estimate estimate(const Program& program, const SearchOptions& options, std::uint64_t seed, std::uint64_t most_descents,
                  const std::function<bool(const Estimate&)>& enough = {});

}  // namespace ringside::explore
