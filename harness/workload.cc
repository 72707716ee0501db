// SPDX-License-Identifier: Apache-2.0
#include "harness/workload.h"

#include <algorithm>
#include <cassert>

#include "ring/layout.h"

namespace ringside::harness {

namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ull;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t Random::next() {
  state_ += golden;
  return mix(state_);
}

std::uint64_t Random::below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }

std::uint32_t largest_payload(ring::RingKind kind, std::uint64_t ring_size) {
  // Above this many bytes no dynptr is: neither a program's reservation [1.7], nor the sample of a drain [3.2].
  constexpr std::uint64_t largest_dynptr = 0xffffff;
  if (kind == ring::RingKind::ringbuf) {
    return static_cast<std::uint32_t>(std::min(ring::ringbuf::max_payload(ring_size), largest_dynptr));
  }
  if (kind == ring::RingKind::user_ringbuf) {
    // It may be exactly full [3.3].
    return static_cast<std::uint32_t>(std::min(ring_size - ring::ringbuf::header_bytes, largest_dynptr));
  }
  // A record of N bytes never fits [2.4]: the largest is N - 8, header and raw_size included.
  const std::uint64_t fits = ring_size - 8 - ring::perf::header_bytes - 4;
  return static_cast<std::uint32_t>(std::min(fits, ring::perf::max_payload));
}

std::uint32_t size_of(const SizePlan& plan, std::uint64_t number, std::uint32_t largest) {
  if (!plan.cycle.empty()) {
    const std::uint32_t size = plan.cycle[number % plan.cycle.size()];
    return size == SizePlan::largest ? largest : size;
  }
  return plan.min + static_cast<std::uint32_t>(mix(number + golden) % (std::uint64_t{plan.max} - plan.min + 1));
}

SourceWorkload::SourceWorkload(const SourcePlan& plan, std::uint16_t source, std::uint16_t nested_source,
                               ring::RingKind kind, std::uint32_t largest_payload, std::uint64_t records)
    : plan_(plan),
      source_(source),
      nested_source_(nested_source),
      kind_(kind),
      largest_(largest_payload),
      records_(records) {}

ring::Operation SourceWorkload::settle() {
  holding_ = false;
  due_ns_ += plan_.interval_ns;
  return {.action = ring::Action::settle_submit, .flags = plan_.flags, .source = source_, .cpu = plan_.cpu};
}

ring::Operation SourceWorkload::next_record() {
  // A perf record is made in one go; only the program of an A/B swap can be held, before it makes one.
  const bool outputs = kind_ == ring::RingKind::perf && plan_.action != ring::Action::hold;
  ring::Operation operation{.action = outputs ? ring::Action::output : plan_.action,
                            .flags = plan_.flags,
                            .source = source_,
                            .cpu = plan_.cpu,
                            .nested_source = nested_source_,
                            .size = size_of(plan_.size, issued_ + discards_due_, largest_),
                            .nested = plan_.nested,
                            .nested_size = plan_.nested_size};
  if (discards_due_ > 0) {
    --discards_due_;
    operation.action = ring::Action::discard;
    return operation;
  }
  ++issued_;
  if (plan_.force_every > 0 && issued_ % plan_.force_every == 0) operation.flags = ring::flag_force_wakeup;
  if (plan_.discard_every > 0 && ++since_discard_ == plan_.discard_every) {
    since_discard_ = 0;
    discards_due_ = plan_.discard_run;
  }
  return operation;
}

ring::Operation SourceWorkload::take(std::int64_t now_ns) {
  assert(!done());
  due_ns_ = std::max(due_ns_, now_ns);
  if (holding_) return settle();
  if (burst_left_ == 0) burst_left_ = plan_.burst;
  const ring::Operation operation = next_record();
  --burst_left_;
  if (operation.action == ring::Action::hold) {
    holding_ = true;
    burst_left_ = 0;
    due_ns_ += plan_.hold_ns;
  } else if (burst_left_ == 0) {
    due_ns_ += plan_.interval_ns;
  }
  if (done()) burst_left_ = 0;
  return operation;
}

Workload::Workload(const Scenario& scenario, ring::RingKind kind, std::uint64_t records) {
  std::uint64_t planned = 0;
  for (const SourcePlan& plan : scenario.sources) planned += plan.records;
  const std::uint32_t largest = largest_payload(kind, scenario.ring.size) - ring::stamp_bytes(scenario.ring.stamp);
  auto nested = static_cast<std::uint16_t>(scenario.sources.size());
  std::vector<std::uint16_t> nested_cpus;
  for (std::size_t index = 0; index < scenario.sources.size(); ++index) {
    const SourcePlan& plan = scenario.sources[index];
    // Shares keep their proportion; each source attempts at least one record.
    const auto share = static_cast<std::uint64_t>(static_cast<unsigned __int128>(records) * plan.records / planned);
    const std::uint64_t own = records == 0 ? plan.records : std::max<std::uint64_t>(share, 1);
    sources_.emplace_back(plan, static_cast<std::uint16_t>(index), nested, kind, largest, own);
    cpu_of_.push_back(plan.cpu);
    records_of_.push_back(own);
    most_records_ = std::max({most_records_, own, own * plan.nested});
    const std::uint64_t discarded = plan.discard_every == 0 ? 0 : own / plan.discard_every * plan.discard_run;
    planned_records_ += own * (1 + plan.nested) + discarded;
    if (plan.nested > 0) {
      nested_cpus.push_back(plan.cpu);
      ++nested;
    }
  }
  cpu_of_.insert(cpu_of_.end(), nested_cpus.begin(), nested_cpus.end());
  source_count_ = nested;
}

bool Workload::done() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const SourceWorkload& source) { return source.done(); });
}

}  // namespace ringside::harness
