// SPDX-License-Identifier: Apache-2.0
#include "explore/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "explore/fiber.h"
#include "explore/races.h"

namespace ringside::explore {
namespace {

/// Another way to go on from an event: what remains to be visited when all after that event has been.
struct Alternative {
  enum class Kind : std::uint8_t {
    read_from,  ///< the load reads from `store`
    place,      ///< the store stands at `position` of its modification order
    revisit,    ///< `load`, added before, reads from the store
  };
  Kind kind = Kind::read_from;
  std::uint32_t stamp = 0;  ///< of the event
  EventId event;
  EventId store;
  EventId load;
  std::size_t position = 0;
};

/// A graph and what remains to be visited of it. A revisit begins another one.
struct Branch {
  Graph graph;
  std::vector<Alternative> alternatives;
};

/// What a thread carries from event to event.
struct ThreadState {
  enum class Status : std::uint8_t { ready, stuck, ended };

  Status status = Status::ready;
  std::size_t events = 0;  ///< of this run, so far
  Clock causes;
  Clock known;   ///< happens-before
  Clock seen;    ///< what an acquire fence would add
  Clock fenced;  ///< known at the last release fence
};

/// Thrown by fail where there is no fiber to leave.
struct Stopped {};

class Search;
thread_local Search* current = nullptr;

Event event_of(EventKind kind, Order order) {
  Event event;
  event.kind = kind;
  event.order = order;
  return event;
}

std::uint64_t native_load(std::uintptr_t address, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), size);
  return value;
}

class Search {
 public:
  Search(const Program& program, const SearchOptions& options) : program_(program), options_(options) {
    assert(!program.threads.empty() && program.threads.size() <= most_threads);
    for (std::size_t thread = 0; thread < program.threads.size(); ++thread) {
      fibers_.push_back(std::make_unique<Fiber>(options.stack_bytes));
    }
  }

  SearchResult run() {
    Search* const outer = std::exchange(current, this);
    branches_.emplace_back();
    do {
      execute();
      count();
    } while (!over() && next_graph());
    current = outer;
    return std::move(result_);
  }

  /// A load as `asked` describes it; where it stands and what it reads is this search's to fill in.
  Event load(std::uintptr_t address, std::size_t size, Event asked, const std::function<bool(std::uint64_t)>* enough);
  void store(std::uintptr_t address, std::size_t size, std::uint64_t value, EventKind kind, Order order);
  void fence(Order order);
  void plain(std::uintptr_t address, std::size_t size, bool write);
  [[noreturn]] void fail(FailureKind kind, std::string what);

 private:
  Graph& graph() { return branches_.back().graph; }
  ThreadState& me() { return threads_[running_]; }
  bool replaying() { return replayed_ < replay_.size(); }

  bool over() {
    if (result_.failure) return true;
    if (result_.complete + result_.blocked < options_.most_executions) return false;
    // Whether anything is left is known only by looking.
    result_.cut = result_.cut || next_graph();
    return true;
  }

  void execute();
  void count();
  void outside(const std::function<void()>& part);
  bool next_graph();
  bool apply(const Alternative& alternative);
  bool begin_revisit(const Alternative& alternative);

  std::optional<std::size_t> next_thread();
  void take_turn();
  void switch_to(std::size_t thread);
  [[noreturn]] void leave();

  Event next_event(Event event) const;
  EventId replay_event(const Event& asked, std::uintptr_t address);
  void expect_more();
  EventId add_load(Event event, const std::function<bool(std::uint64_t)>* enough);
  void add_store(Event event);
  std::vector<std::size_t> places(const Event& event, EventId id);
  void offer_revisits(EventId store);
  bool added_first(EventId event, EventId store);
  void note_access(std::uintptr_t address, std::size_t size, bool atomic, bool write);
  void write_native(EventId store, std::uintptr_t address, std::size_t size);

  const Program& program_;
  const SearchOptions& options_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber main_;
  std::vector<Branch> branches_;
  SearchResult result_;

