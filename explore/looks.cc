// SPDX-License-Identifier: Apache-2.0
//
// Looks in vain: a thread that polls, finds nothing, has changed nothing, and polls again later. What it saw is the
// last thing that there was, or something older. In the second case it is stuck for good: only a look at the last may
// be woken by something newer. So once it is known that a look finds nothing by what it has read, no load is made to
// end it by an older store when all others have come to their ends, or wait: that execution would be over then. What a
// look comes to hangs on the state in which it began and on what it has read since; whether it is a failure hangs on
// what its thread knows, too, and is found out each time.
#include <algorithm>
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
  look_reads_[running_].clear();
}

/// Most looks are done again along a graph, and nothing hangs on them.
std::uint64_t Engine::all_of_look(std::uint64_t look) {
  ThreadState& thread = me();
  if (thread.look_memory != nullptr) thread.look_began = std::exchange(thread.look_memory, nullptr)();
  return mixed(look, thread.look_began);
}

void Engine::note_look(const Event& load) {
  ThreadState& thread = me();
  if (thread.look == 0) return;
  thread.look = look_after(thread.look, graph().location(load.location), load);
  look_reads_[running_].clear();
}

/// What others wrote is not part of the state in which the look began, nor what the thread itself wrote to memory that
/// is none of it. The data of a ring has rules of its own.
void Engine::note_plain_look(std::uintptr_t address, std::size_t size, bool in_look) {
  const auto others = static_cast<std::uint8_t>(~(1u << running_));
  const std::uint8_t threads = in_look ? others : std::uint8_t{0xff};
  for_each_piece(program_.aliases, address, size, [&](std::uintptr_t piece, std::size_t bytes) {
    const Access access{.address = piece, .size_bytes = bytes};
    const bool known = !races_.written(access, threads) && !laps_.holds(access);
    if (!known && !planted(Fault::looks_read_no_memory)) return forget_look();
    look_reads_[running_].push_back({.address = piece, .size_bytes = bytes, .threads = threads});
  });
}

void Engine::end_look_in_vain(std::size_t events) {
  ThreadState& thread = me();
  const bool by_load = events != 0 && graph().at(last_event()).kind == EventKind::load;
  thread.looked = by_load && thread.look != 0;
  if (thread.looked && in_vain_.size() < most_looks && !planted(looks_are_forgotten)) {
    in_vain_.emplace(all_of_look(thread.look), look_reads_[running_]);
  }
  forget_look();
  spin(events, false);
  me().looked = false;
}

/// Whether a look is known to find nothing when this load, which is about to be added, reads that store, and to do
/// nothing else by it.
bool Engine::is_in_vain(Event load, EventId store) {
  const std::uint64_t look = me().look;
  if (look == 0 || load.kind != EventKind::load || load.question != 0 || load.awaits) return false;
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    if (thread != running_ && can_go_on(thread)) return false;
  }
  load.value = graph().value_of(load.location, store, load.bytes);
  const auto known = in_vain_.find(all_of_look(look_after(look, graph().location(load.location), load)));
  if (known == in_vain_.end()) return false;
  if (planted(Fault::looks_never_fail)) return true;
  const bool unwritten = std::ranges::none_of(known->second, [&](const PlainLook& read) {
    return races_.written({.address = read.address, .size_bytes = read.size_bytes}, read.threads);
  });
  return (unwritten || planted(Fault::looks_read_no_memory)) && !would_fail(load, store);
}

/// Whether the load would be a failure if it read the store: a race, or wrong by the rules of a ring.
bool Engine::would_fail(const Event& load, EventId store) {
  const Location& location = graph().location(load.location);
  Clock known = me().known;
  if (acquires(load.order)) known.join(graph().released_by(load.location, store, load.bytes));
  const Access access{.address = location.address,
                      .size_bytes = location.size_bytes,
                      .thread = running_,
                      .time = me().events,
                      .atomic = true};
  return races_.would_race(access, known) || (!is_kernels(running_) && laps_.use(access, known));
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
