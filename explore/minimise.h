// SPDX-License-Identifier: Apache-2.0
//
// The simplest execution that fails as a given one did: fewest interruptions and stale accesses, then fewest events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "explore/program.h"
#include "explore/search.h"

namespace ringside::explore {

/// What makes an execution hard to follow.
struct Cost {
  std::size_t interruptions = 0;  ///< another thread goes on although this one could have
  std::size_t stale = 0;          ///< loads that pass over newer stores, and stores that go before earlier ones

  std::size_t sum() const { return interruptions + stale; }
};

/// The events of a graph, in the order of least cost that leads to it; of those with the same cost, one with the fewest
/// changes of threads. Events of a read-modify-write stay together. A thread without a next event in the graph counts
/// as ended.
struct SimplestOrder {
  std::vector<EventId> events = {};
  Cost cost = {};
};
/// Of the events in the order in which the graph has them.
Cost cost_of(const Graph& graph);
SimplestOrder simplest_order(const Graph& graph);

struct Minimum {
  Failure failure = {};  ///< with its steps and its schedule
  Cost cost = {};
  std::uint64_t compared = 0;  ///< failing executions that were looked at, this one included
  bool all = false;            ///< every one that the search meets; otherwise it ended at its limit
};

/// Looks on for executions that fail in the same way, at most `most` of them and not without an end, and replays the
/// simplest one. The failure must be the program's under the same options. If no replay of a simpler order fails, it
/// stays as it was. The schedule is for a replay without SearchOptions::questions.
Minimum minimise(const Program& program, const Failure& failure, const SearchOptions& options,
                 std::uint64_t most = 500);

}  // namespace ringside::explore