  // Of the execution under way.
  std::vector<ThreadState> threads_;
  std::vector<EventId> replay_;  ///< events of the graph when it began
  std::size_t replayed_ = 0;
  std::size_t running_ = 0;
  bool inside_ = false;           ///< a thread of the program runs, on its own stack
  bool impossible_ = false;       ///< the graph turned out to be none: not an execution
  std::vector<EventId> written_;  ///< by location: the store whose value the memory holds
  Races races_;
};

// ---------------------------------------------------------------------------------------------- executions

/// Runs the program along the graph, then on, until no thread can go on.
void Search::execute() {
  threads_.assign(program_.threads.size(), {});
  replay_ = graph().order();
  replayed_ = 0;
  impossible_ = false;
  written_.clear();
  races_.clear();
  outside(program_.begin);
  if (result_.failure) return;
  for (std::size_t thread = 0; thread < fibers_.size(); ++thread) {
    fibers_[thread]->start([this, thread] {
      program_.threads[thread]();
      threads_[thread].status = ThreadState::Status::ended;
      leave();
    });
  }
  const auto first = next_thread();
  running_ = *first;
  inside_ = true;
  fibers_[running_]->switch_from(main_);
}

void Search::count() {
  if (result_.failure || impossible_) return;
  std::size_t stuck = 0;
  bool for_ever = true;
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    if (threads_[thread].status != ThreadState::Status::stuck) continue;
    ++stuck;
    const Event& last =
        graph().at({static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(threads_[thread].events - 1)});
    const std::size_t stores = graph().location(last.location).stores.size();
    for_ever = for_ever && graph().position(last.location, last.reads_from) == stores;
  }
  if (stuck == 0) {
    ++result_.complete;
    if (options_.observe) options_.observe(graph());
    outside(program_.end);
    return;
  }
  ++result_.blocked;
  if (!for_ever) return;
  // All that could run has run, and what they wait for is not there.
  std::string who;
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    if (threads_[thread].status == ThreadState::Status::stuck)
      who += fmt::format("{}{}", who.empty() ? "" : ", ", thread);
  }
  result_.failure = Failure{.kind = FailureKind::deadlock,
                            .what = fmt::format("waiting for ever: thread{} {}", stuck == 1 ? "" : "s", who),
                            .graph = graph()};
}

/// Runs what belongs to no thread.
void Search::outside(const std::function<void()>& part) {
  try {
    if (part) part();
  } catch (const Stopped&) {  // by fail, which has noted why
  }
}

/// Makes the next graph out of what remains; false when nothing does.
bool Search::next_graph() {
  while (!branches_.empty()) {
    Branch& branch = branches_.back();
    if (branch.alternatives.empty()) {
      branches_.pop_back();
      continue;
    }
    const Alternative alternative = branch.alternatives.back();
    branch.alternatives.pop_back();
    branch.graph.cut_back(alternative.stamp);
    if (apply(alternative)) return true;
  }
  return false;
}

bool Search::apply(const Alternative& alternative) {
  switch (alternative.kind) {
    case Alternative::Kind::read_from:
      graph().set_reads_from(alternative.event, alternative.store);
      return consistent(graph(), options_.model);
    case Alternative::Kind::place:
      graph().place(alternative.event, alternative.position);
      return consistent(graph(), options_.model);
    case Alternative::Kind::revisit:
      return begin_revisit(alternative);
  }
  return false;
}

