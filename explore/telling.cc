// SPDX-License-Identifier: Apache-2.0
//
// A failing execution, done once more by its schedule, with every step noted down.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "explore/engine.h"

namespace ringside::explore {

std::string_view name_of(StepKind kind) {
  switch (kind) {
    case StepKind::load:
      return "load";
    case StepKind::store:
      return "store";
    case StepKind::update_load:
      return "update_load";
    case StepKind::update_store:
      return "update_store";
    case StepKind::fence:
      return "fence";
    case StepKind::choice:
      return "choice";
    case StepKind::plain_read:
      return "plain_read";
    case StepKind::plain_write:
      return "plain_write";
  }
  return "?";
}

void Engine::record(StepKind kind, std::uintptr_t address, std::size_t size, Order order, std::uint64_t value) {
  steps_.push_back({.kind = kind,
                    .order = order,
                    .thread = running_,
                    .address = address,
                    .size_bytes = size,
                    .value = value,
                    .site = me().site,
                    .callers = program_.callers ? program_.callers(running_) : std::vector<const void*>{}});
}

/// The event as a step; a load with the stores, of those already made, that it passed over.
void Engine::record_event(EventId id, std::uintptr_t address, std::size_t size) {
  const Event& event = graph().at(id);
  const auto kind = [&event] {
    switch (event.kind) {
      case EventKind::load:
        return StepKind::load;
      case EventKind::store:
        return StepKind::store;
      case EventKind::exclusive_load:
        return StepKind::update_load;
      case EventKind::exclusive_store:
        return event.link ? StepKind::store : StepKind::update_store;
      case EventKind::fence:
        return StepKind::fence;
      case EventKind::choice:
        return StepKind::choice;
    }
    return StepKind::load;
  };
  record(kind(), address, size, event.order, event.value);
  steps_.back().event = id;
  step_of_[id.thread].resize(id.index + 1u);
  step_of_[id.thread][id.index] = steps_.size() - 1;
  if (!reads(event.kind)) return;
  const auto& stores = graph().location(event.location).stores;
  for (std::size_t position = graph().position_of(event, id); position < stores.size(); ++position) {
    const EventId newer = stores[position];
    if ((graph().at(newer).bytes & event.bytes) != 0)
      steps_.back().missed.push_back(step_of_[newer.thread][newer.index]);
  }
}

/// The running thread's last events are the round that it stays in.
void Engine::mark_round(std::size_t events) {
  for (Step& step : steps_) {
    step.repeats = step.repeats || (step.event.thread == running_ && step.event.index >= me().events - events);
  }
}

/// Notes which earlier step the last one races with.
void Engine::find_rival(const Access& earlier) {
  for (std::size_t i = steps_.size() - 1; i-- > 0;) {
    const Step& step = steps_[i];
    const bool plain = step.kind == StepKind::plain_read || step.kind == StepKind::plain_write;
    const bool wrote =
        step.kind == StepKind::plain_write || step.kind == StepKind::store || step.kind == StepKind::update_store;
    if (step.thread != earlier.thread || plain == earlier.atomic || wrote != earlier.write) continue;
    if (!overlap(program_.aliases, step.address, step.size_bytes, earlier.address, earlier.size_bytes)) continue;
    rival_ = i;
    return;
  }
}

/// The schedule must be one that the program still follows.
void Engine::expect_the_turn(bool possible) {
  if (possible) return;
  fail(FailureKind::nondeterministic,
       fmt::format("thread {} cannot do what the schedule says of event {}: it is of another program", running_,
                   graph().size()));
}

void Engine::expect_the_sum() {
  const std::size_t turns = script_->turns.size();
  if (graph().size() >= turns && sum_of(graph(), turns) == script_->sum) return;
  result_.failure = Failure{.kind = FailureKind::nondeterministic,
                            .what = "the program's events are others than the schedule's: it is of another program",
                            .graph = graph()};
}

SearchResult Engine::run(Chooser& chooser) {
  Engine* const outer = std::exchange(current, this);
  chooser_ = &chooser;
  bool left = chooser.begin();
  while (left && !result_.failure && result_.complete + result_.blocked < options_.most_executions) {
    depth_ = 0;
    push_branch();
    execute();
    if (std::exchange(anew_, false)) {
      result_ = {};
      chooser.begin_anew();
      if (options_.anew) options_.anew();
    } else {
      count();
    }
    left = chooser.begin();
  }
  chooser_ = nullptr;
  current = outer;
  if (result_.failure && result_.failure->kind != FailureKind::nondeterministic) tell();
  if (!result_.failure && left) cut_by(Bound::executions);
  if (!result_.failure && chooser.draws()) cut_by(Bound::chance);
  if (!result_.failure && chooser.bound_cut()) cut_by(Bound::cost);
  result_.mixed_words = mixed_.size();
  return std::move(result_);
}

SearchResult walk(const Program& program, Chooser& chooser, const SearchOptions& options) {
  return Engine(program, options).run(chooser);
}

/// A schedule does not say whether loads were deferred when it was made.
SearchResult Engine::run(const Schedule& schedule) {
  const auto follows = [](const SearchResult& result) {
    return !result.failure || result.failure->kind != FailureKind::nondeterministic;
  };
  SearchResult result = follow(schedule);
  if (follows(result) || !defers()) return result;
  defers_ = false;
  SearchResult undeferred = follow(schedule);
  if (follows(undeferred)) return undeferred;
  defers_ = true;
  return result;
}

SearchResult Engine::follow(const Schedule& schedule) {
  Engine* const outer = std::exchange(current, this);
  script_ = &schedule;
  recording_ = true;
  do {
    depth_ = 0;
    push_branch();
    result_ = {};
    rival_.reset();
    execute();
  } while (std::exchange(anew_, false));
  count();
  if (!result_.failure || result_.failure->kind != FailureKind::nondeterministic) expect_the_sum();
  recording_ = false;
  script_ = nullptr;
  current = outer;
  result_.cut = false;
  if (result_.failure) {
    result_.failure->steps = std::move(steps_);
    result_.failure->rival = rival_;
    result_.failure->schedule = to_text(schedule);
  }
  return std::move(result_);
}

/// Completes the failure of a search by what it did, step by step.
void Engine::tell() {
  Failure failure = std::move(*result_.failure);
  SearchResult found = std::exchange(result_, {});
  const Schedule schedule = schedule_of(failure.graph);
  failure.schedule = to_text(schedule);
  telling_ = true;
  SearchResult told = run(schedule);
  telling_ = false;
  // Whoever did nothing but plain accesses has no turn in a schedule: of two that meet, the other may come first now.
  if (told.failure && same_kind(*told.failure, failure)) failure = std::move(*told.failure);
  result_ = std::move(found);
  result_.failure = std::move(failure);
}

SearchResult replay(const Program& program, std::string_view text, const SearchOptions& options) {
  const ring::Result<Schedule> schedule = schedule_from(text);
  if (schedule) return Engine(program, options).run(*schedule);
  SearchResult result;
  result.failure =
      Failure{.kind = FailureKind::nondeterministic, .what = ring::to_string(schedule.error()), .graph = {}};
  return result;
}

}  // namespace ringside::explore
