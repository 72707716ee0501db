// SPDX-License-Identifier: Apache-2.0
#include "explore/search.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "explore/engine.h"
#include "explore/fault.h"

namespace ringside::explore {

thread_local Engine* Engine::current = nullptr;

Engine::Engine(const Program& program, const SearchOptions& options) : program_(program), options_(options) {
  assert(options.shard < options.shards);
  assert(!program.threads.empty() && program.threads.size() <= most_threads);
  for (std::size_t thread = 0; thread < program.threads.size(); ++thread) {
    fibers_.push_back(std::make_unique<Fiber>(options.stack_bytes));
  }
  set_rings();
}

/// A branch on top of the others. Those that were popped are used again, so that a search allocates no more memory when
/// it has reached its depth.
Branch& Engine::push_branch() {
  if (depth_ == branches_.size()) branches_.push_back(std::make_unique<Branch>());
  Branch& branch = *branches_[depth_++];
  branch.graph.clear();
  branch.alternatives.clear();
  return branch;
}

/// Leaves the alternative for later.
void Engine::remember(Alternative alternative) {
  alternative.level = level_ + 1;
  alternative.path = (path_ ^ ++offered_) * 0x9e3779b97f4a7c15u;
  alternative.path ^= alternative.path >> 32;
  alternatives().push_back(alternative);
  ++unweighted_;
}

/// Whether what lies at the end of that path is this search's to count. Beyond shard_levels it is followed by nobody
/// else.
bool Engine::mine(std::uint32_t level, std::uint64_t path) const {
  return level > options_.shard_levels || path % options_.shards == options_.shard;
}

bool Engine::over() {
  if (result_.failure) {
    const bool final = result_.failure->kind == FailureKind::nondeterministic || !options_.another;
    if (final || !options_.another(*result_.failure)) return true;
    result_.failure.reset();
  }
  if (result_.complete + result_.blocked >= options_.most_executions) {
    stopped_ = Bound::executions;
  } else if (options_.stop) {
    stopped_ = options_.stop({.complete = result_.complete, .blocked = result_.blocked, .share = share_});
  }
  return stopped_.has_value();
}

/// Makes the next graph out of what remains in the branches above that depth; false when nothing does.
bool Engine::next_graph(std::size_t above) {
  while (depth_ > above) {
    Branch& branch = *branches_[depth_ - 1];
    if (branch.alternatives.empty()) {
      --depth_;
      continue;
    }
    const Alternative alternative = branch.alternatives.back();
    branch.alternatives.pop_back();
    const bool others = alternative.level == options_.shard_levels && !mine(alternative.level, alternative.path);
    if (!others) {
      level_ = alternative.level;
      path_ = alternative.path;
      offered_ = 0;
      weight_ = alternative.weight;
      branch.graph.cut_back(alternative.stamp);
      if (apply(alternative)) {
        share_out();
        return true;
      }
    }
    share_ += alternative.weight;
  }
  return false;
}

bool Engine::apply(const Alternative& alternative) {
  switch (alternative.kind) {
    case Alternative::Kind::read_from:
      graph().set_reads_from(alternative.event, alternative.store);
      return true;
    case Alternative::Kind::place:
      graph().place(alternative.event, alternative.position);
      return true;
    case Alternative::Kind::revisit:
      return begin_revisit(alternative);
    case Alternative::Kind::choose:
      graph().at(alternative.event).value = alternative.position;
      return true;
  }
  return false;
}

/// A branch of its own in which the load reads from the store that came after it.
bool Engine::begin_revisit(const Alternative& alternative) {
  const Graph& old = graph();
  const Event store = old.at(alternative.event);
  const std::uint32_t load_stamp = old.at(alternative.load).stamp;
  std::array<std::size_t, most_threads> kept{};
  for (std::size_t thread = 0; thread < most_threads; ++thread) {
    std::size_t count = store.causes[thread];
    while (count < old.count(thread)) {
      const EventId next{static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(count)};
      if (old.at(next).stamp > load_stamp) break;
      ++count;
    }
    kept[thread] = count;
  }
  Branch& branch = push_branch();
  branch.graph = branches_[depth_ - 2]->graph;
  branch.graph.revisit(kept, alternative.load, alternative.event);
  if (place_revisiting(alternative)) return true;
  --depth_;
  return false;
}

/// Where the store of a revisit may stand, now that the load reads from it; false if nowhere.
bool Engine::place_revisiting(const Alternative& alternative) {
  Graph& here = graph();
  const Event& store = here.at(alternative.event);
  const Event& load = here.at(alternative.load);
  Clock before;
  if (load.question != 0) {
    before = here.question(load).view.known;
  } else if (alternative.load.index > 0) {
    before = here.at({alternative.load.thread, static_cast<std::uint16_t>(alternative.load.index - 1)}).happens_before;
  }
  possible_.clear();
  find_places(alternative.event);
  here.take_out(alternative.event);
  const std::size_t lowest = lowest_position(here, load.location, before, load.bytes);
  for (const std::size_t position : places_) {
    if (position <= lowest) continue;
    here.place(alternative.event, position);
    if (answered_before(alternative.load, lowest, position)) continue;
    if (may_read(alternative.load, position)) possible_.push_back(position);
  }
  if (possible_.empty()) return false;
  leave_places(alternative.event, store.stamp);
  return true;
}

/// Puts the store to the last of the possible places and leaves the others for later.
void Engine::leave_places(EventId store, std::uint32_t stamp) {
  for (std::size_t i = 0; i + 1 < possible_.size(); ++i) {
    remember({.kind = Alternative::Kind::place,
              .stamp = stamp,
              .event = store,
              .store = {},
              .load = {},
              .position = possible_[i]});
  }
  graph().place(store, possible_.back());
}

/// Where the store may stand: after all that it knows of, and not within a read-modify-write. Its own location's order
/// is looked at without it.
void Engine::find_places(EventId id) {
  Graph& here = graph();
  const Event& event = here.at(id);
  places_.clear();
  const std::size_t old = here.position(event.location, id);
  here.take_out(id);
  const std::vector<EventId>& others = here.location(event.location).stores;
  const auto splits = [&](std::size_t position) {
    return position <= others.size() && here.at(others[position - 1]).kind == EventKind::exclusive_store &&
           !planted(Fault::updates_are_split);
  };
  if (event.kind == EventKind::exclusive_store) {
    const EventId load{id.thread, static_cast<std::uint16_t>(id.index - 1)};
    const std::size_t position = here.position(event.location, here.at(load).reads_from) + 1;
    if (!splits(position)) places_.push_back(position);
  } else {
    Clock known = event.happens_before;
    known.set(id.thread, id.index);
    for (std::size_t position = lowest_position(here, event.location, known, event.bytes, id) + 1;
         position <= others.size() + 1; ++position) {
      if (!splits(position)) places_.push_back(position);
    }
  }
  here.place(id, old);
}

/// Earlier loads of the location that the store does not depend on might have read it, had it come first.
void Engine::offer_revisits(EventId store) {
  if (planted(Fault::no_revisits)) return;
  Graph& here = graph();
  const Event& event = here.at(store);
  for (const EventId load : here.location(event.location).loads) {
    if (load.index < event.causes[load.thread]) continue;
    const Event& reading = here.at(load);
    if (!of_its_place(reading, load, store)) continue;
    // What reads no byte of it, and need not read the store right before its own either.
    if ((reading.bytes & event.bytes) == 0 && reading.kind == EventKind::load && !reading.compares) continue;
    const std::uint32_t load_stamp = here.at(load).stamp;
    bool first = added_first(load, store);
    for (const EventId other : here.order()) {
      if (!first) break;
      const bool thrown_away =
          here.at(other).stamp > load_stamp && other.index >= event.causes[other.thread] && other != store;
      if (thrown_away) first = added_first(other, store);
    }
    if (!first) continue;
    remember({.kind = Alternative::Kind::revisit,
              .stamp = event.stamp,
              .event = store,
              .store = {},
              .load = load,
              .position = 0});
  }
}

/// Whether the event stands in the graph as it would be added without any alternative: a load of the last store, a
/// store at the end, the first choice, by what was there before it or what the new store depends on. Of all graphs that
/// differ in what is thrown away, exactly one is of that kind, and that one makes the revisit.
bool Engine::added_first(EventId id, EventId store) {
  Graph& here = graph();
  const Event& event = here.at(id);
  const Event& cause = here.at(store);
  if (event.kind == EventKind::fence || planted(Fault::revisits_by_all)) return true;
  if (event.kind == EventKind::choice) return event.value == 0 || planted(Fault::revisits_by_any_choice);
  const auto previous = [&](EventId other) {
    return here.at(other).stamp <= event.stamp || (other != store && other.index < cause.causes[other.thread]);
  };
  if (event.question != 0) return answers_first(id, store, previous);
  const Location& location = here.location(event.location);
  EventId last = event.reads_from;
  if (writes(event.kind)) {
    for (const EventId load : location.loads) {
      if (here.at(load).reads_from == id && previous(load)) return false;
    }
    last = id;
  }
  for (std::size_t position = here.position(event.location, last) + 1; position <= location.stores.size(); ++position) {
    const EventId later = here.store_at(event.location, position);
    if (event.kind == EventKind::load && (here.at(later).bytes & event.bytes) == 0) continue;
    if (later != store && previous(later)) return false;
  }
  return true;
}

void Engine::cut_by(Bound bound) {
  result_.cut = true;
  result_.bounds.push_back(bound);
}

std::string_view name_of(Bound bound) {
  switch (bound) {
    case Bound::executions:
      return "executions";
    case Bound::cost:
      return "cost";
    case Bound::chance:
      return "chance";
    case Bound::time:
      return "time";
    case Bound::signal:
      return "a signal";
  }
  return "?";
}

std::string_view name_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::failed:
      return "failed";
    case FailureKind::found:
      return "found";
    case FailureKind::data_race:
      return "data_race";
    case FailureKind::mixed_sizes:
      return "mixed_sizes";
    case FailureKind::use_after_release:
      return "use_after_release";
    case FailureKind::uninitialised_read:
      return "uninitialised_read";
    case FailureKind::deadlock:
      return "deadlock";
    case FailureKind::missed_wakeup:
      return "missed_wakeup";
    case FailureKind::busy_spin:
      return "busy_spin";
    case FailureKind::too_long:
      return "too_long";
    case FailureKind::nondeterministic:
      return "nondeterministic";
    case FailureKind::unmodelled:
      return "unmodelled";
    case FailureKind::use_after_free:
      return "use_after_free";
    case FailureKind::out_of_memory:
      return "out_of_memory";
    case FailureKind::crash:
      return "crash";
    case FailureKind::stack_overflow:
      return "stack_overflow";
    case FailureKind::crashed:
      return "crashed";
    case FailureKind::not_instrumented:
      return "not_instrumented";
  }
  return "?";
}

std::string_view name_of(const Failure& failure) {
  return failure.defect ? ring::name_of(*failure.defect) : name_of(failure.kind);
}

bool same_kind(const Failure& one, const Failure& other) {
  return one.kind == other.kind && one.defect == other.defect;
}

SearchResult search(const Program& program, const SearchOptions& options) { return Engine(program, options).run(); }

SearchResult continue_search(const Program& program, const SearchOptions& options, OpenSearch& open) {
  return Engine(program, options).run(open);
}

}  // namespace ringside::explore
