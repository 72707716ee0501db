// SPDX-License-Identifier: Apache-2.0
#include "explore/memory_model.h"

#include <algorithm>
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

/// Sets of events, one a row.
class EventSets {
 public:
  EventSets(std::size_t rows, std::size_t events) : words_((events + 63) / 64), bits_(rows * words_, 0) {}

  void add(std::size_t row, std::size_t event) { at(row)[event / 64] |= std::uint64_t{1} << event % 64; }
  /// From `first` to the one before `end`.
  void add_range(std::size_t row, std::size_t first, std::size_t end) {
    for (std::size_t event = first; event < end; ++event) add(row, event);
  }
  void take_out(std::size_t row, std::size_t event) { at(row)[event / 64] &= ~(std::uint64_t{1} << event % 64); }
  bool has(std::size_t row, std::size_t event) const { return (at(row)[event / 64] >> event % 64 & 1) != 0; }
  void add_all(std::size_t row, const EventSets& other, std::size_t others_row) {
    for (std::size_t word = 0; word < words_; ++word) at(row)[word] |= other.at(others_row)[word];
  }
  bool meets(std::size_t row, const EventSets& other, std::size_t others_row) const {
    for (std::size_t word = 0; word < words_; ++word) {
      if ((at(row)[word] & other.at(others_row)[word]) != 0) return true;
    }
    return false;
  }

 private:
  std::uint64_t* at(std::size_t row) { return &bits_[row * words_]; }
  const std::uint64_t* at(std::size_t row) const { return &bits_[row * words_]; }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// Choices and links are none to C++.
bool counts(const Event& event) { return event.kind != EventKind::choice && !(event.link && reads(event.kind)); }

bool same_location(const Event& one, const Event& other) {
  return accesses(one.kind) && accesses(other.kind) && one.location == other.location && (one.bytes & other.bytes) != 0;
}

/// The nearest event of the thread, in the direction, that is not of this one's location; size() if there is none.
std::size_t neighbour(const Graph& graph, const Numbering& events, std::size_t number, bool after) {
  const EventId id = events.id(number);
  const std::size_t first = number - id.index;
  const std::size_t end = first + graph.count(id.thread);
  const Event& event = events.event(number);
  for (std::size_t other = number; after ? ++other < end : other-- > first;) {
    if (counts(events.event(other)) && !same_location(event, events.event(other))) return other;
  }
  return events.size();
}

/// What happens before it, itself included.
Clock known_at(const Graph& graph, const Event& event) {
  return event.question == 0 ? event.happens_before : graph.known_to(event);
}

/// RC11's condition on sequentially consistent events, psc has no cycle, where none of them is a fence: then psc is scb
/// between them (program order, happens-before from one location over others to another, happens-before of one
/// location, modification order and from-read).
bool accesses_have_an_order(const Graph& graph, const Numbering& events, const std::vector<std::size_t>& members) {
  struct Member {
    EventId id;
    const Event* event;
    Clock known;
    Clock before_known;  ///< of its neighbour before
    std::size_t position;
    std::size_t after;
    bool has_before;
  };
  std::vector<Member> all;
  all.reserve(members.size());
  for (const std::size_t number : members) {
    const Event& event = events.event(number);
    const std::size_t before = neighbour(graph, events, number, false);
    const bool has_before = before != events.size();
    all.push_back({.id = events.id(number),
                   .event = &event,
                   .known = known_at(graph, event),
                   .before_known = has_before ? known_at(graph, events.event(before)) : Clock{},
                   .position = graph.position_of(event, events.id(number)),
                   .after = neighbour(graph, events, number, true),
                   .has_before = has_before});
  }
  const auto leads = [&](const Member& a, const Member& b) {
    if (a.id.thread == b.id.thread && a.id.index < b.id.index) return true;
    if (same_location(*a.event, *b.event)) {
      // Reads-from alone is no such step.
      return b.known[a.id.thread] > a.id.index || (writes(b.event->kind) && a.position < b.position);
    }
    if (a.after == events.size() || !b.has_before) return false;
    const EventId after = events.id(a.after);
    return b.before_known[after.thread] > after.index;
  };
  Edges edges(all.size());
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < all.size(); ++b) {
      if (a != b && leads(all[a], all[b])) edges.add(a, b);
    }
  }
  return edges.acyclic();
}

/// The same with fences. Each step of psc leads from a member, or from what happens after such a fence, by one relation
/// to another or to what happens before such a fence. The relations are sets of events, made of runs of each thread's:
/// what happens after an event grows along a thread.
class FencedOrder {
 public:
  FencedOrder(const Graph& graph, const Numbering& events, const std::vector<std::size_t>& members)
      : graph_(graph),
        events_(events),
        members_(members),
        later_(events.size(), events.size()),
        across_(events.size(), events.size()) {
    facts_.reserve(events_.size());
    for (std::size_t number = 0; number < events_.size(); ++number) facts_.push_back(fact_of(number));
    find_later();
  }

