// SPDX-License-Identifier: Apache-2.0
#include "conform/readiness_model.h"

#include <cassert>
#include <utility>

#include "conform/readiness_kernel.h"

namespace ringside::conform {

namespace {

Outcome outcome_of(const ring::Result<void>& done) {
  return {.result = done ? 0 : -static_cast<std::int64_t>(done.error().code), .details = {}};
}

sim::Trigger trigger_of(ring::RingKind kind, const Op& op) {
  return value_of(kind, op, Arg::trigger) == 0 ? sim::Trigger::level : sim::Trigger::edge;
}

}  // namespace

ModelReadiness::ModelReadiness(std::vector<sim::PollSource*> sources, std::uint32_t interest, sim::Rule broken)
    : sources_(std::move(sources)), interest_(interest) {
  for (auto& set : sets_) set = std::make_unique<sim::Epoll>(broken);
}

Outcome ModelReadiness::apply(ring::RingKind kind, const Op& op) {
  assert(is_readiness(op.verb));
  if (op.verb == Verb::poll) return poll(descriptor_of(kind, op));
  const auto number = static_cast<std::size_t>(value_of(kind, op, Arg::set));
  if (op.verb == Verb::epoll_wait) return wait(number);
  const std::size_t index = descriptor_of(kind, op);
  sim::PollSource& source = *sources_[index];
  sim::Epoll& set = *sets_[number];
  if (op.verb == Verb::epoll_remove) return outcome_of(set.remove(source));
  const sim::Trigger trigger = trigger_of(kind, op);
  if (op.verb == Verb::epoll_modify) return outcome_of(set.modify(source, trigger));
  return outcome_of(set.add(source, trigger, static_cast<std::uint32_t>(index), interest_));
}

Outcome ModelReadiness::poll(std::size_t source) {
  const std::uint32_t bits = sources_[source]->poll();
  return {.result = bits != 0, .details = {bits}};
}

Outcome ModelReadiness::wait(std::size_t set) {
  std::array<ringside_ready, 4> ready{};
  assert(sources_.size() <= ready.size());
  const std::size_t count = sets_[set]->poll_ready(ready);
  Outcome outcome{.result = static_cast<std::int64_t>(count), .details = {}};
  for (std::size_t i = 0; i < count; ++i) {
    outcome.details.push_back(ready[i].ring);
    outcome.details.push_back(ready[i].events);
  }
  return outcome;
}

Outcome ModelReadiness::look() {
  Outcome all;
  for (std::size_t source = 0; source < sources_.size(); ++source) all.details.push_back(poll(source).details[0]);
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    const Outcome one = wait(set);
    all.details.push_back(static_cast<std::uint64_t>(one.result));
    all.details.insert(all.details.end(), one.details.begin(), one.details.end());
  }
  return all;
}

}  // namespace ringside::conform
