// SPDX-License-Identifier: Apache-2.0
//
// What a thread of the program does to shared memory: each access by the choice that the memory model always allows;
// what else it could have been is left for later.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "explore/engine.h"
#include "explore/fault.h"

namespace ringside::explore {
namespace {

std::uint64_t native_load(std::uintptr_t address, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), size);
  return value;
}

}  // namespace

Event Engine::next_event(Event event) const {
  const ThreadState& thread = threads_[running_];
  const EventKind kind = event.link && writes(event.kind) ? EventKind::store : event.kind;
  if (!event.link || writes(kind)) event.order = effective(options_.model, kind, event.order);
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
  const bool same = graph().order()[replayed_] == id && known.link == asked.link && known.question == asked.question &&
                    known.compares == asked.compares && (known.kind == asked.kind || known.compares) &&
                    (!accesses(known.kind) || known.location == location);
  if (!same) {
    fail(FailureKind::nondeterministic, fmt::format("thread {} did not do its event {} again", running_, me().events));
  }
  ++replayed_;
  return id;
}

/// Goes on unless the execution has grown out of all bounds.
void Engine::expect_more() {
  if (following_) settle();
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
  if (!race) {
    if (!program_.rings.empty()) note_ring_use(access);
    return;
  }
  if (recording_) find_rival(race->earlier);
  if (race->earlier.whole_word) fail_partial(race->earlier.thread, running_);
  const auto kind = [](bool is_atomic, bool is_write) {
    return fmt::format("{} {}", is_atomic ? "atomic" : "plain", is_write ? "write" : "read");
  };
  fail(FailureKind::data_race, fmt::format("{} of thread {} and {} of thread {} race for {} bytes",
                                           kind(race->earlier.atomic, race->earlier.write), race->earlier.thread,
                                           kind(atomic, write), running_, race->size_bytes));
}

void Engine::plain(std::uintptr_t address, std::size_t size, bool write, bool in_look) {
  if (write) {
    forget_look();
  } else if (me().look != 0) {
    note_plain_look(address, size, in_look);
  }
  if (recording_) record(write ? StepKind::plain_write : StepKind::plain_read, address, size, Order::relaxed, 0);
  me().site = nullptr;
  for_each_piece(program_.aliases, address, size,
                 [this, write](std::uintptr_t piece, std::size_t bytes) { plain_piece(piece, bytes, write); });
}

/// An access that lies in one piece where it is accounted for.
void Engine::plain_piece(std::uintptr_t address, std::size_t size, bool write) {
  note_access(address, size, false, write);
  if (!write) return;
  for (const MixedWord& mixed : mixed_) note_partial_write(mixed, address, size);
  if (words_.empty()) return;
  const std::uintptr_t last = (address + size - 1) / granule_bytes;
  for (std::uintptr_t granule = address / granule_bytes; granule <= last; ++granule) {
    for (const std::uint16_t number : words_in_.at(granule)) {
      Word& word = words_[number];
      if (!word.accessed || address >= word.address + word.size_bytes || word.address >= address + size) continue;
      ++word.generation;
      word.accessed = false;
    }
  }
}

/// A plain write of a part of a word is taken for one of all of it, which it is not if another thread accesses the
/// rest.
void Engine::note_partial_write(const MixedWord& word, std::uintptr_t address, std::size_t size) {
  const std::uintptr_t end = word.address + word.size_bytes;
  if (address >= end || word.address >= address + size) return;
  if (address <= word.address && end <= address + size) return;
  const auto race = races_.note({.address = word.address,
                                 .size_bytes = word.size_bytes,
                                 .thread = running_,
                                 .time = me().events,
                                 .write = true,
                                 .whole_word = true},
                                me().known);
  if (race && recording_) find_rival(race->earlier);
  if (race) fail_partial(running_, race->earlier.thread);
}

void Engine::fail_partial(std::size_t writer, std::size_t other) {
  fail(FailureKind::mixed_sizes,
       fmt::format(
           "thread {} writes a part of a word plainly and nothing orders that with thread {}, which accesses the "
           "rest atomically; the word is accessed in several widths, so they cannot be told apart",
           writer, other));
}

