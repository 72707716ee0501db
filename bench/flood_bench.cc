// SPDX-License-Identifier: Apache-2.0
//
// How fast the producers are: what a consumer's figures are to be read against. `records/s` is what one flood thread
// commits; in the Drained ones a plain reader on another CPU keeps the ring empty.
#include <benchmark/benchmark.h>

#include <cstring>

#include "real/inspect.h"
#include "real/pinned.h"
#include "real/producers.h"
#include "ring/layout.h"

namespace ringside::real {
namespace {

constexpr std::uint64_t ring_bytes = 64u << 20;

/// Reads one word of each record and consumes in batches; the position is published once a pass.
std::uint64_t drain(const ringside_ring& ring) {
  const auto* const data = static_cast<const std::byte*>(ring.data);
  const Positions at = positions_of(ring);
  std::uint64_t position = at.consumer;
  std::uint64_t records = 0;
  while (position < at.producer) {
    const std::byte* const place = data + (position & (ring.data_size - 1));
    const auto header = __atomic_load_n(reinterpret_cast<const std::uint32_t*>(place), __ATOMIC_ACQUIRE);
    if (ring::ringbuf::is_busy(header)) break;
    benchmark::DoNotOptimize(*reinterpret_cast<const std::uint64_t*>(place + 8));
    position += ring::ringbuf::span_of(header);
    ++records;
  }
  set_consumer_position(ring, position);
  return records;
}

/// `order` until `records` are committed, drained from the last CPU whenever `least_bytes` are unread.
void run_drained(benchmark::State& state, FloodThread order, std::uint64_t least_bytes = 0) {
  const auto cpus = online_cpus();
  auto ring = RingbufMap::create(ring_bytes);
  if (!ring || !cpus) return state.SkipWithError("no kernel rings here");
  auto producers = Producers::load(*ring);
  if (!producers) return state.SkipWithError("no BPF programs here");
  if (!pin_to(cpus->back())) return state.SkipWithError("it may not run on the last CPU");
  order.cpu = cpus->front();
  std::uint64_t total = 0;
  for ([[maybe_unused]] auto _ : state) {
    auto flood = Flood::start(*producers, {&order, 1});
    if (!flood) return state.SkipWithError("flood did not start");
    while (!flood->done()) {
      const Positions at = positions_of(ring->ring());
      if (at.producer - at.consumer >= least_bytes) drain(ring->ring());
    }
    drain(ring->ring());
    total += order.records;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(total));
  const auto ledger = producers->ledger(1).sources[0];
  state.counters["failed"] = static_cast<double>(ledger.failed_total());
}

void drained(benchmark::State& state) {
  const auto size = static_cast<std::uint32_t>(state.range(0));
  run_drained(state, {.records = 2'000'000, .min_size = size, .max_size = size});
}
void drained_no_wakeup(benchmark::State& state) {
  const auto size = static_cast<std::uint32_t>(state.range(0));
  run_drained(state, {.records = 2'000'000, .min_size = size, .max_size = size, .flags = ring::flag_no_wakeup});
}
/// Producer and reader stay away from each other's cache lines, and the reader is never asleep where a record is.
void drained_in_bulk(benchmark::State& state) {
  const auto size = static_cast<std::uint32_t>(state.range(0));
  run_drained(state, {.records = 5'000'000, .min_size = size, .max_size = size}, 1u << 20);
}
void drained_output(benchmark::State& state) {
  const auto size = static_cast<std::uint32_t>(state.range(0));
  run_drained(state, {.records = 2'000'000, .min_size = size, .max_size = size, .by_output = true});
}

/// No reader: as many records as the ring takes.
void alone(benchmark::State& state) {
  const auto size = static_cast<std::uint32_t>(state.range(0));
  const auto cpus = online_cpus();
  auto ring = RingbufMap::create(ring_bytes);
  if (!ring || !cpus) return state.SkipWithError("no kernel rings here");
  auto producers = Producers::load(*ring);
  if (!producers) return state.SkipWithError("no BPF programs here");
  if (!pin_to(cpus->back())) return state.SkipWithError("it may not run on the last CPU");
  const std::uint64_t records = ring_bytes / ring::ringbuf::span_of(size) - 1;
  const FloodThread order{.cpu = cpus->front(), .records = records, .min_size = size, .max_size = size};
  for ([[maybe_unused]] auto _ : state) {
    auto flood = Flood::start(*producers, {&order, 1});
    if (!flood || !flood->join()) return state.SkipWithError("flood failed");
    consume_all(ring->ring());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(records) * state.iterations());
}

void load(benchmark::State& state) {
  auto ring = RingbufMap::create(4096);
  if (!ring) return state.SkipWithError("no kernel rings here");
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(Producers::load(*ring));
}

void script_of_one(benchmark::State& state) {
  auto ring = RingbufMap::create(4096);
  auto producers = Producers::load(*ring);
  if (!producers) return state.SkipWithError("no BPF programs here");
  auto script = ScriptProducer::create(*producers);
  const ring::Operation one{.action = ring::Action::submit, .size = 64};
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(script->run({&one, 1}));
    consume_all(ring->ring());
  }
}

BENCHMARK(alone)->Arg(64)->Arg(128)->Arg(512)->Arg(2048)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(drained)->Arg(64)->Arg(128)->Arg(512)->Arg(2048)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(drained_no_wakeup)->Arg(64)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(drained_in_bulk)->Arg(64)->Arg(512)->Arg(2048)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(drained_output)->Arg(64)->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(load)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(script_of_one)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ringside::real
