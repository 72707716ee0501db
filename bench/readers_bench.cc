// SPDX-License-Identifier: Apache-2.0
//
// What a record costs by each strategy for BPF rings, and so what guards, tokens, leases and copies cost beside the
// plain walk: a ring in memory is filled once, and each iteration drains all of it through the contract of
// ring/consumer.h. There is no producer meanwhile and no kernel: the consumer's own work alone. The host reads the
// first word of each record (`touch` 0) or every byte (1).
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>

#include "consumers/registry.h"
#include "ring/layout.h"
#include "sim/ring_memory.h"

namespace ringside::consumers {
namespace {

namespace rb = ring::ringbuf;

/// A ring full of committed records of one size.
class FullRing {
 public:
  FullRing(std::uint64_t ring_bytes, std::uint32_t record_bytes)
      : memory_(sim::RingbufMemory::create(ring_bytes, sim::UserMapping::kernels).value()) {
    std::uint64_t position = 0;
    for (; position + rb::span_of(record_bytes) < ring_bytes; position += rb::span_of(record_bytes), ++records_) {
      std::memcpy(memory_.kernel_data() + position, &record_bytes, sizeof record_bytes);
    }
    store(memory_.kernel_producer_page(), position);
    ring_ = {.kind = RINGSIDE_RINGBUF,
             .cpu = -1,
             .fd = -1,
             .page_size = 4096,
             .data_size = ring_bytes,
             .consumer_page = memory_.kernel_consumer_page(),
             .producer_page = memory_.kernel_producer_page(),
             .data = memory_.kernel_data()};
    set_.kind = RINGSIDE_RINGBUF;
    set_.ring_count = 1;
    set_.rings = &ring_;
    set_.map_fd = -1;
  }

  void refill() { store(memory_.kernel_consumer_page(), 0); }
  std::uint64_t records() const { return records_; }
  const ringside_ring_set& set() const { return set_; }

 private:
  static void store(std::byte* page, std::uint64_t position) { std::memcpy(page, &position, sizeof position); }

  sim::RingbufMemory memory_;
  std::uint64_t records_ = 0;
  ringside_ring ring_{};
  ringside_ring_set set_{};
};

/// Takes what is delivered, and gives views back at once.
struct Taker {
  const ringside_consumer* consumer;
  void* state = nullptr;
  bool touches_all = false;
  std::uint64_t sum = 0;

  static int deliver(void* context, const ringside_record* record) {
    Taker& self = *static_cast<Taker*>(context);
    const auto* const words = static_cast<const std::uint64_t*>(record->data);
    self.sum += self.touches_all ? std::accumulate(words, words + record->size / 8, std::uint64_t{0}) : words[0];
    if (record->token != 0) self.consumer->release(self.state, record->token);
    return 0;
  }
};

void drain(benchmark::State& state, const ringside_consumer* consumer) {
  FullRing ring(static_cast<std::uint64_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
  Taker taker{.consumer = consumer, .touches_all = state.range(2) != 0};
  ringside_host host{};
  host.abi_version = RINGSIDE_CONSUMER_ABI;
  host.struct_size = sizeof(ringside_host);
  host.context = &taker;
  host.deliver = Taker::deliver;
  host.now_ns = [](void*) { return std::int64_t{1}; };
  for ([[maybe_unused]] auto _ : state) {
    ring.refill();
    if (consumer->open(&ring.set(), &host, &taker.state) != 0) return state.SkipWithError("it does not open the ring");
    std::uint64_t drained = 0;
    while (const std::int64_t count = consumer->drain(taker.state, UINT64_MAX)) {
      if (count < 0) return state.SkipWithError("drain tells an error");
      drained += static_cast<std::uint64_t>(count);
    }
    consumer->close(taker.state);
    if (drained != ring.records()) return state.SkipWithError("records are missing");
  }
  benchmark::DoNotOptimize(taker.sum);
  state.SetItemsProcessed(static_cast<std::int64_t>(ring.records()) * state.iterations());
}

void register_all() {
  for (const Entry& entry : strategies()) {
    const bool plain = (entry.consumer->ring_kinds & RINGSIDE_RINGBUF) != 0 && entry.consumer->needs == 0;
    if (!plain) continue;
    auto* const one = benchmark::RegisterBenchmark(entry.consumer->name, drain, entry.consumer);
    one->ArgNames({"ring", "size", "touch"});
    for (const std::int64_t size : {8, 128, 1024}) one->Args({1 << 20, size, 0});
    for (const std::int64_t size : {128, 1024}) one->Args({64 << 20, size, 0})->Args({64 << 20, size, 1});
    one->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace ringside::consumers

int main(int argc, char** argv) {
  ringside::consumers::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