/// A schedule knows from the beginning which words have several widths.
void Engine::learn_width(std::uintptr_t address) {
  const Turn* const scripted = turn();
  if (scripted == nullptr || scripted->word_bytes == 0) return;
  const MixedWord word{address - scripted->offset, scripted->word_bytes};
  expect_the_turn(word.address % word.size_bytes == 0);
  if (mixed_word(word.address, word.size_bytes) == nullptr) mixed_.push_back(word);
}

/// Where an atomic access is made now.
Place Engine::place_of(std::uintptr_t address, std::size_t size) {
  learn_width(address);
  const auto ones = [](std::size_t count) { return static_cast<std::uint8_t>((1u << count) - 1); };
  Place place;
  if (const MixedWord* const mixed = mixed_word(address, size)) {
    place.bytes = static_cast<std::uint8_t>(ones(size) << (address - mixed->address));
    place.part = size < mixed->size_bytes;
    address = mixed->address;
    size = mixed->size_bytes;
  }
  Word* found = nullptr;
  auto& here = words_in_.at(address / granule_bytes);  // no word reaches over a granule's end
  for (const std::uint16_t number : here) {
    Word& word = words_[number];
    if (address >= word.address + word.size_bytes || word.address >= address + size) continue;
    if (word.address == address && word.size_bytes == size) {
      found = &word;
    } else if (word.accessed) {
      widen(word, address, size);
    }
  }
  if (found == nullptr) {
    here.push_back(static_cast<std::uint16_t>(words_.size()));
    found = &words_.emplace_back(Word{.address = address, .size_bytes = size});
  }
  if (!found->accessed) {
    found->accessed = true;
    found->location =
        graph().find_location(address, static_cast<std::uint8_t>(size), found->generation, native_load(address, size));
  }
  place.location = found->location;
  return place;
}

const MixedWord* Engine::mixed_word(std::uintptr_t address, std::size_t size) const {
  for (const MixedWord& word : mixed_) {
    if (address >= word.address && address + size <= word.address + word.size_bytes) return &word;
  }
  return nullptr;
}

/// The same bytes are accessed in two widths: from now on as one word of the greater.
void Engine::widen(const Word& word, std::uintptr_t address, std::size_t size) {
  const MixedWord mixed = size > word.size_bytes ? MixedWord{address, size} : MixedWord{word.address, word.size_bytes};
  begin_anew();
  std::erase_if(mixed_, [&](const MixedWord& narrower) {
    return narrower.address >= mixed.address && narrower.address < mixed.address + mixed.size_bytes;
  });
  mixed_.push_back(mixed);
  leave();
}

/// Because of what the running thread's next event would be.
void Engine::begin_anew() {
  widths_.push_back(task_here());
  widths_.back().schedule.turns.push_back({.thread = static_cast<std::uint8_t>(running_)});
  widths_.back().added.push_back(static_cast<std::uint32_t>(graph().size()) + 1);
  anew_ = impossible_ = true;
}

void Engine::fence(Order order) {
  take_turn();
  ThreadState& thread = me();
  if (acquires(order) && !planted(Fault::fences_do_not_acquire)) thread.known.join(thread.seen);
  const Event asked = event_of(EventKind::fence, order);
  if (replaying()) {
    replay_event(asked, 0);
    ++thread.events;
  } else {
    expect_more();
    const Event event = next_event(asked);
    ++thread.events;
    const EventId id = graph().add(running_, event);
    if (recording_) record_event(id, 0, 0);
    if (order == Order::seq_cst && !consistent(graph(), options_.model)) {
      impossible_ = true;
      leave();
    }
  }
  thread.causes.set(running_, thread.events);
  thread.known.set(running_, thread.events);
  if (releases(order) && !planted(Fault::fences_do_not_release)) thread.fenced = thread.known;
  thread.site = nullptr;
}

bool Engine::ask(std::uintptr_t address, std::size_t size, Order order, const ValueTest& test, const View& view) {
  take_turn();
  Event asked = event_of(EventKind::load, order);
  const bool decides = options_.questions && defers() && !knows_fence(view);
  asked.question = graph().find_question({.test = test, .view = view, .decides = decides});
  return test.holds(load(address, size, asked, nullptr).value);
}

