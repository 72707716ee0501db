// SPDX-License-Identifier: Apache-2.0
//
// How an execution ended: with every thread at its end, with threads that wait for what another execution stores, or
// with such as wait in vain. The last is a defect, and its name says how they wait: asleep beside a record (a missed
// wake-up), awake (a busy spin), or asleep with nothing to do (a deadlock).
#include <fmt/format.h>

#include "explore/engine.h"

namespace ringside::explore {
namespace {

/// `thread 0, thread 2`.
std::string names_of(std::uint8_t threads) {
  std::string names;
  for (std::size_t thread = 0; thread < most_threads; ++thread) {
    if ((threads >> thread & 1u) != 0) names += fmt::format("{}thread {}", names.empty() ? "" : ", ", thread);
  }
  return names;
}

std::string missed_by(const Waiting& sleepers) {
  std::string what;
  if (sleepers.asleep != 0) what = "asleep beside a record: " + names_of(sleepers.asleep);
  if (sleepers.until_timeout == 0) return what;
  return what + (what.empty() ? "" : "; ") +
         "asleep until a timeout beside a record: " + names_of(sleepers.until_timeout);
}

std::string stuck_in(const Waiting& waiting) {
  std::string what;
  if (waiting.spinning != 0) what = "going round for ever: " + names_of(waiting.spinning);
  if (waiting.asleep != 0) what += (what.empty() ? "" : "; ") + ("waiting for ever: " + names_of(waiting.asleep));
  return what;
}

}  // namespace

/// Whether the load of a round would yield the same in the next one: nothing newer is there, except what the round
/// itself stores.
bool Engine::repeats_in_vain(EventId load, std::size_t round_begin) const {
  const Event& event = graph().at(load);
  const auto of_the_round = [&](EventId store) { return store.thread == load.thread && store.index >= round_begin; };
  if (graph().reads_last(event) || of_the_round(event.reads_from)) return true;
  const EventId last = graph().location(event.location).stores.back();
  return of_the_round(last) && graph().value_of(event.location, last, event.bytes) == event.value;
}

/// Whether nothing that has been stored ends the wait of a thread that is stuck or joins another.
bool Engine::waits_in_vain(std::size_t thread) const {
  const ThreadState& state = threads_[thread];
  if (state.status == ThreadState::Status::joining || state.status == ThreadState::Status::asleep) return true;
  const std::size_t begin = state.events - state.round;
  for (std::size_t index = begin; index < state.events; ++index) {
    const EventId id{static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(index)};
    if (reads(graph().at(id).kind) && !repeats_in_vain(id, begin)) return false;
  }
  return true;
}

Waiting Engine::who_waits() {
  using Status = ThreadState::Status;
  Waiting waiting;
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    const ThreadState& state = threads_[thread];
    const bool waits = state.status == Status::stuck || state.status == Status::joining ||
                       state.status == Status::asleep || state.status == Status::resting;
    if (!waits) continue;
    std::uint8_t& how = state.spins ? waiting.spinning : state.timed ? waiting.until_timeout : waiting.asleep;
    how = static_cast<std::uint8_t>(how | 1u << thread);
    waiting.in_vain = waiting.in_vain && waits_in_vain(thread);
  }
  return waiting;
}

bool Engine::lies_unread() {
  bool lies = false;
  outside([&] { lies = program_.unread && program_.unread(); });
  return lies;
}

/// Whatever could run has run, and what these wait for is not there. A timeout is no wake-up: whoever slept until then
/// beside a record has missed one. It is no deadlock either, and those who wait for its thread may go on after it.
void Engine::judge(const Waiting& waiting) {
  Waiting sleepers = waiting;
  for (const std::size_t thread : program_.kernel_threads) {
    const auto others = static_cast<std::uint8_t>(~(1u << thread));
    sleepers.asleep &= others;
    sleepers.until_timeout &= others;
  }
  FailureKind kind = waiting.spinning != 0 ? FailureKind::busy_spin : FailureKind::deadlock;
  std::string what;
  if ((sleepers.asleep | sleepers.until_timeout) != 0 && lies_unread()) {
    kind = FailureKind::missed_wakeup;
    what = missed_by(sleepers);
  } else if (waiting.until_timeout == 0) {
    what = stuck_in(waiting);
  }
  if (what.empty() || result_.failure) return;
  result_.failure = Failure{.kind = kind, .what = std::move(what), .graph = graph()};
  if (kind == FailureKind::missed_wakeup) result_.failure->span = laps_.unconsumed();
}

void Engine::count() {
  if (result_.failure || impossible_) return;
  const bool owned = recording_ || mine(level_, path_);
  const Waiting waiting = who_waits();
  if (waiting.none()) {
    if (owned) ++result_.complete;
    if (owned && options_.observe && !telling_) options_.observe(graph());
    outside(program_.end);
    return;
  }
  if (owned && !is_stuck_by_an_older_store()) ++result_.blocked;
  if (waiting.in_vain) judge(waiting);
}

}  // namespace ringside::explore
