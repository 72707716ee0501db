// SPDX-License-Identifier: Apache-2.0
//
// What the model costs: records produced and drained on one thread, and each half alone. The goal for 64-byte records
// is at least 10 million a second, written as test records and judged.
#include <benchmark/benchmark.h>

#include <cstring>

#include "ring/judge.h"
#include "sim/machine.h"
#include "sim/test_reader.h"

namespace {

using namespace ringside;
using namespace ringside::sim;

constexpr std::uint64_t data_size = 1 << 20;
constexpr int batch = 1000;

enum class Use { copied, judged };

// `batch` records are produced, then drained: copied out, or judged byte for byte.
void produce_and_drain(benchmark::State& state, ring::RingKind kind, Use use) {
  const auto size = static_cast<std::uint32_t>(state.range(0));
  const auto machine = Machine::create({.kind = kind, .data_size = data_size}).value();
  test::Reader reader(machine->user_view(0));
  ring::JudgeOptions judge_options;
  judge_options.kind = kind;
  ring::Judge judge(judge_options);
  std::vector<std::byte> copy(size + 8);
  const ring::Operation operation{.action = ring::Action::output, .size = size};
  const auto deliver = [&](std::span<const std::byte> bytes) {
    if (use == Use::judged) {
      judge.deliver(0, bytes);
      return;
    }
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    benchmark::DoNotOptimize(copy.data());
  };
  for (auto _ : state) {
    for (int i = 0; i < batch; ++i) machine->run(operation);
    if (reader.drain(deliver, [](std::uint64_t) {}) != batch) state.SkipWithError("records were lost");
  }
  state.SetItemsProcessed(state.iterations() * batch);
  state.SetBytesProcessed(state.iterations() * batch * size);
}

void RingbufCopied(benchmark::State& state) { produce_and_drain(state, ring::RingKind::ringbuf, Use::copied); }
void RingbufJudged(benchmark::State& state) { produce_and_drain(state, ring::RingKind::ringbuf, Use::judged); }
void PerfCopied(benchmark::State& state) { produce_and_drain(state, ring::RingKind::perf, Use::copied); }
void PerfJudged(benchmark::State& state) { produce_and_drain(state, ring::RingKind::perf, Use::judged); }
BENCHMARK(RingbufCopied)->Arg(64)->Arg(512);
BENCHMARK(RingbufJudged)->Arg(64)->Arg(512);
BENCHMARK(PerfCopied)->Arg(64)->Arg(512);
BENCHMARK(PerfJudged)->Arg(64)->Arg(512);

// The same, step by step on two CPUs drawn from the seed.
void RingbufStepped(benchmark::State& state) {
  const auto size = static_cast<std::uint32_t>(state.range(0));
  const auto machine = Machine::create({.cpus = 2, .sources = 2, .data_size = data_size}).value();
  test::Reader reader(machine->user_view(0));
  std::uint64_t delivered = 0;
  for (auto _ : state) {
    for (std::uint16_t cpu = 0; cpu < 2; ++cpu) {
      machine->begin(cpu, Context::task, {.source = cpu, .cpu = cpu, .size = size});
    }
    while (machine->step_any()) {
    }
    delivered += reader.drain([](std::span<const std::byte>) {}, [](std::uint64_t) {});
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(delivered));
}
BENCHMARK(RingbufStepped)->Arg(64);

}  // namespace