/// Of what is ordered with a sequentially consistent fence an older store says more than a newer one.
bool Engine::knows_fence(const View& view) {
  for (std::size_t thread = 0; thread < most_threads; ++thread) {
    if (graph().sequential(thread) == 0) continue;
    for (std::size_t index = 0; index < view.known[thread]; ++index) {
      const Event& event = graph().at({static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(index)});
      if (event.kind == EventKind::fence && event.order == Order::seq_cst) return true;
    }
  }
  return false;
}

/// What a load that is being added, or read again, may not contradict.
Clock Engine::view_of(const Event& load) const {
  return load.question != 0 ? branches_[depth_ - 1]->graph.question(load).view.known : threads_[running_].known;
}

std::uint64_t Engine::choose(std::uint64_t count) {
  assert(count > 0);
  take_turn();
  forget_look();
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
  if (recording_) record_event(id, 0, 0);
  thread.site = nullptr;
  return graph().at(id).value;
}

/// Adds the choice with 0, and leaves the others for later: the last is the next to be taken up.
void Engine::add_choice(Event event) {
  const Turn* const scripted = turn();
  const EventId id = graph().add(running_, event);
  if (chooser_ != nullptr) {
    graph().at(id).value = event.expected == 1 ? 0 : chooser_->number(event.expected, true);
    return;
  }
  if (scripted != nullptr) {
    expect_the_turn(scripted->passed < event.expected);
    graph().at(id).value = scripted->passed;
    return;
  }
  for (std::uint64_t other = event.expected - 1; other > 0; --other) {
    remember({.kind = Alternative::Kind::choose,
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
  const std::uintptr_t named = std::exchange(address, canonical(address));
  asked.awaits = enough != nullptr;
  const Place place = place_of(address, size);
  if (enough != nullptr && chooser_ != nullptr) {
    sleep_until(place, *enough, asked.kind == EventKind::exclusive_load);
  }
  const Event event = load_at(place, asked, enough);
  if (recording_) record_event(last_event(), named, size);
  me().site = nullptr;
  note_access(address, size, true, false);
  if (enough != nullptr && !(*enough)(event.value)) {
    if (recording_) {
      steps_.back().asleep = true;
      steps_.back().timed = me().timed;
    }
    me().status = ThreadState::Status::stuck;
    leave();
  }
  return event;
}

/// On a walk: others are chosen until there is a store that the load may go on with; if none ever comes, the load reads
/// the last one and waits for ever.
void Engine::sleep_until(const Place& place, const std::function<bool(std::uint64_t)>& enough, bool updates) {
  while (true) {
    const std::size_t stores = graph().location(place.location).stores.size();
    const std::size_t last = updates ? stores : graph().last_writer(place.location, stores, place.bytes);
    std::size_t position = updates ? last : lowest_position(graph(), place.location, me().known, place.bytes);
    for (; position <= last; ++position) {
      const EventId store = graph().store_at(place.location, position);
      if (enough(graph().value_of(place.location, store, place.bytes))) return;
    }
    me().status = ThreadState::Status::asleep;
    me().location = place.location;
    me().stores = stores;
    granted_.reset();
    const auto next = next_thread();
    if (next) switch_to(*next);
    me().status = ThreadState::Status::ready;
    granted_.reset();
    if (!next) return;
  }
}

/// On a walk: keeps one of the possible choices, of which the last is the one that would come by itself.
void Engine::choose_one() {
  const std::size_t passed = possible_.size() == 1 ? 0 : chooser_->number(possible_.size(), false);
  possible_ = {possible_[possible_.size() - 1 - passed]};
}

/// The load at its place, and what the thread learns by it.
Event Engine::load_at(const Place& place, const Event& asked, const std::function<bool(std::uint64_t)>* enough) {
  EventId id;
  if (replaying()) {
    id = replay_event(asked, place.location);
  } else {
    expect_more();
    Event event = next_event(asked);
    event.location = place.location;
    event.bytes = place.bytes;
    id = add_load(event, enough);
  }
  ThreadState& thread = me();
  ++thread.events;
  const Event event = graph().at(id);
  thread.known.set(running_, thread.events);
  thread.causes = event.causes;
  note_look(event);
  if (event.link) return event;
  const Clock learnt = graph().released_to(event);
  thread.seen.join(learnt);
  if (acquires(event.order)) thread.known.join(learnt);
  return event;
}

/// Whether the load, which is the last event of its thread, may read from the store that it reads from now, at that
/// position.
bool Engine::may_read(EventId id, std::size_t position) {
  const Event& load = graph().at(id);
  if (load.bytes != 0xff) {
    // What is no half of an update reads a store of its bytes: others leave it what the stores before them did.
    if (load.kind == EventKind::load && graph().last_writer(load.location, position, load.bytes) != position) {
      return false;
    }
    // Whoever wrote one byte may know of a later store of another, which the load then knows of, too.
    Clock known = graph().known_to(load);
    known.set(id.thread, std::min<std::size_t>(known[id.thread], id.index));
    if (position < lowest_position(graph(), load.location, known, load.bytes) &&
        !planted(Fault::parts_know_too_little)) {
      return false;
    }
  }
  return consistent(graph(), options_.model);
}

/// Adds the load with the last store it may read from, and leaves the others for later.
EventId Engine::add_load(Event event, const std::function<bool(std::uint64_t)>* enough) {
  const std::size_t location = event.location;
  std::size_t lowest = lowest_position(graph(), location, view_of(event), event.bytes);
  const std::size_t stores = graph().location(location).stores.size();
  const std::size_t last = event.kind == EventKind::load ? graph().last_writer(location, stores, event.bytes) : stores;
  if (planted(Fault::oldest_not_read) && lowest < last) ++lowest;
  event.reads_from = graph().store_at(location, last);
  const Turn* const scripted = turn();
  const EventId id = graph().add(running_, event);
  if (event.question != 0 && !any_is_of_its_place(id, lowest, last)) defer_no_more();
  if (scripted != nullptr && following_) {
    expect_the_turn(scripted->passed <= stores);
    graph().set_reads_from(id, graph().store_at(location, stores - scripted->passed));
    return id;
  }
  possible_.clear();
  const bool exhaustive = scripted == nullptr && chooser_ == nullptr;
  if (event.question != 0) find_answers(id, lowest, last);
  for (std::size_t position = lowest; position <= last && event.question == 0; ++position) {
    const EventId store = graph().store_at(location, position);
    // A thread that goes to sleep reads the last value there is; that it saw an older one before that is no other
    // execution, and only a sleeper of the last value may be woken.
    if (enough != nullptr && position != last && !(*enough)(graph().value_of(location, store, event.bytes))) continue;
    const bool older = position != last || planted(Fault::looks_end_with_the_last);
    if (older && exhaustive && is_in_vain(event, store)) continue;
    graph().set_reads_from(id, store);
    if (may_read(id, position)) possible_.push_back(position);
  }
  if (possible_.empty()) {
    impossible_ = true;
    leave();
  }
  if (chooser_ != nullptr) {
    // An update of what is not the last would need a place between two stores.
    if (exclusive(graph().at(id).kind)) possible_ = {possible_.back()};
    choose_one();
  }
  if (scripted != nullptr) {
    const std::size_t wanted = stores - std::min<std::size_t>(stores, scripted->passed);
    const bool can =
        scripted->passed <= stores && std::find(possible_.begin(), possible_.end(), wanted) != possible_.end();
    expect_the_turn(can);
    possible_ = {wanted};
  }
  // Numbered by where it reads from: what is left out is not known in every process.
  const std::uint64_t offered = offered_;
  for (std::size_t i = 0; i + 1 < possible_.size(); ++i) {
    offered_ = offered + possible_[i];
    remember({.kind = Alternative::Kind::read_from,
              .stamp = graph().at(id).stamp,
              .event = id,
              .store = graph().store_at(location, possible_[i]),
              .load = {},
              .position = 0});
  }
  offered_ = offered + stores + 1;
  graph().set_reads_from(id, graph().store_at(location, possible_.back()));
  return id;
}

void Engine::store(std::uintptr_t address, std::size_t size, std::uint64_t value, EventKind kind, Order order) {
  forget_look();
  take_turn();
  const std::uintptr_t named = std::exchange(address, canonical(address));
  const Place place = place_of(address, size);
  Event asked = event_of(kind, order);
  if (kind == EventKind::store && place.part) {
    asked = event_of(EventKind::exclusive_store, order);
    asked.link = true;
    Event link = event_of(EventKind::exclusive_load, Order::relaxed);
    link.link = true;
    load_at(place, link, nullptr);
  }
  ThreadState& thread = me();
  const EventId id{static_cast<std::uint16_t>(running_), static_cast<std::uint16_t>(thread.events)};
  if (replaying()) {
    replay_event(asked, place.location);
    if (graph().at(id).value != value) {
      fail(FailureKind::nondeterministic, fmt::format("thread {} stored something else than before", running_));
    }
  } else {
    expect_more();
    Event event = next_event(asked);
    event.location = place.location;
    event.bytes = place.bytes;
    event.value = value;
    event.released = releases(event.order) ? event.happens_before : thread.fenced;
    if (kind == EventKind::exclusive_store && !planted(Fault::updates_end_a_release)) {
      const EventId load{id.thread, static_cast<std::uint16_t>(id.index - 1)};
      event.released.join(graph().released_to(graph().at(load)));
    }
    add_store(event);
  }
  ++thread.events;
  thread.causes.set(running_, thread.events);
  thread.known.set(running_, thread.events);
  if (recording_) record_event(id, named, size);
  thread.site = nullptr;
  note_access(address, size, true, true);
  if (!program_.rings.empty()) note_position(id);
  write_native(id);
}

void Engine::add_store(const Event& event) {
  const Turn* const scripted = turn();
  const EventId id = graph().add(running_, event, graph().location(event.location).stores.size() + 1);
  if (scripted != nullptr && following_) {
    const std::size_t stores = graph().location(event.location).stores.size();
    expect_the_turn(scripted->passed < stores);
    graph().place(id, stores - scripted->passed);
    return;
  }
  if (scripted == nullptr && chooser_ == nullptr) offer_revisits(id);
  find_places(id);
  possible_.clear();
  for (const std::size_t position : places_) {
    graph().place(id, position);
    if (consistent(graph(), options_.model)) possible_.push_back(position);
  }
  if (possible_.empty()) {
    impossible_ = true;
    leave();
  }
  if (chooser_ != nullptr) choose_one();
  if (scripted != nullptr) {
    const std::size_t stores = graph().location(event.location).stores.size();
    const std::size_t wanted = stores - std::min<std::size_t>(stores, scripted->passed);
    expect_the_turn(std::find(possible_.begin(), possible_.end(), wanted) != possible_.end());
    possible_ = {wanted};
  }
  leave_places(id, graph().at(id).stamp);
}

/// Plain C++ reads the memory itself: it holds the last store, by modification order, of those that have happened.
void Engine::write_native(EventId store) {
  const Event& event = graph().at(store);
  const Location& location = graph().location(event.location);
  if (written_.size() <= event.location) written_.resize(event.location + 1u);
  const auto is_last = [&](EventId& written) {
    if (!written.initial() && graph().position(event.location, written) > graph().position(event.location, store)) {
      return false;
    }
    written = store;
    return true;
  };
  auto& written = written_[event.location];
  auto* const memory = reinterpret_cast<char*>(location.address);
  if (event.bytes == 0xff) {
    if (is_last(written[0])) std::memcpy(memory, &event.value, location.size_bytes);
    return;
  }
  std::uint64_t value = event.value;
  for (std::size_t byte = 0; byte < location.size_bytes; ++byte) {
    if ((event.bytes >> byte & 1u) == 0) continue;
    if (is_last(written[byte])) memory[byte] = static_cast<char>(value);
    value >>= 8;
  }
}

}  // namespace ringside::explore
