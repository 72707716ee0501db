// SPDX-License-Identifier: Apache-2.0
//
// A search by several processes, each with its own part of the executions and its own memory.
#pragma once

#include <cstddef>

#include "explore/search.h"

namespace ringside::explore {

/// As search(), by that many processes (1 to 64), into which the calling one is copied; it must have no other threads.
/// Together they count what one search counts. `options.shards` may say that all of them are only a part of the whole.
/// `observe` and the end of the program run in the copies and leave nothing behind here. The first failure, in the
/// order of the shards, is told; a process that ends without a word is a failure `crashed`. Throws std::system_error if
/// no process can be made.
SearchResult search_in_processes(const Program& program, const SearchOptions& options, std::size_t jobs);

}  // namespace ringside::explore