  bool exists() {
    const std::size_t count = members_.size();
    EventSets reached(count, events_.size());    // by scb
    EventSets coherent(count, events_.size());   // fences: by extended coherence
    EventSets led_from(count, events_.size());   // what leads to the member
    EventSets preceding(count, events_.size());  // fences: what happens before
    EventSets steps(events_.size(), events_.size());
    EventSets coherence(events_.size(), events_.size());
    std::vector<bool> looked_up(events_.size(), false);
    for (std::size_t member = 0; member < count; ++member) {
      const std::size_t a = members_[member];
      led_from.add(member, a);
      if (fence(a)) add_earlier(a, preceding, member);
      led_from.add_all(member, preceding, member);
      for (std::size_t x = 0; x < events_.size(); ++x) {
        if (x != a && !(fence(a) && later_.has(a, x))) continue;
        if (!looked_up[x]) {
          looked_up[x] = true;
          look_up(x, steps, coherence);
        }
        reached.add_all(member, steps, x);
        coherent.add_all(member, coherence, x);
      }
    }
    Edges edges(count);
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        if (a == b) continue;
        const bool fences = fence(members_[a]) && fence(members_[b]);
        const bool before = reached.meets(a, led_from, b) ||
                            (fences && (later_.has(members_[a], members_[b]) || coherent.meets(a, preceding, b)));
        if (before) edges.add(a, b);
      }
    }
    return edges.acyclic();
  }

 private:
  /// What is asked again and again of an event.
  struct Fact {
    const Event* event = nullptr;
    EventId id;
    Clock known;               ///< what happens before it, itself included
    std::size_t position = 0;  ///< in its modification order
    std::size_t after = 0;     ///< neighbours
    std::size_t before = 0;
  };

  Fact fact_of(std::size_t number) const {
    const Event& event = events_.event(number);
    const EventId id = events_.id(number);
    return {.event = &event,
            .id = id,
            .known = known_at(graph_, event),
            .position = accesses(event.kind) ? graph_.position_of(event, id) : 0,
            .after = neighbour(graph_, events_, number, true),
            .before = neighbour(graph_, events_, number, false)};
  }

  bool fence(std::size_t event) const { return facts_[event].event->kind == EventKind::fence; }

  std::size_t end_of_thread(std::size_t event) const {
    return event - facts_[event].id.index + graph_.count(facts_[event].id.thread);
  }

  /// Of each event those that happen after it, itself among them, and those whose neighbour before does.
  void find_later() {
    for (std::size_t thread = 0; thread < most_threads; ++thread) {
      const std::size_t count = graph_.count(thread);
      if (count == 0) continue;
      const std::size_t first = events_.number({static_cast<std::uint16_t>(thread), 0});
      for (std::size_t event = 0; event < events_.size(); ++event) {
        const Fact& fact = facts_[event];
        if (fact.known[thread] > 0) later_.add(first + fact.known[thread] - 1, event);
        if (fact.before == events_.size()) continue;
        const std::size_t known = facts_[fact.before].known[thread];
        if (known > 0) across_.add(first + known - 1, event);
      }
      for (std::size_t index = count - 1; index-- > 0;) {
        later_.add_all(first + index, later_, first + index + 1);
        across_.add_all(first + index, across_, first + index + 1);
      }
    }
  }

  void add_earlier(std::size_t event, EventSets& to, std::size_t row) const {
    for (std::size_t thread = 0; thread < most_threads; ++thread) {
      const std::size_t known = facts_[event].known[thread];
      if (known == 0) continue;
      const std::size_t first = events_.number({static_cast<std::uint16_t>(thread), 0});
      to.add_range(row, first, first + known);
    }
  }

  /// (reads-from, modification order and from-read)+ between two of one location.
  bool extended_coherence(std::size_t a, std::size_t b) const {
    const Event& from = *facts_[a].event;
    const Event& to = *facts_[b].event;
    if (writes(from.kind) && reads(to.kind)) return facts_[a].position <= facts_[b].position;
    if (!reads(from.kind) || !reads(to.kind)) return facts_[a].position < facts_[b].position;
    // Two reads: of a byte that both read the second sees a later store.
    const auto common = static_cast<std::uint8_t>(from.bytes & to.bytes);
    return facts_[a].position < graph_.last_writer(to.location, facts_[b].position, common);
  }

  /// scb of one event, and its extended coherence.
  void look_up(std::size_t a, EventSets& steps, EventSets& coherence) const {
    const Fact& from = facts_[a];
    if (from.after != events_.size()) steps.add_all(a, across_, from.after);
    if (accesses(from.event->kind)) {
      const Location& location = graph_.location(from.event->location);
      for (const auto* const of_one : {&location.stores, &location.loads}) {
        for (const EventId id : *of_one) look_up_one(a, events_.number(id), steps, coherence);
      }
    }
    steps.add_range(a, a + 1, end_of_thread(a));
  }

  void look_up_one(std::size_t a, std::size_t b, EventSets& steps, EventSets& coherence) const {
    if (a == b || !same_location(*facts_[a].event, *facts_[b].event)) return;
    if (extended_coherence(a, b)) coherence.add(a, b);
    // Reads-from alone is no such step.
    const bool later = writes(facts_[b].event->kind) && facts_[a].position < facts_[b].position;
    if (later || later_.has(a, b)) {
      steps.add(a, b);
    } else {
      steps.take_out(a, b);
    }
  }

  const Graph& graph_;
  const Numbering& events_;
  const std::vector<std::size_t>& members_;
  std::vector<Fact> facts_;
  EventSets later_;
  EventSets across_;
};

/// Whether there is an order of the sequentially consistent events, as RC11 wants one.
bool sequential_order(const Graph& graph) {
  const Numbering events(graph);
  std::vector<std::size_t> members;
  bool fences = false;
  for (std::size_t number = 0; number < events.size(); ++number) {
    if (events.event(number).order != Order::seq_cst) continue;
    members.push_back(number);
    fences = fences || events.event(number).kind == EventKind::fence;
  }
  return fences ? FencedOrder(graph, events, members).exists() : accesses_have_an_order(graph, events, members);
}

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
      return at_most_one_sequential(graph) || planted(Fault::sequence_not_agreed) || sequential_order(graph);
  }
  return true;
}

}  // namespace ringside::explore
