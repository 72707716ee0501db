// SPDX-License-Identifier: Apache-2.0
//
// An exhaustive search as the command line has it: an estimate before, progress meanwhile, an end by the clock or by a
// signal, and what is open kept now and then.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "explore/estimate.h"
#include "explore/search.h"
#include "ring/progress_line.h"

namespace ringside::explore {

struct ExhaustiveSearch {
  std::string name = {};  ///< of the program
  std::size_t jobs = 1;
  double most_seconds = 0;  ///< 0: without a bound
  /// Takes what is open; asked to about every 10 s. Empty: nobody keeps it.
  std::function<void(const OpenSearch&)> keep = {};
  bool tells = false;  ///< the estimate and the progress, by `line`
  ring::ProgressLine::Options line = {};
  std::function<double()> seconds = {};  ///< a monotonic clock
};

/// Until nothing is open, something fails, a bound is reached or a signal has come (ring/signals.h).
SearchResult search_exhaustively(const ExhaustiveSearch& search, const Program& program, const SearchOptions& options,
                                 OpenSearch& open);

/// `about 14,000 executions (9,000 to 19,000), an estimate by 100 random descents`.
std::string to_text(const Estimate& estimate);

/// What is to be told of a search under way.
struct Advance {
  Tally so_far = {};
  std::uint64_t new_executions = 0;  ///< of these, in this process and its own
  double seconds = 0;                ///< which they took
  Estimate estimate = {};
};
/// `12.3 %, 14,321 executions, 45,000 a second, 20 s to 3 min left`: left by what was seen, in a search that goes on
/// as it has, and by the estimate. Without an end in sight nothing is said of it.
std::string to_text(const Advance& advance);

}  // namespace ringside::explore
