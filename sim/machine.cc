// SPDX-License-Identifier: Apache-2.0
//
// The machine's face: its rings, readiness and what happened. How operations advance is in machine_step.cc.
#include "sim/machine.h"

#include <cassert>
#include <cerrno>
#include <utility>

#include "sim/machine_state.h"

namespace ringside::sim {

using ring::Result;

namespace {

constexpr std::uint32_t most_cpus = 1024;
constexpr std::uint32_t most_sources = 65536;

Result<void> check(const MachineOptions& options) {
  if (options.cpus == 0 || options.cpus > most_cpus) {
    return ring::error("build a machine of " + std::to_string(options.cpus) + " CPUs", "that many are not modelled",
                       "use 1 to " + std::to_string(most_cpus));
  }
  if (options.sources == 0 || options.sources > most_sources) {
    return ring::error("build a machine of " + std::to_string(options.sources) + " sources",
                       "a record has 16 bits for its source", "use 1 to " + std::to_string(most_sources));
  }
  if (options.overwrite && options.kind != ring::RingKind::ringbuf) {
    return ring::error("build a machine of overwrite rings", "only BPF ring buffers have that mode here",
                       "use RingKind::ringbuf");
  }
  if (options.overwrite && !ringbuf_rules(options.kernel).has_overwrite) {
    return ring::error("build a machine with an overwrite ring on kernel " + to_string(options.kernel),
                       "BPF_F_RB_OVERWRITE came with 6.19", "name kernel 6.19 or newer");
  }
  if ((options.per_cpu || options.stamp != ring::Stamp::none) &&
      (options.overwrite || options.kind != ring::RingKind::ringbuf)) {
    return ring::error("build a machine of stamped rings, or of one a CPU", "only BPF ring buffers that refuse are so",
                       "use RingKind::ringbuf without overwrite; a perf machine has one ring a CPU anyway");
  }
  const auto& hup_ring = options.faults.hup_ring;
  const std::uint32_t rings = options.kind == ring::RingKind::ringbuf && !options.per_cpu ? 1 : options.cpus;
  if (hup_ring && *hup_ring >= rings) {
    return ring::error("plan HUP on ring " + std::to_string(*hup_ring), "there is no such ring",
                       "use 0 to " + std::to_string(rings - 1));
  }
  return {};
}

Result<std::unique_ptr<RingbufModel>> create_ringbuf(const MachineOptions& options) {
  return RingbufModel::create({.data_size = options.data_size,
                               .start_position = options.start_position,
                               .map_flags = options.overwrite ? flag_rb_overwrite : 0,
                               .kernel = options.kernel,
                               .user_mapping = options.user_mapping});
}

Result<std::unique_ptr<PerfRingModel>> create_perf(const MachineOptions& options, std::uint32_t cpu) {
  PerfRingOptions perf;
  perf.data_size = options.data_size;
  perf.start_position = options.start_position;
  perf.attr.watermark = options.watermark_bytes != 0;
  perf.attr.wakeup_watermark = options.watermark_bytes;
  perf.attr.wakeup_events = options.wakeup_events;
  if (options.sample_time) perf.attr.sample_type |= sample_time;
  perf.attr.write_backward = options.backward;
  perf.writable = !options.backward;
  perf.event_id = cpu + 1;
  perf.user_mapping = options.user_mapping;
  return PerfRingModel::create(perf);
}

}  // namespace

Machine::Machine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Machine::~Machine() = default;

Result<std::unique_ptr<Machine>> Machine::create(const MachineOptions& options) {
  if (const auto checked = check(options); !checked) return tl::make_unexpected(checked.error());
  auto state = std::make_unique<State>(options);
  state->rules = ringbuf_rules(options.kernel);
  state->sources = std::make_unique<SourceState[]>(options.sources);
  for (std::uint32_t cpu = 0; cpu < options.cpus; ++cpu) {
    state->cpus.push_back(std::make_unique<Cpu>(options.seed + cpu + 1));
  }
  if (options.kind == ring::RingKind::ringbuf) {
    for (std::uint32_t cpu = 0; cpu < (options.per_cpu ? options.cpus : 1u); ++cpu) {
      auto ring = create_ringbuf(options);
      if (!ring) return tl::make_unexpected(ring.error());
      state->ringbufs.push_back(std::move(*ring));
      state->journals.emplace_back(options.data_size);
    }
    if (options.overwrite) {
      state->overwritten =
          std::make_unique<OverwrittenBooks>(*state->ringbufs[0], state->journals.front(), options.sources);
      state->ringbufs[0]->state().observer = state->overwritten.get();
    }
  } else {
    for (std::uint32_t cpu = 0; cpu < options.cpus; ++cpu) {
      auto ring = create_perf(options, cpu);
      if (!ring) return tl::make_unexpected(ring.error());
      state->perf.push_back(std::move(*ring));
      state->journals.emplace_back(options.data_size);
    }
  }
  for (const SourceJournal& journal : state->journals) {
    if (!journal.valid()) return ring::errno_error("keep the journal of a model ring", ENOMEM, "use a smaller ring");
  }
  return std::unique_ptr<Machine>(new Machine(std::move(state)));
}

// The rings.

std::uint32_t Machine::cpu_count() const { return state_->options.cpus; }

std::uint32_t Machine::ring_count() const { return static_cast<std::uint32_t>(state_->journals.size()); }

ringside_ring Machine::user_view(std::uint32_t ring) const {
  assert(ring < ring_count());
  ringside_ring view{};
  view.fd = -1;
  view.page_size = page_size_bytes();
  view.data_size = state_->options.data_size;
  if (state_->of_ringbufs()) {
    const RingbufMemory& memory = state_->ringbufs[ring]->memory();
    view.kind = RINGSIDE_RINGBUF;
    view.cpu = state_->options.per_cpu ? static_cast<std::int32_t>(ring) : -1;
    view.consumer_page = memory.user_consumer_page();
    view.producer_page = memory.user_producer_page();
    view.data = memory.user_data();
  } else {
    const PerfMemory& memory = state_->perf[ring]->memory();
    view.kind = RINGSIDE_PERF;
    view.cpu = static_cast<std::int32_t>(ring);
    view.consumer_page = memory.user_control_page();
    view.data = memory.user_data();
  }
  return view;
}

RingbufModel& Machine::ringbuf(std::uint32_t ring) {
  assert(ring < state_->ringbufs.size());
  return *state_->ringbufs[ring];
}

PerfRingModel& Machine::perf(std::uint32_t ring) {
  assert(ring < state_->perf.size());
  return *state_->perf[ring];
}

std::optional<std::string> Machine::describe(const void* address) const {
  for (std::uint32_t ring = 0; ring < ring_count(); ++ring) {
    const std::optional<Place> place = state_->of_ringbufs() ? state_->ringbufs[ring]->memory().locate(address)
                                                             : state_->perf[ring]->memory().locate(address);
    if (place) return "ring " + std::to_string(ring) + ": " + sim::describe(*place);
  }
  return std::nullopt;
}

// Readiness.

Result<void> Machine::arm(Trigger trigger) {
  for (std::uint32_t ring = 0; ring < ring_count(); ++ring) {
    if (const auto added = state_->epoll.add(state_->poll_source(ring), trigger, ring); !added) return added;
  }
  return {};
}

Epoll& Machine::epoll() { return state_->epoll; }

std::optional<int> Machine::begin_wait(std::span<ringside_ready> ready) {
  const FaultPlan& faults = state_->options.faults;
  const std::lock_guard guard(state_->wait_mutex);
  const std::uint64_t wait = ++state_->waits_begun;
  if (faults.eintr_every != 0 && wait % faults.eintr_every == 0) return -EINTR;
  if (faults.spurious_every != 0 && wait % faults.spurious_every == 0 && !ready.empty()) {
    ready[0] = {state_->wait_random.below(ring_count()), RINGSIDE_POLLIN};
    return 1;
  }
  return std::nullopt;
}

int Machine::wait_blocking(std::span<ringside_ready> ready, std::int64_t timeout_ns) {
  if (const std::optional<int> early = begin_wait(ready)) return *early;
  return state_->epoll.wait(ready, timeout_ns);
}

void Machine::cancel_waits() { state_->epoll.cancel(); }

void Machine::hang_up(std::uint32_t ring) {
  assert(ring < ring_count());
  if (state_->of_ringbufs()) {
    state_->ringbufs[ring]->hang_up();
  } else {
    state_->perf[ring]->hang_up();
  }
}

VirtualClock& Machine::clock() { return state_->clock; }

// What happened.

int Machine::last_result(std::uint32_t cpu) const { return state_->cpus[cpu]->last_result; }

std::uint64_t Machine::operations_ended() const { return state_->operations_ended(); }

ring::ProducerLedger Machine::ledger() const {
  ring::ProducerLedger ledger;
  for (std::uint32_t source = 0; source < state_->options.sources; ++source) {
    ledger.sources.push_back(state_->sources[source].ledger);
  }
  ledger.unreported_losses.resize(ring_count());
  for (std::uint32_t ring = 0; ring < state_->perf.size(); ++ring) {
    ledger.unreported_losses[ring] = state_->perf[ring]->state().lost;
  }
  return ledger;
}

std::uint64_t Machine::reserved_so_far(std::uint32_t source) const {
  assert(source < state_->options.sources);
  return state_->sources[source].next_committed();
}

bool Machine::deliverable(std::uint32_t ring) const {
  return state_->of_ringbufs() ? state_->ringbufs[ring]->deliverable() : state_->perf[ring]->deliverable();
}

bool Machine::any_deliverable() const {
  for (std::uint32_t ring = 0; ring < ring_count(); ++ring) {
    if (deliverable(ring)) return true;
  }
  return false;
}

std::vector<std::uint64_t> Machine::records_left() const {
  std::vector<std::uint64_t> left(state_->options.sources);
  for (std::uint32_t ring = 0; ring < state_->ringbufs.size(); ++ring) {
    state_->ringbufs[ring]->visit_unread([&](std::uint64_t position, std::uint32_t header) {
      if (ring::ringbuf::is_busy(header) || ring::ringbuf::is_discarded(header)) return;
      ++left[state_->journals[ring].source_at(position)];
    });
  }
  for (std::uint32_t ring = 0; ring < state_->perf.size(); ++ring) {
    state_->perf[ring]->visit_unread([&](std::uint64_t position, const ring::perf::RecordHeader& header) {
      if (header.type == ring::perf::type_sample) ++left[state_->journals[ring].source_at(position)];
    });
  }
  return left;
}

const ring::Overwritten& Machine::overwritten() const {
  static const ring::Overwritten nothing;
  return state_->overwritten ? state_->overwritten->overwritten() : nothing;
}

void OverwrittenBooks::given_up(std::uint64_t position, std::uint32_t header) {
  if (ring::ringbuf::is_discarded(header)) return;
  // Acquire, pairs with the commit's exchange (P10): `header` was read relaxed, and the journal's entry was made before
  // that commit.
  PlainMemory::load_acquire(ring_.state().length_word(position));
  const bool unread = static_cast<std::int64_t>(ring_.consumer_pos() - position) <= 0;
  if (ring::ringbuf::length_of(header) == 0) {
    overwritten_.empties += unread ? 1u : 0u;
    return;
  }
  // A source's records lie in the ring in the order of their numbers, and all of them are passed here.
  const std::uint16_t source = journal_.source_at(position);
  const std::uint64_t number = passed_[source]++;
  if (unread) overwritten_.add(source, number);
}

std::uint64_t Machine::wakeups(std::uint32_t ring) const { return state_->poll_source(ring).wait_queue().wakeups(); }

}  // namespace ringside::sim
