// SPDX-License-Identifier: Apache-2.0
//
// Each failing graph is put into its simplest order by Dijkstra's algorithm over what may have been done so far and who
// did the last event; the graphs are those that the search meets when it goes on behind its first failure.
#include "explore/minimise.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "explore/schedule.h"

namespace ringside::explore {
namespace {

constexpr std::size_t nobody = most_threads;
/// States of one graph; what has more is left in the order in which it was found.
constexpr std::size_t most_states = 200'000;
/// One of these outweighs all changes of threads that cost nothing.
constexpr std::size_t weight = 1u << 16;
/// That the search goes on for, beside failing ones.
constexpr std::uint64_t most_executions = 20'000;

/// How much of each thread has been done, and who did the last of it.
struct State {
  std::array<std::uint16_t, most_threads> done{};
  std::size_t thread = nobody;

  friend auto operator<=>(const State&, const State&) = default;
};

struct Reached {
  std::size_t price = SIZE_MAX;
  Cost cost = {};
  State from = {};
  bool settled = false;
};

class Orders {
 public:
  explicit Orders(const Graph& graph) : graph_(graph) {}

  SimplestOrder simplest() {
    reach({}, {.price = 0});
    while (!queue_.empty() && states_.size() <= most_states) {
      const State state = queue_.top().second;
      queue_.pop();
      Reached& here = states_[state];
      if (std::exchange(here.settled, true)) continue;
      if (is_whole(state)) return back_from(state);
      go_on(state, here);
    }
    return {.events = graph_.order(), .cost = as_found()};
  }

  Cost as_found() const {
    Cost cost;
    State state;
    for (const EventId id : graph_.order()) {
      if (state.thread != nobody && state.thread != id.thread && !rests(state, state.thread)) ++cost.interruptions;
      if (is_stale(state, id)) ++cost.stale;
      ++state.done[id.thread];
      state.thread = id.thread;
    }
    return cost;
  }

 private:
  bool is_whole(const State& state) const {
    for (std::size_t thread = 0; thread < most_threads; ++thread) {
      if (state.done[thread] != graph_.count(thread)) return false;
    }
    return true;
  }

  const Event* next(const State& state, std::size_t thread) const {
    const std::uint16_t index = state.done[thread];
    if (index == graph_.count(thread)) return nullptr;
    return &graph_.at({static_cast<std::uint16_t>(thread), index});
  }

  static bool made(const State& state, EventId id) { return id.initial() || id.index < state.done[id.thread]; }
  static bool possible(const State& state, const Event& event) {
    return !reads(event.kind) || made(state, event.reads_from);
  }

  /// Whether stores that were made come after the event's own place in the modification order.
  bool is_stale(const State& state, EventId id) const {
    const Event& event = graph_.at(id);
    if (!accesses(event.kind) || event.link) return false;
    const auto& stores = graph_.location(event.location).stores;
    for (std::size_t at = graph_.position_of(event, id); at < stores.size(); ++at) {
      if (made(state, stores[at]) && (graph_.at(stores[at]).bytes & event.bytes) != 0) return true;
    }
    return false;
  }

  /// Whether somebody else's turn takes nothing from the thread.
  bool rests(const State& state, std::size_t thread) const {
    const Event* const event = next(state, thread);
    return event == nullptr || (event->awaits && !possible(state, *event));
  }

  void go_on(const State& state, const Reached& here) {
    if (state.thread != nobody) {
      const Event* const own = next(state, state.thread);
      const bool halfway = own != nullptr && own->kind == EventKind::exclusive_store;
      if (halfway) return take(state, here, state.thread);
    }
    for (std::size_t thread = 0; thread < most_threads; ++thread) take(state, here, thread);
  }