/// A branch of its own in which the load reads from the store that came after it.
bool Search::begin_revisit(const Alternative& alternative) {
  Graph graph = this->graph();
  const Event store = graph.at(alternative.event);
  const std::uint32_t load_stamp = graph.at(alternative.load).stamp;
  std::array<std::size_t, most_threads> kept{};
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    std::size_t count = store.causes[thread];
    while (count < graph.count(thread)) {
      const EventId next{static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(count)};
      if (graph.at(next).stamp > load_stamp) break;
      ++count;
    }
    kept[thread] = count;
  }
  graph.revisit(kept, alternative.load, alternative.event);

  const Event& load = graph.at(alternative.load);
  Clock before;
  if (alternative.load.index > 0) {
    before = graph.at({alternative.load.thread, static_cast<std::uint16_t>(alternative.load.index - 1)}).happens_before;
  }
  const std::size_t lowest = lowest_position(graph, load.location, before);
  Branch branch{.graph = std::move(graph), .alternatives = {}};
  branches_.push_back(std::move(branch));
  Graph& mine = this->graph();
  std::vector<std::size_t> possible;
  for (const std::size_t position : places(store, alternative.event)) {
    if (position < lowest) continue;
    mine.place(alternative.event, position);
    if (consistent(mine, options_.model)) possible.push_back(position);
  }
  if (possible.empty()) {
    branches_.pop_back();
    return false;
  }
  for (std::size_t i = 0; i + 1 < possible.size(); ++i) {
    branches_.back().alternatives.push_back({.kind = Alternative::Kind::place,
                                             .stamp = store.stamp,
                                             .event = alternative.event,
                                             .store = {},
                                             .load = {},
                                             .position = possible[i]});
  }
  mine.place(alternative.event, possible.back());
  return true;
}

// ---------------------------------------------------------------------------------------------- threads

/// Along the graph its order decides; after that the first thread that can go on. Nobody: the execution is over.
std::optional<std::size_t> Search::next_thread() {
  if (replaying()) return replay_[replayed_].thread;
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    if (threads_[thread].status == ThreadState::Status::ready) return thread;
  }
  return std::nullopt;
}

void Search::switch_to(std::size_t thread) {
  const std::size_t from = std::exchange(running_, thread);
  fibers_[thread]->switch_from(*fibers_[from]);
}

/// The running thread has come to an event: goes on with it when it is this thread's turn.
void Search::take_turn() {
  const std::size_t mine = running_;
  while (true) {
    const auto next = next_thread();
    assert(next);
    if (*next == mine) return;
    switch_to(*next);
  }
}

/// The running thread does not go on in this execution.
void Search::leave() {
  const auto next = next_thread();
  Fiber& mine = *fibers_[running_];
  if (next && !impossible_ && !result_.failure) {
    if (threads_[*next].status == ThreadState::Status::ready) {
      switch_to(*next);
    } else {
      result_.failure = Failure{.kind = FailureKind::nondeterministic,
                                .what = fmt::format("thread {} ended earlier than before", *next),
                                .graph = graph()};
    }
  }
  inside_ = false;
  main_.switch_from(mine);
  std::abort();
}

void Search::fail(FailureKind kind, std::string what) {
  if (!result_.failure) result_.failure = Failure{.kind = kind, .what = std::move(what), .graph = graph()};
  if (!inside_) throw Stopped{};
  inside_ = false;
  main_.switch_from(*fibers_[running_]);
  std::abort();
}

// ---------------------------------------------------------------------------------------------- events

Event Search::next_event(Event event) const {
  const ThreadState& thread = threads_[running_];
  event.order = effective(options_.model, event.kind, event.order);
  event.if_equal = effective(options_.model, EventKind::exclusive_load, event.if_equal);
  event.if_unequal = effective(options_.model, EventKind::load, event.if_unequal);
  event.causes = thread.causes;
  event.happens_before = thread.known;
  event.causes.set(running_, thread.events + 1);
  event.happens_before.set(running_, thread.events + 1);
  return event;
}

/// The graph's event that the running thread does now, which must be what it did before.
EventId Search::replay_event(const Event& asked, std::uintptr_t address) {
  const EventId id{static_cast<std::uint16_t>(running_), static_cast<std::uint16_t>(me().events)};
  const Event& known = graph().at(id);
  const bool same = replay_[replayed_] == id && known.compares == asked.compares &&
                    (known.kind == asked.kind || known.compares) &&
                    (known.kind == EventKind::fence || graph().location(known.location).address == address);
  if (!same) {
    fail(FailureKind::nondeterministic, fmt::format("thread {} did not do its event {} again", running_, me().events));
  }
  ++replayed_;
  return id;
}

