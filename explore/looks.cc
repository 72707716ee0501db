// SPDX-License-Identifier: Apache-2.0
//
// Looks in vain: a thread that polls, finds nothing, has changed nothing, and polls again later. What it saw is the
// last thing that there was, or something older. In the second case it is stuck for good, and all that others do beside
// it they do in executions, too, in which it saw the last: only there can something come that ends its wait. So once it
// is known that a look finds nothing by what it has read, no load is made to end it by an older store. What it comes to
// hangs on the state in which it began and on what it has read since.
#include <utility>

#include "explore/engine.h"
#include "explore/fault.h"

namespace ringside::explore {
namespace {

/// Those that are forgotten cost time, and nothing else.
constexpr std::size_t most_looks = 1'000'000;

/// Never 0.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t part) {
  hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return (hash ^ hash >> 32) | 1u;
}

std::uint64_t look_after(std::uint64_t look, const Location& location, const Event& load) {
  const std::uint64_t value = planted(Fault::looks_are_alike) ? 0 : load.value;
  return mixed(mixed(mixed(look, location.address), load.bytes), value);
}

}  // namespace

void Engine::begin_look(std::uint64_t state, std::uint64_t (*memory)()) {
  ThreadState& thread = me();
  thread.look = mixed(running_, state);
  thread.look_memory = memory;
  thread.look_began = 0;
}

/// Most looks are done again along a graph, and nothing hangs on them.
std::uint64_t Engine::all_of_look(std::uint64_t look) {
  ThreadState& thread = me();
  if (thread.look_memory != nullptr) thread.look_began = std::exchange(thread.look_memory, nullptr)();
  return mixed(look, thread.look_began);
}

void Engine::note_look(const Event& load) {
  std::uint64_t& look = me().look;
  if (look != 0) look = look_after(look, graph().location(load.location), load);
}

/// What others wrote is not part of the state in which the look began, nor what the thread itself wrote to memory that
/// is none of it.
void Engine::note_plain_look(std::uintptr_t address, std::size_t size, bool in_look) {
  const auto others = static_cast<std::uint8_t>(~(1u << running_));
  const std::uint8_t threads = in_look ? others : std::uint8_t{0xff};
  for_each_piece(program_.aliases, address, size, [&](std::uintptr_t piece, std::size_t bytes) {
    if (!planted(Fault::looks_read_no_memory) && races_.written({.address = piece, .size_bytes = bytes}, threads))
      forget_look();
  });
}

void Engine::end_look_in_vain(std::size_t events) {
  ThreadState& thread = me();
  const bool by_load = events != 0 && graph().at(last_event()).kind == EventKind::load;
  thread.looked = by_load && thread.look != 0;
  if (thread.looked && in_vain_.size() < most_looks) in_vain_.insert(all_of_look(thread.look));
  forget_look();
  spin(events, false);
  me().looked = false;
}

/// Whether a look is known to find nothing when this load, which is about to be added, reads that store.
bool Engine::is_in_vain(Event load, EventId store) {
  const std::uint64_t look = me().look;
  if (look == 0 || load.kind != EventKind::load || load.question != 0 || load.awaits) return false;
  load.value = graph().value_of(load.location, store, load.bytes);
  return in_vain_.count(all_of_look(look_after(look, graph().location(load.location), load))) != 0;
}

/// Whether a thread is stuck after a look that ended with what was not the last store even then.
bool Engine::is_stuck_by_an_older_store() const {
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    const ThreadState& state = threads_[thread];
    if (state.status != ThreadState::Status::stuck || !state.looked) continue;
    const EventId load{static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(state.events - 1)};
    const Event& read = graph().at(load);
    const std::size_t position = graph().position(read.location, read.reads_from);
    for (const EventId earlier : graph().order()) {
      if (earlier == load) break;
      const Event& event = graph().at(earlier);
      if (!writes(event.kind) || event.location != read.location || (event.bytes & read.bytes) == 0) continue;
      if (graph().position(read.location, earlier) > position) return true;
    }
  }
  return false;
}

}  // namespace ringside::explore
