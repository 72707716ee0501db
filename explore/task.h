// SPDX-License-Identifier: Apache-2.0
//
// What is left of a search, as plain data without an address or anything else of the process that searched: another
// process goes on with it. A task is a graph that the search has not run yet, by the schedule that leads to it; what
// lies below it no other task has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "explore/schedule.h"
#include "ring/result.h"

namespace ringside::explore {

/// A thread that the program's threads create, by who creates it and as which of its own.
struct ChildName {
  std::size_t creator = 0;
  std::size_t ordinal = 0;

  friend bool operator==(const ChildName&, const ChildName&) = default;
};

/// Of a whole search. Each execution hands its part on to what it leaves open, in equal parts, and keeps the rest: what
/// is seen and what is open are together always the whole.
inline constexpr std::uint64_t whole_weight = UINT64_MAX;

struct Task {
  Schedule schedule = {};                 ///< of the graph; no turns: the whole search
  std::vector<std::uint32_t> added = {};  ///< by turn: as which of all events this one was added, from 1 on
  std::vector<ChildName> children = {};   ///< threads beyond the program's, by number
  // Of the alternative that made it (SearchOptions::shard_levels).
  std::uint32_t level = 0;
  std::uint64_t path = 0;
  std::uint64_t offered = 0;
  std::uint64_t weight = whole_weight;

  friend bool operator==(const Task&, const Task&) = default;
};

/// One line.
std::string to_text(const Task& task);
/// Or what is wrong with the line.
ring::Result<Task> task_from(std::string_view line);

/// How far a search is.
struct Tally {
  std::uint64_t complete = 0;
  std::uint64_t blocked = 0;
  std::uint64_t share = 0;  ///< of whole_weight

  friend bool operator==(const Tally&, const Tally&) = default;
};

/// A search that has not come to its end. As it is made: one that has not begun.
struct OpenSearch {
  std::vector<Task> tasks{Task{}};  ///< the last is the next
  /// How it was found out which words are accessed in several widths: each leads to an access in another one.
  std::vector<Task> widths = {};
  Tally so_far = {};
  std::uint32_t notes = 0;  ///< SearchOptions::notes of what was searched before

  friend bool operator==(const OpenSearch&, const OpenSearch&) = default;
};

}  // namespace ringside::explore
