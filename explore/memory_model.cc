// SPDX-License-Identifier: Apache-2.0
#include "explore/memory_model.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ringside::explore {
namespace {

/// Events numbered from 0, thread after thread.
class Numbering {
 public:
  explicit Numbering(const Graph& graph) : graph_(graph) {
    for (std::size_t thread = 0; thread < most_threads; ++thread) {
      first_[thread] = ids_.size();
      for (std::size_t index = 0; index < graph.count(thread); ++index) {
        ids_.push_back({static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(index)});
      }
    }
  }

  std::size_t size() const { return ids_.size(); }
  EventId id(std::size_t number) const { return ids_[number]; }
  const Event& event(std::size_t number) const { return graph_.at(ids_[number]); }
  std::size_t number(EventId id) const { return first_[id.thread] + id.index; }

 private:
  const Graph& graph_;
  std::vector<EventId> ids_;
  std::array<std::size_t, most_threads> first_{};
};

/// A relation as successors of each event; says whether it has a cycle.
class Edges {
 public:
  explicit Edges(std::size_t events) : successors_(events), state_(events, State::fresh) {}

  void add(std::size_t from, std::size_t to) { successors_[from].push_back(to); }

  bool acyclic() {
    for (std::size_t start = 0; start < successors_.size(); ++start) {
      if (state_[start] == State::fresh && !visit(start)) return false;
    }
    return true;
  }

 private:
  enum class State : std::uint8_t { fresh, open, done };

  bool visit(std::size_t start) {
    std::vector<std::pair<std::size_t, std::size_t>> path{{start, 0}};
    state_[start] = State::open;
    while (!path.empty()) {
      auto& [event, next] = path.back();
      if (next == successors_[event].size()) {
        state_[event] = State::done;
        path.pop_back();
        continue;
      }
      const std::size_t successor = successors_[event][next++];
      if (state_[successor] == State::open) return false;
      if (state_[successor] == State::done) continue;
      state_[successor] = State::open;
      path.emplace_back(successor, 0);
    }
    return true;
  }

  std::vector<std::vector<std::size_t>> successors_;
  std::vector<State> state_;
};

/// Modification order, and from each load to the store after the one it read.
void add_store_orders(const Graph& graph, const Numbering& events, Edges& edges) {
  for (std::size_t number = 0; number < graph.location_count(); ++number) {
    const Location& location = graph.location(number);
    for (std::size_t i = 1; i < location.stores.size(); ++i) {
      edges.add(events.number(location.stores[i - 1]), events.number(location.stores[i]));
    }
    for (const EventId load : location.loads) {
      const std::size_t read = graph.position(number, graph.at(load).reads_from);
      if (read < location.stores.size()) edges.add(events.number(load), events.number(location.stores[read]));
    }
  }
}

bool sequentially_consistent(const Graph& graph) {
  const Numbering events(graph);
  Edges edges(events.size());
  add_store_orders(graph, events, edges);
  for (std::size_t number = 0; number < events.size(); ++number) {
    const EventId id = events.id(number);
    const Event& event = events.event(number);
    if (id.index > 0) edges.add(number - 1, number);
    if (reads(event.kind) && !event.reads_from.initial()) edges.add(events.number(event.reads_from), number);
  }
  return edges.acyclic();
}

// What an event is to x86: a locked instruction or fence is ordered with everything, and so is what stands behind a
// sequentially consistent store, which compilers make an exchange.
enum class Tso : std::uint8_t { load, store, fence };

Tso tso_kind(const Event& event) {
  switch (event.kind) {
    case EventKind::load:
      return Tso::load;
    case EventKind::store:
      return event.order == Order::seq_cst ? Tso::fence : Tso::store;
    case EventKind::exclusive_load:
    case EventKind::exclusive_store:
      return Tso::fence;
    case EventKind::fence:
      return event.order == Order::seq_cst ? Tso::fence : Tso::load;
    case EventKind::choice:
      return Tso::load;  // what only loads wait for orders nothing
  }
  return Tso::fence;
}

bool total_store_order(const Graph& graph) {
  const Numbering events(graph);
  Edges edges(events.size());
  add_store_orders(graph, events, edges);
  for (std::size_t number = 0; number < events.size(); ++number) {
    const EventId id = events.id(number);
    const Event& event = events.event(number);
    const Tso kind = tso_kind(event);
    // To the next of each kind: the rest follows through these.
    std::array<bool, 3> met{};
    for (std::size_t later = number + 1; later < number + graph.count(id.thread) - id.index; ++later) {
      const Tso other = tso_kind(events.event(later));
      if (std::exchange(met[static_cast<std::size_t>(other)], true)) continue;
      if (kind != Tso::store || other != Tso::load) edges.add(number, later);
    }
    // Of its own stores a thread may know before anybody else does.
    if (reads(event.kind) && !event.reads_from.initial() && event.reads_from.thread != id.thread) {
      edges.add(events.number(event.reads_from), number);
    }
  }
  return edges.acyclic();
}

/// RC11's condition on sequentially consistent events: psc has no cycle.
class SequentialOrder {
 public:
  explicit SequentialOrder(const Graph& graph) : graph_(graph), events_(graph) {
    for (std::size_t number = 0; number < events_.size(); ++number) {
      if (events_.event(number).order != Order::seq_cst) continue;
      members_.push_back(number);
      several_threads_ = several_threads_ || events_.id(number).thread != events_.id(members_.front()).thread;
    }
  }

