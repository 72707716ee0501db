// SPDX-License-Identifier: Apache-2.0
//
// One execution: the program's threads run along the graph, then on, each event by the choice that the memory model
// always allows; what else an event could have been is left for later.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

#include "explore/engine.h"

namespace ringside::explore {
namespace {

std::uint64_t native_load(std::uintptr_t address, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), size);
  return value;
}

}  // namespace

/// Runs the program along the graph, then on, until no thread can go on.
void Engine::execute() {
  threads_.assign(fibers_.size(), {});
  for (Child& child : children_) child.born = child.ended = 0;
  replay_ = graph().order();
  replayed_ = 0;
  impossible_ = false;
  written_.clear();
  races_.clear();
  words_.clear();
  outside(program_.begin);
  if (result_.failure) return;
  for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
    fibers_[thread]->start([this, thread] {
      program_.threads[thread]();
      end_thread();
    });
    threads_[thread].status = ThreadState::Status::ready;
  }
  const auto first = next_thread();
  running_ = *first;
  inside_ = true;
  fibers_[running_]->switch_from(main_);
}

/// Runs what belongs to no thread.
void Engine::outside(const std::function<void()>& part) {
  try {
    if (part) part();
  } catch (const Stopped&) {  // by fail, which has noted why
  }
}

/// Along the graph its order decides; after that the first thread that can go on. Nobody: the execution is over.
std::optional<std::size_t> Engine::next_thread() {
  if (replaying()) return replay_[replayed_].thread;
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    if (can_go_on(thread)) return thread;
  }
  return std::nullopt;
}

bool Engine::can_go_on(std::size_t thread) const {
  using Status = ThreadState::Status;
  const ThreadState& state = threads_[thread];
  return state.status == Status::ready ||
         (state.status == Status::joining && threads_[state.joined].status == Status::ended);
}

void Engine::switch_to(std::size_t thread) {
  const std::size_t from = std::exchange(running_, thread);
  fibers_[thread]->switch_from(*fibers_[from]);
}

/// The running thread has come to an event: goes on with it when it is this thread's turn.
void Engine::take_turn() {
  const std::size_t mine = running_;
  while (true) {
    const auto next = next_thread();
    assert(next);
    if (*next == mine) return;
    switch_to(*next);
  }
}

