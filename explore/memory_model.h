// SPDX-License-Identifier: Apache-2.0
//
// Memory models: which graphs are executions. Each is a property of the graph alone, holds of every beginning of an
// execution that has it, and can always be kept by reading the last store; the search needs no more.
#pragma once

#include <cstdint>
#include <string_view>

#include "explore/graph.h"

namespace ringside::explore {

enum class MemoryModel : std::uint8_t {
  sc,   ///< one memory, one access at a time
  tso,  ///< x86: a thread's loads may overtake its own earlier stores
  c11,  ///< C++20's orders as RC11 has them: no load sees a store that depends on it
};

std::string_view name_of(MemoryModel model);

/// The order that an access has under the model: hardware of sc and tso orders more than the program asks for.
Order effective(MemoryModel model, EventKind kind, Order asked);

/// The lowest position of the location's modification order that an access of those bytes which happens after `known`
/// may still read from, and after which it may write: coherence. What loads read of the store `but` is left out.
std::size_t lowest_position(const Graph& graph, std::size_t location, const Clock& known, std::uint8_t bytes = 0xff,
                            EventId but = {});

/// Whether the graph, whose accesses keep to coherence, is an execution of the model: no cycle in the order that all
/// threads must agree on.
bool consistent(const Graph& graph, MemoryModel model);

}  // namespace ringside::explore
