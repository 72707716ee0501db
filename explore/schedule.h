// SPDX-License-Identifier: Apache-2.0
//
// An execution as a short text: whose turn it is at each event, and where an event is not the one that would come by
// itself. "0x3,1.2,1#9e2f0c41": three events of thread 0, then one of thread 1 that passes over two newer stores, then
// one more of thread 1. "2w8" and "2w8+4" are accesses of a word of several widths, 8 bytes wide. Behind the # is a sum
// over what the events were, so that another program is found out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "explore/graph.h"
#include "ring/result.h"

namespace ringside::explore {

/// One event of an execution.
struct Turn {
  std::uint8_t thread = 0;
  /// A load: how many newer stores it passes over. A store: how many it goes before in the modification order. A
  /// choice: the number chosen.
  std::uint32_t passed = 0;
  /// Where the access is of a word of several widths: how wide that is, else 0, and where in it the access begins.
  std::uint8_t word_bytes = 0;
  std::uint8_t offset = 0;

  friend bool operator==(const Turn&, const Turn&) = default;
};

struct Schedule {
  std::vector<Turn> turns;
  std::uint32_t sum = 0;  ///< of the events that they stand for

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// That leads to the graph.
Schedule schedule_of(const Graph& graph);
/// The same graph, its events done in another order that agrees with program order and reads-from.
Schedule schedule_of(const Graph& graph, const std::vector<EventId>& order);
/// Over kinds, orders and widths of the graph's first `count` events.
std::uint32_t sum_of(const Graph& graph, std::size_t count);

std::string to_text(const Schedule& schedule);
/// Or what is wrong with the text.
ring::Result<Schedule> schedule_from(std::string_view text);

}  // namespace ringside::explore
