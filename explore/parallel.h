// SPDX-License-Identifier: Apache-2.0
//
// A search by several processes, each with its own memory, that share what is open: who has nothing left to do is given
// a part of what another one has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "explore/search.h"

namespace ringside::explore {

/// What one of the processes did.
struct WorkerShare {
  std::uint64_t executions = 0;
  std::uint64_t assignments = 0;  ///< how often it was given something to do
  double cpu_seconds = 0;
};

/// As search(), by that many processes (1 to 64), into which the calling one is copied; it must have no other threads.
/// Together they count what one search counts. `options.shards` may say that all of them are only a part of the whole.
/// `observe`, `another` and the end of the program run in the copies and leave nothing behind here. The first failure
/// that is found is told; a process that ends without a word is a failure `crashed`. Throws std::system_error if no
/// process can be made.
SearchResult search_in_processes(const Program& program, const SearchOptions& options, std::size_t jobs);

/// The same from what is open, as search() has it. `shares`: for each process, if asked for.
SearchResult search_in_processes(const Program& program, const SearchOptions& options, std::size_t jobs,
                                 OpenSearch& open, std::vector<WorkerShare>* shares = nullptr);

}  // namespace ringside::explore