/// Goes on unless the execution has grown out of all bounds.
void Search::expect_more() {
  if (graph().size() < options_.most_events) return;
  fail(FailureKind::too_long, fmt::format("an execution of more than {} events", options_.most_events));
}

void Search::note_access(std::uintptr_t address, std::size_t size, bool atomic, bool write) {
  const Access access{.address = address,
                      .size_bytes = size,
                      .thread = running_,
                      .time = me().events - (atomic ? 1 : 0),
                      .atomic = atomic,
                      .write = write};
  const auto race = races_.note(access, me().known);
  if (!race) return;
  const auto kind = [](bool is_atomic, bool is_write) {
    return fmt::format("{} {}", is_atomic ? "atomic" : "plain", is_write ? "write" : "read");
  };
  fail(FailureKind::data_race, fmt::format("{} of thread {} and {} of thread {} race for {} bytes",
                                           kind(race->earlier.atomic, race->earlier.write), race->earlier.thread,
                                           kind(atomic, write), running_, race->size_bytes));
}

void Search::plain(std::uintptr_t address, std::size_t size, bool write) { note_access(address, size, false, write); }

void Search::fence(Order order) {
  take_turn();
  ThreadState& thread = me();
  if (acquires(order)) thread.known.join(thread.seen);
  const Event asked = event_of(EventKind::fence, order);
  if (replaying()) {
    replay_event(asked, 0);
    ++thread.events;
  } else {
    expect_more();
    const Event event = next_event(asked);
    ++thread.events;
    graph().add(running_, event);
    if (order == Order::seq_cst && !consistent(graph(), options_.model)) {
      impossible_ = true;
      leave();
    }
  }
  thread.causes.set(running_, thread.events);
  thread.known.set(running_, thread.events);
  if (releases(order)) thread.fenced = thread.known;
}

Event Search::load(std::uintptr_t address, std::size_t size, Event asked,
                   const std::function<bool(std::uint64_t)>* enough) {
  take_turn();
  EventId id;
  if (replaying()) {
    id = replay_event(asked, address);
  } else {
    expect_more();
    Event event = next_event(asked);
    event.location = graph().find_location(address, static_cast<std::uint8_t>(size), native_load(address, size));
    id = add_load(event, enough);
  }
  ThreadState& thread = me();
  ++thread.events;
  const Event event = graph().at(id);
  const Clock learnt = graph().released_by(event.reads_from);
  thread.seen.join(learnt);
  if (acquires(event.order)) thread.known.join(learnt);
  thread.known.set(running_, thread.events);
  thread.causes = event.causes;
  note_access(address, size, true, false);
  if (enough != nullptr && !(*enough)(event.value)) {
    thread.status = ThreadState::Status::stuck;
    leave();
  }
  return event;
}

/// Adds the load with the last store it may read from, and leaves the others for later.
EventId Search::add_load(Event event, const std::function<bool(std::uint64_t)>* enough) {
  const std::size_t location = event.location;
  const std::size_t lowest = lowest_position(graph(), location, me().known);
  const std::size_t last = graph().location(location).stores.size();
  event.reads_from = graph().store_at(location, last);
  const EventId id = graph().add(running_, event);
  std::vector<EventId> possible;
  for (std::size_t position = lowest; position <= last; ++position) {
    const EventId store = graph().store_at(location, position);
    // A thread that goes to sleep reads the last value there is; that it saw an older one before that is no other
    // execution, and only a sleeper of the last value may be woken.
    if (enough != nullptr && position != last && !(*enough)(graph().value_of(location, store))) continue;
    graph().set_reads_from(id, store);
    if (consistent(graph(), options_.model)) possible.push_back(store);
  }
  if (possible.empty()) {
    impossible_ = true;
    leave();
  }
  for (std::size_t i = 0; i + 1 < possible.size(); ++i) {
    branches_.back().alternatives.push_back({.kind = Alternative::Kind::read_from,
                                             .stamp = graph().at(id).stamp,
                                             .event = id,
                                             .store = possible[i],
                                             .load = {},
                                             .position = 0});
  }
  graph().set_reads_from(id, possible.back());
  return id;
}