/// The running thread does not go on in this execution.
void Engine::leave() {
  const auto next = next_thread();
  Fiber& mine = *fibers_[running_];
  if (next && !impossible_ && !result_.failure) {
    if (can_go_on(*next)) {
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

/// The thread's number, which is the same in every execution: it follows from who creates it and as which of its own.
std::size_t Engine::number_of_child(std::size_t creator, std::size_t ordinal) {
  for (std::size_t number = 0; number < children_.size(); ++number) {
    if (children_[number].creator == creator && children_[number].ordinal == ordinal)
      return program_.threads.size() + number;
  }
  if (fibers_.size() == most_threads)
    fail(FailureKind::unmodelled, fmt::format("more than {} threads; explore a smaller program", most_threads));
  children_.push_back({.creator = creator, .ordinal = ordinal});
  fibers_.push_back(std::make_unique<Fiber>(options_.stack_bytes));
  threads_.emplace_back();
  return fibers_.size() - 1;
}

/// The child's first event reads what the creator's last one stored: so it depends on its own creation.
std::size_t Engine::spawn(std::function<void()> body) {
  const std::size_t thread = number_of_child(running_, me().children++);
  const auto born = reinterpret_cast<std::uintptr_t>(&child(thread).born);
  store(born, sizeof(std::uint32_t), 1, EventKind::store, Order::release);
  fibers_[thread]->start([this, born, body = std::move(body)] {
    const std::function<bool(std::uint64_t)> set = [](std::uint64_t value) { return value == 1; };
    load(born, sizeof(std::uint32_t), event_of(EventKind::load, Order::acquire), &set);
    body();
    end_thread();
  });
  threads_[thread].status = ThreadState::Status::ready;
  return thread;
}

/// Waits without an event until the thread has ended: what the one event then reads is certain, so that nothing is
/// branched over.
void Engine::join(std::size_t thread) {
  const std::size_t mine = running_;
  while (threads_[thread].status != ThreadState::Status::ended) {
    me().status = ThreadState::Status::joining;
    me().joined = thread;
    const auto next = next_thread();
    if (!next || *next == mine) leave();
    switch_to(*next);
  }
  me().status = ThreadState::Status::ready;
  const std::function<bool(std::uint64_t)> set = [](std::uint64_t value) { return value == 1; };
  load(reinterpret_cast<std::uintptr_t>(&child(thread).ended), sizeof(std::uint32_t),
       event_of(EventKind::load, Order::acquire), &set);
}

void Engine::end_thread() {
  if (running_ >= program_.threads.size()) {
    store(reinterpret_cast<std::uintptr_t>(&child(running_).ended), sizeof(std::uint32_t), 1, EventKind::store,
          Order::release);
  }
  me().status = ThreadState::Status::ended;
  leave();
}

void Engine::spin(std::size_t events) {
  me().round = events;
  me().status = ThreadState::Status::stuck;
  leave();
}

void Engine::fail(FailureKind kind, std::string what) {
  if (!result_.failure) result_.failure = Failure{.kind = kind, .what = std::move(what), .graph = graph()};
  if (!inside_) throw Stopped{};
  inside_ = false;
  main_.switch_from(*fibers_[running_]);
  std::abort();
}

Event Engine::next_event(Event event) const {
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
EventId Engine::replay_event(const Event& asked, std::uint16_t location) {
  const EventId id{static_cast<std::uint16_t>(running_), static_cast<std::uint16_t>(me().events)};
  const Event& known = graph().at(id);
  const bool same = replay_[replayed_] == id && known.compares == asked.compares &&
                    (known.kind == asked.kind || known.compares) &&
                    (!accesses(known.kind) || known.location == location);
  if (!same) {
    fail(FailureKind::nondeterministic, fmt::format("thread {} did not do its event {} again", running_, me().events));
  }
  ++replayed_;
  return id;
}

/// Goes on unless the execution has grown out of all bounds.
void Engine::expect_more() {
  if (graph().size() < options_.most_events) return;
  fail(FailureKind::too_long, fmt::format("an execution of more than {} events", options_.most_events));
}

void Engine::note_access(std::uintptr_t address, std::size_t size, bool atomic, bool write) {
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

void Engine::plain(std::uintptr_t address, std::size_t size, bool write) {
  address = canonical(address);
  note_access(address, size, false, write);
  if (!write) return;
  for (Word& word : words_) {
    if (address >= word.address + word.size_bytes || word.address >= address + size || !word.accessed) continue;
    ++word.generation;
    word.accessed = false;
  }
}

std::uintptr_t Engine::canonical(std::uintptr_t address) const {
  for (const Alias& alias : program_.aliases) {
    const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(alias.begin);
    if (offset < alias.size_bytes) return reinterpret_cast<std::uintptr_t>(alias.same_as) + offset;
  }
  return address;
}

/// The graph's location of an atomic access that is made now.
std::uint16_t Engine::location_of(std::uintptr_t address, std::size_t size) {
  for (const Word& word : words_) {
    const bool same = word.address == address && word.size_bytes == size;
    if (same || address >= word.address + word.size_bytes || word.address >= address + size) continue;
    if (word.accessed) fail(FailureKind::mixed_sizes, "one word is accessed atomically in two widths");
  }
  auto word = std::find_if(words_.begin(), words_.end(),
                           [&](const Word& known) { return known.address == address && known.size_bytes == size; });
  if (word == words_.end()) word = words_.insert(word, {.address = address, .size_bytes = size});
  word->accessed = true;
  return graph().find_location(address, static_cast<std::uint8_t>(size), word->generation, native_load(address, size));
}

void Engine::fence(Order order) {
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

std::uint64_t Engine::choose(std::uint64_t count) {
  assert(count > 0);
  take_turn();
  ThreadState& thread = me();
  EventId id{static_cast<std::uint16_t>(running_), static_cast<std::uint16_t>(thread.events)};
  Event asked = event_of(EventKind::choice, Order::relaxed);
  asked.expected = count;
  if (replaying()) {
    replay_event(asked, 0);
    if (graph().at(id).expected != count) {
      fail(FailureKind::nondeterministic, fmt::format("thread {} chose among more or fewer than before", running_));
    }
  } else {
    expect_more();
    add_choice(next_event(asked));
  }
  ++thread.events;
  thread.causes.set(running_, thread.events);
  thread.known.set(running_, thread.events);
  return graph().at(id).value;
}

/// Adds the choice with 0, and leaves the others for later: the last is the next to be taken up.
void Engine::add_choice(Event event) {
  const EventId id = graph().add(running_, event);
  for (std::uint64_t other = event.expected - 1; other > 0; --other) {
    branches_.back().alternatives.push_back({.kind = Alternative::Kind::choose,
                                             .stamp = graph().at(id).stamp,
                                             .event = id,
                                             .store = {},
                                             .load = {},
                                             .position = static_cast<std::size_t>(other)});
  }
}

Event Engine::load(std::uintptr_t address, std::size_t size, Event asked,
                   const std::function<bool(std::uint64_t)>* enough) {
  take_turn();
  address = canonical(address);
  const std::uint16_t location = location_of(address, size);
  EventId id;
  if (replaying()) {
    id = replay_event(asked, location);
  } else {
    expect_more();
    Event event = next_event(asked);
    event.location = location;
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
EventId Engine::add_load(Event event, const std::function<bool(std::uint64_t)>* enough) {
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

void Engine::store(std::uintptr_t address, std::size_t size, std::uint64_t value, EventKind kind, Order order) {
  take_turn();
  address = canonical(address);
  const std::uint16_t location = location_of(address, size);
  ThreadState& thread = me();
  EventId id{static_cast<std::uint16_t>(running_), static_cast<std::uint16_t>(thread.events)};
  const Event asked = event_of(kind, order);
  if (replaying()) {
    replay_event(asked, location);
    if (graph().at(id).value != value) {
      fail(FailureKind::nondeterministic, fmt::format("thread {} stored something else than before", running_));
    }
  } else {
    expect_more();
    Event event = next_event(asked);
    event.location = location;
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

void Engine::add_store(Event event) {
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

/// Plain C++ reads the memory itself: it holds the last store, by modification order, of those that have happened.
void Engine::write_native(EventId store, std::uintptr_t address, std::size_t size) {
  const Event& event = graph().at(store);
  if (written_.size() <= event.location) written_.resize(event.location + 1u);
  EventId& written = written_[event.location];
  if (!written.initial() && graph().position(event.location, written) > graph().position(event.location, store)) return;
  written = store;
  std::memcpy(reinterpret_cast<void*>(address), &event.value, size);
}

}  // namespace ringside::explore
