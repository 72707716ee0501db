// SPDX-License-Identifier: Apache-2.0
//
// What it costs to judge a record, its payload proven: against records that lie in the cache, as those of a small ring
// do, and against a stream that is larger than any cache. judge_bytes shows the memory for a billion records.
#include <benchmark/benchmark.h>

#include <vector>

#include "ring/judge.h"
#include "ring/record.h"

namespace ringside::ring {
namespace {

/// Records of source 0 side by side.
std::vector<std::byte> stream_of(std::size_t records, std::uint32_t length) {
  std::vector<std::byte> stream(records * length);
  for (std::size_t i = 0; i < records; ++i) {
    write_record(std::span(stream).subspan(i * length, length),
                 {.source = 0, .state = RecordState::committed, .length = length, .sequence = i});
  }
  return stream;
}

/// Range 0: bytes of a record; range 1: bytes of the stream.
void judge_stream(benchmark::State& state) {
  const auto length = static_cast<std::uint32_t>(state.range(0));
  const std::size_t records = static_cast<std::size_t>(state.range(1)) / length;
  const std::vector<std::byte> stream = stream_of(records, length);
  for (auto _ : state) {
    Judge judge(JudgeOptions{});
    for (std::size_t i = 0; i < records; ++i) judge.deliver(0, std::span(stream).subspan(i * length, length));
    ProducerLedger ledger;
    ledger.sources.resize(1);
    ledger.sources[0].attempts = ledger.sources[0].committed = records;
    if (!judge.finish(ledger).clean()) state.SkipWithError("the judge convicted a clean stream");
  }
  const auto total = state.iterations() * static_cast<std::int64_t>(records);
  state.SetItemsProcessed(total);
  state.SetBytesProcessed(total * length);
  state.counters["per_record"] =
      benchmark::Counter(static_cast<double>(total), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(judge_stream)
    ->ArgNames({"record", "stream"})
    ->ArgsProduct({{16, 64, 256, 2048, 16384}, {256 << 10, 64 << 20}})
    ->Repetitions(9)
    ->ReportAggregatesOnly();

/// The same for producers: writing a record.
void write_stream(benchmark::State& state) {
  const auto length = static_cast<std::uint32_t>(state.range(0));
  std::vector<std::byte> bytes(length);
  std::uint64_t sequence = 0;
  for (auto _ : state) {
    write_record(bytes, {.source = 0, .state = RecordState::committed, .length = length, .sequence = sequence++});
    benchmark::DoNotOptimize(bytes.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * length);
}
BENCHMARK(write_stream)->ArgName("record")->Arg(8)->Arg(64)->Arg(2048)->Repetitions(9)->ReportAggregatesOnly();

/// A billion numbers; every range(0)-th is missing, none if that is 0.
void judge_a_billion(benchmark::State& state) {
  const std::uint64_t numbers = 1'000'000'000;
  const auto skip = static_cast<std::uint64_t>(state.range(0));
  std::size_t held = 0;
  for (auto _ : state) {
    Judge judge(JudgeOptions{});
    std::vector<std::byte> bytes(16);
    for (std::uint64_t number = 0; number < numbers; ++number) {
      if (skip != 0 && number % skip == 0) continue;
      write_record(bytes, {.source = 0, .state = RecordState::committed, .length = 16, .sequence = number});
      judge.deliver(0, bytes);
    }
    held = judge.memory_bytes();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(numbers));
  state.counters["judge_bytes"] = static_cast<double>(held);
}
BENCHMARK(judge_a_billion)
    ->ArgName("every_nth_missing")
    ->Arg(0)
    ->Arg(2)
    ->Arg(1000)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace ringside::ring
