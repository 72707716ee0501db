// SPDX-License-Identifier: Apache-2.0
//
// One execution: the program's threads run along the graph, then on.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "explore/engine.h"

namespace ringside::explore {
/// Runs the program along the graph, then on, until no thread can go on.
void Engine::execute() {
  threads_.assign(fibers_.size(), {});
  for (Child& child : children_) child.born = child.ended = 0;
  to_replay_ = graph().size();
  replayed_ = 0;
  impossible_ = false;
  granted_.reset();
  written_.clear();
  races_.clear();
  words_.clear();
  words_in_.clear();
  steps_.clear();
  for (auto& steps : step_of_) steps.clear();
  span_.reset();
  outside(program_.begin);
  if (result_.failure) return;
  laps_.begin();
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
  if (replaying()) return graph().order()[replayed_].thread;
  if (const Turn* const scripted = turn()) return scripted->thread;
  if (chooser_ != nullptr) return choose_thread();
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    if (can_go_on(thread)) return thread;
  }
  return std::nullopt;
}

/// Chosen once for each event: who is chosen keeps its turn until it has come to it.
std::optional<std::size_t> Engine::choose_thread() {
  if (granted_ && can_go_on(*granted_)) return granted_;
  granted_.reset();
  std::vector<std::size_t> ready;
  const bool running = inside_ && can_go_on(running_);
  if (running) ready.push_back(running_);
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    if (can_go_on(thread) && !(running && thread == running_)) ready.push_back(thread);
  }
  if (ready.empty()) return std::nullopt;
  granted_ = ready[ready.size() == 1 ? 0 : chooser_->thread(ready, running)];
  return granted_;
}

bool Engine::can_go_on(std::size_t thread) const {
  using Status = ThreadState::Status;
  const ThreadState& state = threads_[thread];
  if (state.status == Status::asleep) {
    return branches_[depth_ - 1]->graph.location(state.location).stores.size() > state.stores;
  }
  if (state.status == Status::resting) return !waits_in_vain(thread);
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
    if (*next == mine) {
      granted_.reset();
      if (chooser_ != nullptr) chooser_->event(mine);
      return;
    }
    if (*next >= threads_.size() || !can_go_on(*next)) {
      fail(FailureKind::nondeterministic, fmt::format("thread {} does not go on where it did before", *next));
    }
    switch_to(*next);
  }
}

/// The running thread does not go on in this execution.
void Engine::leave() {
  const auto next = next_thread();
  Fiber& mine = *fibers_[running_];
  if (next && !impossible_ && !result_.failure) {
    if (*next < threads_.size() && can_go_on(*next)) {
      switch_to(*next);
    } else {
      result_.failure = Failure{.kind = FailureKind::nondeterministic,
                                .what = fmt::format("thread {} does not go on where it did before", *next),
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

void Engine::spin(std::size_t events, bool awake) {
  me().round = events;
  me().spins = awake;
  if (rest()) {
    me().round = 1;
    me().spins = false;
    return;
  }
  if (recording_) mark_round(events);
  me().status = ThreadState::Status::stuck;
  leave();
}

/// What a spinning thread does when something else comes, the search finds where the thread reads that at once. A walk
/// has but this execution, in which others are chosen until then; its schedule says that the thread went on.
bool Engine::rest() {
  if (script_ != nullptr) {
    const auto rest_of =
        script_->turns.begin() + static_cast<std::ptrdiff_t>(std::min(graph().size(), script_->turns.size()));
    return std::any_of(rest_of, script_->turns.end(), [this](const Turn& turn) { return turn.thread == running_; });
  }
  if (chooser_ == nullptr) return false;
  while (waits_in_vain(running_)) {
    me().status = ThreadState::Status::resting;
    granted_.reset();
    const auto next = next_thread();
    if (next) switch_to(*next);
    me().status = ThreadState::Status::ready;
    granted_.reset();
    if (!next) return false;
  }
  return true;
}

void Engine::fail(FailureKind kind, std::string what, std::optional<ring::DefectKind> defect) {
  if (!result_.failure) {
    result_.failure = Failure{.kind = kind, .what = std::move(what), .graph = graph(), .defect = defect};
    result_.failure->span = span_;
  }
  if (!inside_) throw Stopped{};
  std::string().swap(what);  // nobody returns to this frame
  inside_ = false;
  main_.switch_from(*fibers_[running_]);
  std::abort();
}

}  // namespace ringside::explore