void Search::store(std::uintptr_t address, std::size_t size, std::uint64_t value, EventKind kind, Order order) {
  take_turn();
  ThreadState& thread = me();
  EventId id{static_cast<std::uint16_t>(running_), static_cast<std::uint16_t>(thread.events)};
  const Event asked = event_of(kind, order);
  if (replaying()) {
    replay_event(asked, address);
    if (graph().at(id).value != value) {
      fail(FailureKind::nondeterministic, fmt::format("thread {} stored something else than before", running_));
    }
  } else {
    expect_more();
    Event event = next_event(asked);
    event.location = graph().find_location(address, static_cast<std::uint8_t>(size), native_load(address, size));
    event.value = value;
    event.released = releases(event.order) ? event.happens_before : thread.fenced;
    if (kind == EventKind::exclusive_store) {
      const EventId load{id.thread, static_cast<std::uint16_t>(id.index - 1)};
      event.released.join(graph().released_by(graph().at(load).reads_from));
    }
    add_store(event);
  }
  ++thread.events;
  thread.causes.set(running_, thread.events);
  thread.known.set(running_, thread.events);
  note_access(address, size, true, true);
  write_native(id, address, size);
}

/// Where the store may stand: after all that it knows of, and not within a read-modify-write. Its own location's order
/// is looked at without it.
std::vector<std::size_t> Search::places(const Event& event, EventId id) {
  Graph& here = graph();
  std::vector<EventId> others = here.location(event.location).stores;
  std::erase(others, id);
  const auto place_of = [&](EventId store) {
    return store.initial()
               ? 0u
               : static_cast<std::size_t>(std::find(others.begin(), others.end(), store) - others.begin()) + 1;
  };
  const auto splits = [&](std::size_t position) {
    return position <= others.size() && here.at(others[position - 1]).kind == EventKind::exclusive_store;
  };
  if (event.kind == EventKind::exclusive_store) {
    const EventId load{id.thread, static_cast<std::uint16_t>(id.index - 1)};
    const std::size_t position = place_of(here.at(load).reads_from) + 1;
    if (splits(position)) return {};
    return {position};
  }
  Clock known = event.happens_before;
  known.set(id.thread, id.index);
  std::size_t lowest = others.size();
  while (lowest > 0 && others[lowest - 1].index >= known[others[lowest - 1].thread]) --lowest;
  for (const EventId load : here.location(event.location).loads) {
    if (load.index >= known[load.thread]) continue;
    const EventId read = here.at(load).reads_from;
    if (read != id) lowest = std::max(lowest, place_of(read));
  }
  std::vector<std::size_t> places;
  for (std::size_t position = lowest + 1; position <= others.size() + 1; ++position) {
    if (!splits(position)) places.push_back(position);
  }
  return places;
}

void Search::add_store(Event event) {
  const EventId id = graph().add(running_, event, graph().location(event.location).stores.size() + 1);
  const std::uint32_t stamp = graph().at(id).stamp;
  offer_revisits(id);
  std::vector<std::size_t> possible;
  for (const std::size_t position : places(event, id)) {
    graph().place(id, position);
    if (consistent(graph(), options_.model)) possible.push_back(position);
  }
  if (possible.empty()) {
    impossible_ = true;
    leave();
  }
  for (std::size_t i = 0; i + 1 < possible.size(); ++i) {
    branches_.back().alternatives.push_back({.kind = Alternative::Kind::place,
                                             .stamp = stamp,
                                             .event = id,
                                             .store = {},
                                             .load = {},
                                             .position = possible[i]});
  }
  graph().place(id, possible.back());
}

/// Earlier loads of the location that the store does not depend on might have read it, had it come first.
void Search::offer_revisits(EventId store) {
  Graph& here = graph();
  const Event& event = here.at(store);
  for (const EventId load : here.location(event.location).loads) {
    if (load.index < event.causes[load.thread]) continue;
    const std::uint32_t load_stamp = here.at(load).stamp;
    bool first = added_first(load, store);
    for (const EventId other : here.order()) {
      if (!first) break;
      const bool thrown_away =
          here.at(other).stamp > load_stamp && other.index >= event.causes[other.thread] && other != store;
      if (thrown_away) first = added_first(other, store);
    }
    if (!first) continue;
    branches_.back().alternatives.push_back({.kind = Alternative::Kind::revisit,
                                             .stamp = event.stamp,
                                             .event = store,
                                             .store = {},
                                             .load = load,
                                             .position = 0});
  }
}

