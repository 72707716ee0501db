// SPDX-License-Identifier: Apache-2.0
//
// What an execution costs the explorer: of a ring in miniature, whose threads are written for it, and so without what
// instrumented code costs besides. Items are executions, complete and blocked. The goals: 300,000 a second of one
// producer and two records, 150,000 where an execution has 50 steps.
#include <benchmark/benchmark.h>

#include "explore/miniature_ring.h"
#include "explore/walks.h"

namespace {

using namespace ringside::explore;

/// Steps of an execution: accesses, of memory that is atomic.
void search_all(benchmark::State& state, const MiniatureShape& shape) {
  std::uint64_t executions = 0;
  std::uint64_t steps = 0;
  Miniature ring(shape, {});
  const Program program = ring.program();
  for (auto _ : state) {
    const SearchResult result = search(program, {.observe = [&steps](const Graph& graph) { steps = graph.size(); }});
    if (result.failure) state.SkipWithError(result.failure->what.c_str());
    executions += result.complete + result.blocked;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(executions));
  state.counters["steps"] = static_cast<double>(steps);
}

/// Drawn, because all of them are too few to be timed.
void walk_at_random(benchmark::State& state, const MiniatureShape& shape) {
  constexpr std::uint64_t executions = 10'000;
  Miniature ring(shape, {});
  const Program program = ring.program();
  for (auto _ : state) {
    const auto walk_of = random_walk(7);
    benchmark::DoNotOptimize(walk(program, *walk_of, {.most_executions = executions}));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(executions) * state.iterations());
}

BENCHMARK_CAPTURE(walk_at_random, 1x2, MiniatureShape{1, 2, false})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_all, 1x2, MiniatureShape{1, 2, false})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_all, 1x3, MiniatureShape{1, 3, false})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_all, 1x4, MiniatureShape{1, 4, false})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_all, 1x5, MiniatureShape{1, 5, false})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_all, 2x2, MiniatureShape{2, 2, false})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_all, 3x1_with_pending_pos, MiniatureShape{3, 1, true})->Unit(benchmark::kMillisecond);

}  // namespace