  void take(const State& state, const Reached& here, std::size_t thread) {
    const Event* const event = next(state, thread);
    if (event == nullptr || !possible(state, *event)) return;
    const EventId id{static_cast<std::uint16_t>(thread), state.done[thread]};
    Reached there{.cost = here.cost, .from = state};
    const bool changes = state.thread != nobody && state.thread != thread;
    if (changes && !rests(state, state.thread)) ++there.cost.interruptions;
    if (is_stale(state, id)) ++there.cost.stale;
    there.price = here.price + (there.cost.sum() - here.cost.sum()) * weight + (changes ? 1 : 0);
    State after = state;
    ++after.done[thread];
    after.thread = thread;
    reach(after, there);
  }

  void reach(const State& state, const Reached& way) {
    Reached& known = states_[state];
    if (known.price <= way.price) return;
    known = way;
    queue_.emplace(way.price, state);
  }

  SimplestOrder back_from(State state) const {
    SimplestOrder order{.events = {}, .cost = states_.at(state).cost};
    while (state.thread != nobody) {
      const auto index = static_cast<std::uint16_t>(state.done[state.thread] - 1);
      order.events.push_back({static_cast<std::uint16_t>(state.thread), index});
      state = states_.at(state).from;
    }
    std::reverse(order.events.begin(), order.events.end());
    return order;
  }

  const Graph& graph_;
  std::map<State, Reached> states_;
  using Entry = std::pair<std::size_t, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

struct Candidate {
  Cost cost = {};
  std::size_t events = 0;
  std::string schedule = {};
  std::size_t number = 0;  ///< in the order in which they were found

  std::array<std::size_t, 3> key() const { return {cost.sum(), events, number}; }
};

Candidate candidate_of(const Graph& graph, std::size_t number) {
  const SimplestOrder order = simplest_order(graph);
  return {.cost = order.cost,
          .events = graph.size(),
          .schedule = to_text(schedule_of(graph, order.events)),
          .number = number};
}

/// The candidate done once more, if that fails as `found` did.
std::optional<Failure> replayed(const Program& program, const SearchOptions& options, const Candidate& candidate,
                                const Failure& found) {
  SearchResult result = replay(program, candidate.schedule, options);
  if (!result.failure || !same_kind(*result.failure, found)) return std::nullopt;
  // In another order the failure may have come before the end of the schedule.
  Failure failure = std::move(*result.failure);
  failure.schedule = to_text(schedule_of(failure.graph));
  return failure;
}

}  // namespace

Cost cost_of(const Graph& graph) { return Orders(graph).as_found(); }

SimplestOrder simplest_order(const Graph& graph) { return Orders(graph).simplest(); }

Minimum minimise(const Program& program, const Failure& failure, const SearchOptions& options, std::uint64_t most) {
  // The search may not come as far as the failure again.
  const Candidate found = candidate_of(failure.graph, 0);
  std::vector<Candidate> candidates{found};
  SearchOptions wider = options;
  wider.questions = false;  // or a load that only answers one reads older stores than it must
  wider.shard = 0;
  wider.shards = 1;
  wider.observe = {};
  wider.most_executions = std::min(options.most_executions, most_executions);
  wider.anew = [&] { candidates = {found}; };
  wider.another = [&](const Failure& other) {
    if (same_kind(other, failure)) candidates.push_back(candidate_of(other.graph, candidates.size()));
    return candidates.size() <= most;
  };
  const SearchResult rest = search(program, wider);
  const bool all = !rest.failure && !rest.cut;
  const std::uint64_t compared = std::max<std::uint64_t>(candidates.size() - 1, 1);
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.key() < b.key(); });
  constexpr std::size_t most_replays = 16;
  candidates.resize(std::min(candidates.size(), most_replays));
  for (const Candidate& candidate : candidates) {
    auto simplest = replayed(program, wider, candidate, failure);
    if (simplest) {
      return {.failure = std::move(*simplest), .cost = candidate.cost, .compared = compared, .all = all};
    }
  }
  return {.failure = failure, .cost = cost_of(failure.graph), .compared = compared, .all = all};
}

}  // namespace ringside::explore