/// Whether the event stands in the graph as it would be added without any alternative: a load of the last store, a
/// store at the end, by what was there before it or what the new store depends on. Of all graphs that differ in what is
/// thrown away, exactly one is of that kind, and that one makes the revisit.
bool Search::added_first(EventId id, EventId store) {
  Graph& here = graph();
  const Event& event = here.at(id);
  const Event& cause = here.at(store);
  if (event.kind == EventKind::fence) return true;
  const auto previous = [&](EventId other) {
    return here.at(other).stamp <= event.stamp || (other != store && other.index < cause.causes[other.thread]);
  };
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
    if (later != store && previous(later)) return false;
  }
  return true;
}

/// Plain C++ reads the memory itself: it holds the last store, by modification order, of those that have happened.
void Search::write_native(EventId store, std::uintptr_t address, std::size_t size) {
  const Event& event = graph().at(store);
  if (written_.size() <= event.location) written_.resize(event.location + 1u);
  EventId& written = written_[event.location];
  if (!written.initial() && graph().position(event.location, written) > graph().position(event.location, store)) return;
  written = store;
  std::memcpy(reinterpret_cast<void*>(address), &event.value, size);
}

}  // namespace

// ---------------------------------------------------------------------------------------------- the program's side

namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

std::uint64_t atomic_load(const void* address, std::size_t size, Order order) {
  return current->load(number(address), size, event_of(EventKind::load, order), nullptr).value;
}

void atomic_store(void* address, std::size_t size, std::uint64_t value, Order order) {
  current->store(number(address), size, value, EventKind::store, order);
}

std::uint64_t atomic_update(void* address, std::size_t size, Order order,
                            const std::function<std::uint64_t(std::uint64_t)>& change) {
  const Event asked = event_of(EventKind::exclusive_load, order);
  const std::uint64_t value = current->load(number(address), size, asked, nullptr).value;
  current->store(number(address), size, change(value), EventKind::exclusive_store, order);
  return value;
}

std::uint64_t atomic_compare_exchange(void* address, std::size_t size, std::uint64_t expected, std::uint64_t wanted,
                                      Order success, Order failure) {
  Event asked = event_of(EventKind::exclusive_load, success);
  asked.compares = true;
  asked.if_equal = success;
  asked.if_unequal = failure;
  asked.expected = expected;
  const Event read = current->load(number(address), size, asked, nullptr);
  if (read.value == expected) current->store(number(address), size, wanted, EventKind::exclusive_store, success);
  return read.value;
}

std::uint64_t await(const void* address, std::size_t size, Order order,
                    const std::function<bool(std::uint64_t)>& enough) {
  return current->load(number(address), size, event_of(EventKind::load, order), &enough).value;
}

void lock(std::uint32_t* word) {
  const std::function<bool(std::uint64_t)> free = [](std::uint64_t value) { return value == 0; };
  const Event asked = event_of(EventKind::exclusive_load, Order::acquire);
  current->load(number(word), sizeof(*word), asked, &free);
  current->store(number(word), sizeof(*word), 1, EventKind::exclusive_store, Order::acquire);
}

void unlock(std::uint32_t* word) { atomic_store(word, sizeof(*word), 0, Order::release); }

void atomic_fence(Order order) { current->fence(order); }

void plain_read(const void* address, std::size_t size) { current->plain(number(address), size, false); }

void plain_write(void* address, std::size_t size) { current->plain(number(address), size, true); }

void fail(std::string what) { current->fail(FailureKind::failed, std::move(what)); }

SearchResult search(const Program& program, const SearchOptions& options) { return Search(program, options).run(); }

}  // namespace ringside::explore
