// SPDX-License-Identifier: Apache-2.0
//
// Searches in one piece and in parts: for tests that compare them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explore/engine.h"

namespace ringside::explore {

/// What one or more searches have seen together.
struct Seen {
  Tally tally = {};
  std::multiset<std::vector<std::uint64_t>> shapes = {};
  std::string wrong = {};  ///< what should not have been

  friend bool operator==(const Seen&, const Seen&) = default;
};

inline SearchOptions observing(Seen& seen, const SearchOptions& options = {}) {
  SearchOptions observed = options;
  observed.observe = [&seen](const Graph& graph) { seen.shapes.insert(graph.shape()); };
  observed.anew = [&seen] { seen.shapes.clear(); };
  return observed;
}

inline void expect_clean(const SearchResult& result, Seen& seen) {
  if (result.failure) seen.wrong = result.failure->what;
}

inline Seen in_one_piece(const Program& program, const SearchOptions& options = {}) {
  Seen seen;
  OpenSearch open;
  expect_clean(continue_search(program, observing(seen, options), open), seen);
  if (!open.tasks.empty()) seen.wrong = "something is left open";
  seen.tally = open.so_far;
  return seen;
}

inline Task read_again(const Task& task, Seen& seen) {
  const auto again = task_from(to_text(task));
  if (!again || *again != task) seen.wrong = "a task is not read as it is written: " + to_text(task);
  return again.value_or(Task{});
}

/// Cut after so many executions; each part that is left is searched for itself, by a search that knows nothing but what
/// the task tells. A part that meets a word of several widths for the first time makes all void, since it is the whole
/// that begins anew.
inline Seen in_parts(const Program& program, std::uint64_t first, const SearchOptions& options = {}) {
  Seen seen;
  OpenSearch open;
  SearchOptions cut = observing(seen, options);
  cut.most_executions = first;
  expect_clean(continue_search(program, cut, open), seen);
  seen.tally = open.so_far;
  for (const Task& task : open.tasks) {
    OpenSearch part{.tasks = {read_again(task, seen)}, .widths = open.widths};
    bool anew = false;
    SearchOptions rest = observing(seen, options);
    rest.anew = [&] {
      anew = true;
      seen.shapes.clear();
      seen.tally = {};
    };
    expect_clean(continue_search(program, rest, part), seen);
    seen.tally.complete += part.so_far.complete;
    seen.tally.blocked += part.so_far.blocked;
    seen.tally.share += part.so_far.share;
    if (!anew) continue;
    if (part.widths.size() <= open.widths.size()) seen.wrong = "what was known of widths is forgotten";
    break;
  }
  return seen;
}

/// Cut again and again, a few executions at a time.
inline Seen in_steps(const Program& program, std::uint64_t step) {
  constexpr int most_steps = 100'000;
  Seen seen;
  OpenSearch open;
  SearchOptions options = observing(seen);
  options.most_executions = step;
  for (int i = 0; !open.tasks.empty() && seen.wrong.empty(); ++i) {
    expect_clean(continue_search(program, options, open), seen);
    for (Task& task : open.tasks) task = read_again(task, seen);
    if (i == most_steps) seen.wrong = "it does not come to its end";
  }
  seen.tally = open.so_far;
  return seen;
}

/// Every so many executions a search gives two of its open parts away while it goes on with the others; what was given
/// is searched in the same way. Of programs without mixed widths.
inline Seen in_gifts(const Program& program, std::uint64_t every) {
  Seen seen;
  std::vector<Task> left{Task{}};
  while (!left.empty() && seen.wrong.empty()) {
    OpenSearch open{.tasks = {read_again(left.back(), seen)}};
    left.pop_back();
    std::uint64_t executions = 0;
    Engine* giver = nullptr;
    SearchOptions options = observing(seen);
    options.stop = [&](const Tally&) -> std::optional<Bound> {
      if (++executions % every != 0) return std::nullopt;
      for (const Task& task : giver->give(2)) left.push_back(task);
      return std::nullopt;
    };
    Engine engine(program, options);
    giver = &engine;
    expect_clean(engine.run(open), seen);
    seen.tally.complete += open.so_far.complete;
    seen.tally.blocked += open.so_far.blocked;
    seen.tally.share += open.so_far.share;
    if (left.size() > 100'000) seen.wrong = "it does not come to its end";
  }
  return seen;
}

}  // namespace ringside::explore