  bool exists() {
    if (!several_threads_) return true;  // program order is one
    Edges edges(members_.size());
    for (std::size_t a = 0; a < members_.size(); ++a) {
      for (std::size_t b = 0; b < members_.size(); ++b) {
        if (a != b && before(members_[a], members_[b])) edges.add(a, b);
      }
    }
    return edges.acyclic();
  }

 private:
  bool fence(std::size_t event) const { return events_.event(event).kind == EventKind::fence; }

  bool happens_before(std::size_t a, std::size_t b) const {
    const EventId id = events_.id(a);
    return a != b && events_.event(b).happens_before[id.thread] > id.index;
  }

  bool same_location(std::size_t a, std::size_t b) const {
    return accesses(events_.event(a).kind) && accesses(events_.event(b).kind) &&
           events_.event(a).location == events_.event(b).location;
  }

  std::size_t position(std::size_t event) const { return graph_.position_of(events_.event(event), events_.id(event)); }

  /// (reads-from, modification order and from-read)+ of one location.
  bool extended_coherence(std::size_t a, std::size_t b) const {
    if (a == b || !same_location(a, b)) return false;
    const bool read_by_b = writes(events_.event(a).kind) && reads(events_.event(b).kind);
    return read_by_b ? position(a) <= position(b) : position(a) < position(b);
  }

  /// The nearest event of the thread, in the direction, that is not of this one's location; size() if there is none.
  std::size_t neighbour(std::size_t event, bool after) const {
    const EventId id = events_.id(event);
    const std::size_t first = event - id.index;
    const std::size_t end = first + graph_.count(id.thread);
    for (std::size_t other = event; after ? ++other < end : other-- > first;) {
      if (events_.event(other).kind != EventKind::choice && !same_location(event, other)) return other;
    }
    return events_.size();
  }

  /// scb: program order, happens-before from one location over others to another, happens-before of one location,
  /// modification order and from-read.
  bool step(std::size_t a, std::size_t b) const {
    if (a == b) return false;
    const EventId from = events_.id(a);
    const EventId to = events_.id(b);
    if (from.thread == to.thread && from.index < to.index) return true;
    if (same_location(a, b)) {
      if (happens_before(a, b)) return true;
      // Reads-from alone is no such step.
      return writes(events_.event(b).kind) && position(a) < position(b);
    }
    const std::size_t after = neighbour(a, true);
    const std::size_t before = neighbour(b, false);
    return after != events_.size() && before != events_.size() && happens_before(after, before);
  }

  bool before(std::size_t a, std::size_t b) const {
    if (fence(a) && fence(b) && between_fences(a, b)) return true;
    for (std::size_t x = 0; x < events_.size(); ++x) {
      if (x != a && !(fence(a) && happens_before(a, x))) continue;
      for (std::size_t y = 0; y < events_.size(); ++y) {
        if (y != b && !(fence(b) && happens_before(y, b))) continue;
        if (step(x, y)) return true;
      }
    }
    return false;
  }

  bool between_fences(std::size_t a, std::size_t b) const {
    if (happens_before(a, b)) return true;
    for (std::size_t x = 0; x < events_.size(); ++x) {
      if (!happens_before(a, x)) continue;
      for (std::size_t y = 0; y < events_.size(); ++y) {
        if (happens_before(y, b) && extended_coherence(x, y)) return true;
      }
    }
    return false;
  }

  const Graph& graph_;
  Numbering events_;
  std::vector<std::size_t> members_;
  bool several_threads_ = false;
};

}  // namespace

std::string_view name_of(MemoryModel model) {
  switch (model) {
    case MemoryModel::sc:
      return "sc";
    case MemoryModel::tso:
      return "tso";
    case MemoryModel::c11:
      return "c11";
  }
  return "?";
}

Order effective(MemoryModel model, EventKind kind, Order asked) {
  if (model == MemoryModel::c11 || asked == Order::seq_cst || kind == EventKind::fence) return asked;
  if (kind == EventKind::load) return Order::acquire;
  return kind == EventKind::store ? Order::release : Order::acq_rel;
}

std::size_t lowest_position(const Graph& graph, std::size_t location, const Clock& known) {
  const Location& here = graph.location(location);
  const auto is_known = [&](EventId id) { return id.index < known[id.thread]; };
  std::size_t lowest = here.stores.size();
  while (lowest > 0 && !is_known(here.stores[lowest - 1])) --lowest;
  for (const EventId load : here.loads) {
    if (is_known(load)) lowest = std::max(lowest, graph.position(location, graph.at(load).reads_from));
  }
  return lowest;
}

bool consistent(const Graph& graph, MemoryModel model) {
  switch (model) {
    case MemoryModel::sc:
      return sequentially_consistent(graph);
    case MemoryModel::tso:
      return total_store_order(graph);
    case MemoryModel::c11:
      return SequentialOrder(graph).exists();
  }
  return true;
}

}  // namespace ringside::explore
