// SPDX-License-Identifier: Apache-2.0
//
// The ledger made of the programs' counters, and prefilling. The counters are read with relaxed loads where a program
// may run: a counter is stored before its record is published, so whoever has seen the record reads the counter's value
// or a later one (see bpf/shared.h).
#include "real/producers.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cassert>

#include "real/inspect.h"
#include "real/program.h"
#include "ring/layout.h"

namespace ringside::real {

namespace {

std::uint64_t load_relaxed(const __u64& counter) { return __atomic_load_n(&counter, __ATOMIC_RELAXED); }

ring::SourceLedger source_ledger(const ringside_counters& counters) {
  ring::SourceLedger ledger;
  ledger.attempts = load_relaxed(counters.attempts);
  ledger.committed = load_relaxed(counters.committed);
  ledger.empty = load_relaxed(counters.empty);
  ledger.discarded = load_relaxed(counters.discarded);
  ledger.malformed = load_relaxed(counters.malformed);
  ledger.open = load_relaxed(counters.open);
  for (std::uint32_t code = 0; code < RINGSIDE_ERRNOS; ++code) {
    if (const std::uint64_t count = load_relaxed(counters.failed[code]); count != 0) {
      ledger.failed[static_cast<int>(code)] = count;
    }
  }
  return ledger;
}

const ringside_counters& counters_of(const Program& program, std::uint32_t source) {
  assert(source < RINGSIDE_SOURCES);
  return program.shared().counters[source];
}

/// Of a source of an A/B swap (Producers::load_swap); 0 where there are no sides.
std::size_t side_of(const Program& program, std::uint32_t source) {
  const std::uint32_t sources = program.swap_sources();
  if (program.swap() == nullptr || source < sources) return 0;
  return source < 2 * sources || source - 2 * sources >= program.cpus().size() ? 1 : 0;
}

/// How prefilling cuts its bytes: one record spans at most `most` bytes, and `overhead` of them are not payload.
struct PrefillShape {
  std::uint64_t least;
  std::uint64_t most;
  std::uint64_t overhead;
};

PrefillShape prefill_shape(const ringside_ring& ring, std::uint32_t max_record_bytes) {
  // Half a ring at a time, so that the record fits wherever the ring stands.
  const std::uint64_t half = ring.data_size / 2;
  const std::uint64_t record = std::uint64_t{max_record_bytes} / 8 * 8;
  if (ring.kind == RINGSIDE_PERF) {
    const std::uint64_t overhead = ring::perf::header_bytes + 4;
    return {.least = 16,
            .most = std::min({half, ring::round_up_8(ring::perf::max_payload) - 16, record}),
            .overhead = overhead};
  }
  return {.least = 8, .most = std::min(half, record), .overhead = ring::ringbuf::header_bytes};
}

/// The bytes of the next record: never so many that what remains is too little for one.
std::uint64_t next_span(const PrefillShape& shape, std::uint64_t remaining) {
  const std::uint64_t span = std::min(shape.most, remaining);
  const std::uint64_t rest = remaining - span;
  return rest != 0 && rest < shape.least ? span - shape.least : span;
}

/// Takes the wake-up that a perf ring's prefilling may have left: the kernel hands it out once.
void take_stale_wakeup(int fd) {
  pollfd item{.fd = fd, .events = POLLIN, .revents = 0};
  ::poll(&item, 1, 0);
}

}  // namespace

ring::Result<Producers> Producers::load(const RingbufMap& ring, const ProducersOptions& options) {
  auto program = Program::load(ring, options);
  if (!program) return tl::unexpected(program.error());
  return Producers(std::move(*program));
}

ring::Result<Producers> Producers::load(const CpuRingbufs& rings, const ProducersOptions& options) {
  auto program = Program::load(rings, options);
  if (!program) return tl::unexpected(program.error());
  return Producers(std::move(*program));
}

ring::Result<Producers> Producers::load(const PerfRings& rings, const ProducersOptions& options) {
  auto program = Program::load(rings, options);
  if (!program) return tl::unexpected(program.error());
  return Producers(std::move(*program));
}

ring::Result<Producers> Producers::load_swap(const PerfRings& side_0, const PerfRings& side_1, std::uint32_t sources,
                                             const ProducersOptions& options) {
  auto program = Program::load_swap(side_0, side_1, sources, options);
  if (!program) return tl::unexpected(program.error());
  return Producers(std::move(*program));
}

// The same three words, which programs have in a type of the kernel's (program.cc asserts so).
ringside_swap* Producers::swap() const { return reinterpret_cast<ringside_swap*>(&program_->swap()->words); }

std::uint64_t Producers::in_flight(std::uint32_t side) const {
  // First those that chose: who is over by the second load may have chosen after the first.
  const std::uint64_t chosen = __atomic_load_n(&program_->swap()->chosen[side], __ATOMIC_ACQUIRE);
  const std::uint64_t over = __atomic_load_n(&program_->swap()->over[side], __ATOMIC_ACQUIRE);
  return chosen > over ? chosen - over : 0;
}

std::uint64_t Producers::counted() const { return __atomic_load_n(&program_->swap()->counted, __ATOMIC_ACQUIRE); }

ring::ProducerLedger Producers::ledger(std::uint32_t source_count) const {
  assert(source_count <= max_sources);
  ring::ProducerLedger ledger;
  const std::vector<std::uint32_t>& cpus = program_->cpus();
  for (std::uint32_t source = 0; source < source_count; ++source) {
    const ringside_counters& counters = counters_of(*program_, source);
    ledger.sources.push_back(source_ledger(counters));
    const auto ring = std::find(cpus.begin(), cpus.end(), counters.cpu);
    if (ring == cpus.end()) continue;
    const std::size_t first = side_of(*program_, source) * cpus.size();
    ledger.sources.back().ring = static_cast<std::uint32_t>(first + static_cast<std::size_t>(ring - cpus.begin()));
  }
  const std::size_t sides = program_->swap() == nullptr ? 1 : 2;
  ledger.unreported_losses.assign(std::max<std::size_t>(sides * cpus.size(), 1), 0);
  for (std::size_t ring = 0; ring < sides * cpus.size(); ++ring) {
    const std::uint32_t first = ring < cpus.size() ? 0 : RINGSIDE_CPUS / 2;
    ledger.unreported_losses[ring] =
        load_relaxed(program_->shared().unreported_losses[first + cpus[ring % cpus.size()]]);
  }
  return ledger;
}

std::uint64_t Producers::reserved_so_far(std::uint32_t source) const {
  return load_relaxed(counters_of(*program_, source).reserved);
}

std::uint64_t Producers::committed_so_far(std::uint32_t source) const {
  return load_relaxed(counters_of(*program_, source).committed);
}

std::uint64_t Producers::attempts_so_far(std::uint32_t source) const {
  return load_relaxed(counters_of(*program_, source).attempts);
}

ring::Result<void> Producers::prefill(const ringside_ring& ring, std::uint64_t bytes) {
  const std::string attempt = fmt::format("prefill ring by {} bytes", bytes);
  const PrefillShape shape = prefill_shape(ring, program_->max_record_bytes());
  if (bytes % 8 != 0 || (bytes != 0 && bytes < shape.least)) {
    return ring::error(attempt, fmt::format("a record spans a multiple of 8 and at least {} bytes", shape.least));
  }
  auto script = ScriptProducer::create(*this);
  if (!script) return tl::unexpected(script.error());
  const auto online = online_cpus();
  if (!online) return tl::unexpected(online.error());
  const std::uint32_t cpu = ring.cpu >= 0 ? static_cast<std::uint32_t>(ring.cpu) : online->front();
  while (bytes != 0) {
    const std::uint64_t span = next_span(shape, bytes);
    const ring::Operation operation{.action = ring::Action::output,
                                    .flags = ring::flag_no_wakeup,
                                    .source = prefill_source,
                                    .cpu = static_cast<std::uint16_t>(cpu),
                                    .size = static_cast<std::uint32_t>(span - shape.overhead)};
    const auto results = script->run({&operation, 1});
    if (!results) return tl::unexpected(results.error());
    if (results->front() != 0) return ring::errno_error(attempt, -results->front());
    consume_all(ring);
    bytes -= span;
  }
  if (ring.kind == RINGSIDE_PERF) take_stale_wakeup(ring.fd);
  return {};
}

}  // namespace ringside::real
