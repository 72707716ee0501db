// SPDX-License-Identifier: Apache-2.0
#include "explore/memory_model.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "explore/fault.h"

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
      const Event& event = graph.at(load);
      if (event.link || planted(Fault::reads_from_an_old_memory)) continue;
      for (std::size_t next = graph.position(number, event.reads_from); next < location.stores.size(); ++next) {
        if ((graph.at(location.stores[next]).bytes & event.bytes) == 0) continue;
        edges.add(events.number(load), events.number(location.stores[next]));
        break;
      }
    }
  }
}

/// From the stores that a load reads to the load; not from those of the thread `but`.
void add_sources(const Graph& graph, const Numbering& events, std::size_t load, Edges& edges,
                 std::size_t but = EventId::nobody) {
  const Event& event = events.event(load);
  if (!reads(event.kind) || event.link) return;
  graph.for_each_source(event.location, event.reads_from, event.bytes, [&](EventId source) {
    if (source.thread != but) edges.add(events.number(source), load);
  });
}

bool sequentially_consistent(const Graph& graph) {
  const Numbering events(graph);
  Edges edges(events.size());
  add_store_orders(graph, events, edges);
  for (std::size_t number = 0; number < events.size(); ++number) {
    const EventId id = events.id(number);
    if (id.index > 0) edges.add(number - 1, number);
    add_sources(graph, events, number, edges);
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
      return event.order == Order::seq_cst && !planted(Fault::sequential_store_is_plain) ? Tso::fence : Tso::store;
    case EventKind::exclusive_load:
      return event.link ? Tso::load : Tso::fence;  // a link orders nothing
    case EventKind::exclusive_store:
      return event.link && event.order != Order::seq_cst ? Tso::store : Tso::fence;
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
    add_sources(graph, events, number, edges, id.thread);
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
    }
    find_reach();
  }

  bool exists() {
    Edges edges(members_.size());
    for (std::size_t a = 0; a < members_.size(); ++a) {
      for (std::size_t b = 0; b < members_.size(); ++b) {
        if (a != b && before(members_[a], members_[b])) edges.add(a, b);
      }
    }
    return edges.acyclic();
  }

 private:
  /// Choices and links are none to C++.
  bool is_event(std::size_t event) const {
    const Event& here = events_.event(event);
    return here.kind != EventKind::choice && !(here.link && reads(here.kind));
  }

  bool fence(std::size_t event) const { return events_.event(event).kind == EventKind::fence; }

  bool happens_before(std::size_t a, std::size_t b) const {
    const EventId id = events_.id(a);
    const Event& later = events_.event(b);
    const bool plain = later.question == 0;
    return a != b && (plain ? later.happens_before : graph_.known_to(later))[id.thread] > id.index;
  }

  bool same_location(std::size_t a, std::size_t b) const {
    const Event& one = events_.event(a);
    const Event& other = events_.event(b);
    return accesses(one.kind) && accesses(other.kind) && one.location == other.location &&
           (one.bytes & other.bytes) != 0;
  }

  std::size_t position(std::size_t event) const { return graph_.position_of(events_.event(event), events_.id(event)); }

  /// (reads-from, modification order and from-read)+ of one location.
  bool extended_coherence(std::size_t a, std::size_t b) const {
    if (a == b || !same_location(a, b)) return false;
    const Event& from = events_.event(a);
    const Event& to = events_.event(b);
    if (writes(from.kind) && reads(to.kind)) return position(a) <= position(b);
    if (!reads(from.kind) || !reads(to.kind)) return position(a) < position(b);
    // Two reads: of a byte that both read the second sees a later store.
    const auto common = static_cast<std::uint8_t>(from.bytes & to.bytes);
    return position(a) < graph_.last_writer(to.location, position(b), common);
  }

  /// The nearest event of the thread, in the direction, that is not of this one's location; size() if there is none.
  std::size_t neighbour(std::size_t event, bool after) const {
    const EventId id = events_.id(event);
    const std::size_t first = event - id.index;
    const std::size_t end = first + graph_.count(id.thread);
    for (std::size_t other = event; after ? ++other < end : other-- > first;) {
      if (is_event(other) && !same_location(event, other)) return other;
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
    // Between fences every step but those of coherence is one of happens-before.
    if (fence(a) && fence(b)) return between_fences(a, b);
    for (std::size_t x = first_of(a); x < end_of(a); ++x) {
      if (x != a && !happens_before(a, x)) continue;
      for (std::size_t y = first_of(b); y < end_of(b); ++y) {
        if (y != b && !happens_before(y, b)) continue;
        if (step(x, y)) return true;
      }
    }
    return false;
  }

  // Where what stands for an event in a step may lie: for a fence, what it follows or precedes does.
  std::size_t first_of(std::size_t event) const { return fence(event) ? 0 : event; }
  std::size_t end_of(std::size_t event) const { return fence(event) ? events_.size() : event + 1; }

  bool between_fences(std::size_t a, std::size_t b) const {
    if (happens_before(a, b)) return true;
    if (!mixed_) return reach_.at(a).meets(reach_.at(b));
    for (std::size_t x = 0; x < events_.size(); ++x) {
      if (!happens_before(a, x)) continue;
      for (std::size_t y = 0; y < events_.size(); ++y) {
        if (happens_before(y, b) && extended_coherence(x, y)) return true;
      }
    }
    return false;
  }

  /// What lies behind and before a fence, by location: where widths are not mixed, extended coherence of one location
  /// is an order of whole numbers, and only the ends count.
  struct Reach {
    std::vector<std::size_t> earliest_behind;  ///< SIZE_MAX: nothing
    std::vector<std::size_t> latest_before;    ///< 0: nothing

    bool meets(const Reach& other) const {
      for (std::size_t location = 0; location < earliest_behind.size(); ++location) {
        if (earliest_behind[location] < other.latest_before[location]) return true;
      }
      return false;
    }
  };

  /// A store before the loads that read it, and these before the next store. From 1.
  std::size_t rank(std::size_t event) const { return 2 * position(event) + (reads(events_.event(event).kind) ? 2 : 1); }

  void find_reach() {
    std::vector<std::size_t> ranks(events_.size());
    for (std::size_t event = 0; event < events_.size(); ++event) {
      if (!accesses(events_.event(event).kind)) continue;
      ranks[event] = rank(event);
      mixed_ = mixed_ || events_.event(event).bytes != 0xff;
    }
    if (mixed_) return;
    for (const std::size_t member : members_) {
      if (fence(member)) reach_.emplace(member, reach_of(member, ranks));
    }
  }

  Reach reach_of(std::size_t of, const std::vector<std::size_t>& ranks) const {
    Reach reach{.earliest_behind = std::vector<std::size_t>(graph_.location_count(), SIZE_MAX),
                .latest_before = std::vector<std::size_t>(graph_.location_count(), 0)};
    for (std::size_t event = 0; event < events_.size(); ++event) {
      if (ranks[event] == 0) continue;
      const std::size_t location = events_.event(event).location;
      std::size_t& earliest = reach.earliest_behind[location];
      std::size_t& latest = reach.latest_before[location];
      if (happens_before(of, event)) earliest = std::min(earliest, ranks[event]);
      if (happens_before(event, of)) latest = std::max(latest, ranks[event]);
    }
    return reach;
  }

  const Graph& graph_;
  Numbering events_;
  std::vector<std::size_t> members_;
  std::unordered_map<std::size_t, Reach> reach_;  ///< of the fences
  bool mixed_ = false;                            ///< some location is accessed in several widths
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

std::size_t lowest_position(const Graph& graph, std::size_t location, const Clock& known, std::uint8_t bytes,
                            EventId but) {
  const Location& here = graph.location(location);
  const auto is_known = [&](EventId id) { return id.index < known[id.thread] && (graph.at(id).bytes & bytes) != 0; };
  std::size_t lowest = here.stores.size();
  while (lowest > 0 && !is_known(here.stores[lowest - 1])) --lowest;
  for (const EventId load : here.loads) {
    if (planted(Fault::reads_not_coherent)) break;
    const Event& event = graph.at(load);
    if (!is_known(load) || event.link || (!but.initial() && event.reads_from == but)) continue;
    const auto common = static_cast<std::uint8_t>(event.bytes & bytes);
    lowest = std::max(lowest, graph.last_writer(location, graph.position(location, event.reads_from), common));
  }
  return lowest;
}

namespace {

/// Of sequentially consistent events of one thread program order is the order.
bool at_most_one_sequential(const Graph& graph) {
  std::size_t threads = 0;
  for (std::size_t thread = 0; thread < most_threads; ++thread) threads += graph.sequential(thread) != 0 ? 1u : 0u;
  return threads <= 1;
}

}  // namespace

bool consistent(const Graph& graph, MemoryModel model) {
  switch (model) {
    case MemoryModel::sc:
      return sequentially_consistent(graph);
    case MemoryModel::tso:
      return total_store_order(graph);
    case MemoryModel::c11:
      return at_most_one_sequential(graph) || planted(Fault::sequence_not_agreed) || SequentialOrder(graph).exists();
  }
  return true;
}

}  // namespace ringside::explore
