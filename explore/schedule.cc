// SPDX-License-Identifier: Apache-2.0
#include "explore/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>
#include <utility>

#include "explore/take_text.h"

namespace ringside::explore {
namespace {

/// The stores of each location that have been made so far, by how they stand in the whole modification order.
using Made = std::vector<std::set<std::size_t>>;

std::uint32_t passed_over(const std::set<std::size_t>& made, std::size_t position) {
  return static_cast<std::uint32_t>(std::distance(made.upper_bound(position), made.end()));
}

std::uint32_t passed_by(const Graph& graph, EventId id, Made& made) {
  const Event& event = graph.at(id);
  if (event.kind == EventKind::choice) return static_cast<std::uint32_t>(event.value);
  if (!accesses(event.kind)) return 0;
  auto& here = made[event.location];
  const std::size_t position = graph.position_of(event, id);
  const std::uint32_t passed = passed_over(here, position);
  if (writes(event.kind)) here.insert(position);
  return passed;
}

std::uint32_t sum_over(const Graph& graph, const std::vector<EventId>& order, std::size_t count) {
  std::uint32_t sum = 2166136261u;  // FNV-1a
  const auto add = [&sum](std::size_t part) { sum = (sum ^ static_cast<std::uint32_t>(part)) * 16777619u; };
  for (const EventId id : order) {
    if (count-- == 0) break;
    const Event& event = graph.at(id);
    add(id.thread);
    add(static_cast<std::size_t>(event.kind));
    add(static_cast<std::size_t>(event.order));
    if (event.kind == EventKind::choice) add(event.expected);
    if (!accesses(event.kind)) continue;
    add(graph.location(event.location).size_bytes);
    add(event.bytes);
  }
  return sum;
}

}  // namespace

std::uint32_t sum_of(const Graph& graph, std::size_t count) { return sum_over(graph, graph.order(), count); }

Schedule schedule_of(const Graph& graph) { return schedule_of(graph, graph.order()); }

Schedule schedule_of(const Graph& graph, const std::vector<EventId>& order) {
  Schedule schedule;
  Made made(graph.location_count());
  for (const EventId id : order) {
    const Event& event = graph.at(id);
    Turn turn{.thread = static_cast<std::uint8_t>(id.thread), .passed = passed_by(graph, id, made)};
    if (accesses(event.kind) && event.bytes != 0xff) {
      turn.word_bytes = graph.location(event.location).size_bytes;
      turn.offset = static_cast<std::uint8_t>(std::countr_zero(event.bytes));
    }
    schedule.turns.push_back(turn);
  }
  schedule.sum = sum_over(graph, order, order.size());
  return schedule;
}

std::string to_text(const Schedule& schedule) {
  std::string text;
  const auto& turns = schedule.turns;
  for (std::size_t i = 0; i < turns.size();) {
    std::size_t same = 1;
    while (i + same < turns.size() && turns[i + same] == turns[i]) ++same;
    if (i > 0) text += ',';
    text += fmt::format("{}", turns[i].thread);
    if (turns[i].passed != 0) text += fmt::format(".{}", turns[i].passed);
    if (turns[i].word_bytes != 0) text += fmt::format("w{}", turns[i].word_bytes);
    if (turns[i].offset != 0) text += fmt::format("+{}", turns[i].offset);
    if (same > 1) text += fmt::format("x{}", same);
    i += same;
  }
  return text + fmt::format("#{:08x}", schedule.sum);
}

ring::Result<Schedule> schedule_from(std::string_view text) {
  const auto fault = [text](std::size_t rest) {
    return ring::error("read a schedule",
                       fmt::format("unexpected character {} of \"{}\"", text.size() - rest + 1, text),
                       "copy the whole of what the failure said");
  };
  constexpr std::uint32_t most_turns = most_threads * most_events;
  Schedule schedule;
  std::string_view rest = text;
  while (!rest.empty() && rest.front() != '#') {
    std::uint32_t thread = 0;
    std::uint32_t passed = 0;
    std::uint32_t same = 1;
    std::uint32_t word = 0;
    std::uint32_t offset = 0;
    if (!schedule.turns.empty() && !take(rest, ',')) return fault(rest.size());
    if (!take_number(rest, thread) || thread >= most_threads) return fault(rest.size());
    if (take(rest, '.') && !take_number(rest, passed)) return fault(rest.size());
    if (take(rest, 'w') && (!take_number(rest, word) || word > 8 || !std::has_single_bit(word)))
      return fault(rest.size());
    if (take(rest, '+') && (!take_number(rest, offset) || offset >= word)) return fault(rest.size());
    if (take(rest, 'x') && !take_number(rest, same)) return fault(rest.size());
    if (same == 0 || same > most_turns - schedule.turns.size()) return fault(rest.size());
    schedule.turns.insert(schedule.turns.end(), same,
                          {.thread = static_cast<std::uint8_t>(thread),
                           .passed = passed,
                           .word_bytes = static_cast<std::uint8_t>(word),
                           .offset = static_cast<std::uint8_t>(offset)});
  }
  if (!take(rest, '#') || rest.size() != 8) return fault(rest.size());
  if (!is_number(rest, schedule.sum, 16)) return fault(8);
  return schedule;
}

}  // namespace ringside::explore
