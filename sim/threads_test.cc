// SPDX-License-Identifier: Apache-2.0
//
// The machine with real threads: one a CPU, and a consumer that sleeps in epoll. Everything is judged.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "ring/judge.h"
#include "sim/test_reader.h"
#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using ring::Action;
using ring::Operation;
using test::must;
using test::Reader;

constexpr std::uint16_t producers = 2;
constexpr std::uint64_t commits = 3000;  // per producer

// A mix of everything that one source may do.
Operation operation_of(const MachineOptions& options, std::uint16_t cpu, std::uint64_t index, Random& dice) {
  Operation operation;
  operation.source = cpu;
  operation.cpu = cpu;
  const bool perf = options.kind == ring::RingKind::perf;
  const auto size = [&](std::uint32_t bound) {
    const std::uint32_t drawn = dice.below(bound);
    return perf && drawn < RINGSIDE_RECORD_HEADER_BYTES ? 0 : drawn;  // short records cannot be judged there
  };
  operation.size = size(100);
  operation.action = Action::output;
  if (!perf) {
    const Action actions[] = {Action::submit, Action::discard, Action::output};
    operation.action = actions[dice.below(3)];
  }
  if (index % 7 == 0) {
    operation.nested = 1 + dice.below(2);
    operation.nested_size = size(50);
    operation.nested_source = static_cast<std::uint16_t>(producers + cpu);
  }
  return operation;
}

struct Consumption {
  ring::Verdict verdict;
  std::uint64_t sleeps = 0;
};

// One reader thread that drains, then sleeps until it is woken; ends when the producers have and it has drained.
void consume(Machine& machine, ring::Judge& judge, std::uint64_t& sleeps) {
  std::vector<Reader> readers;
  for (std::uint32_t ring = 0; ring < machine.ring_count(); ++ring) readers.emplace_back(machine.user_view(ring));
  const auto drain_all = [&] {
    for (std::uint32_t ring = 0; ring < machine.ring_count(); ++ring) {
      readers[ring].drain([&](std::span<const std::byte> bytes) { judge.deliver(ring, bytes); },
                          [&](std::uint64_t count) { judge.report_lost(ring, count); });
    }
    // (C5) full: the positions are published before the last look that follows in epoll's poll; pairs with (P10).
    if constexpr (!under_thread_sanitizer) std::atomic_thread_fence(std::memory_order_seq_cst);
  };
  std::array<ringside_ready, 2> ready{};
  drain_all();
  while (machine.wait_blocking(ready, -1) != -ECANCELED) {
    ++sleeps;
    drain_all();
  }
  drain_all();
}

Consumption run(const MachineOptions& options) {
  const auto machine = must(Machine::create(options));
  EXPECT_TRUE(machine->arm(Trigger::level));
  ring::JudgeOptions judge_options;
  judge_options.kind = options.kind;
  judge_options.source_count = options.sources;
  judge_options.reserved_so_far = [&](std::uint32_t source) { return machine->reserved_so_far(source); };
  ring::Judge judge(judge_options);
  Consumption consumption;
  std::thread consumer([&] { consume(*machine, judge, consumption.sleeps); });
  std::vector<std::thread> threads;
  for (std::uint16_t cpu = 0; cpu < producers; ++cpu) {
    threads.emplace_back([&, cpu] {
      Random dice(options.seed * 100 + cpu);
      for (std::uint64_t done = 0; done < commits;) {
        if (machine->run(operation_of(options, cpu, done, dice)) == 0) {
          ++done;
        } else {
          std::this_thread::yield();  // full: the consumer's turn
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  machine->cancel_waits();
  consumer.join();
  consumption.verdict = judge.finish(machine->ledger(), machine->records_left());
  return consumption;
}

class Threads : public testing::TestWithParam<UserMapping> {};
// ThreadSanitizer cannot follow the user's own mapping (sim/ring_memory.h).
std::vector<UserMapping> mappings() {
  if (under_thread_sanitizer) return {UserMapping::kernels};
  return {UserMapping::own, UserMapping::kernels};
}
INSTANTIATE_TEST_SUITE_P(UserMappings, Threads, testing::ValuesIn(mappings()),
                         [](const auto& each) { return each.param == UserMapping::own ? "own" : "kernels"; });

TEST_P(Threads, ARingBufferOfSeveralCpusLosesNothing) {
  const Consumption consumption =
      run({.cpus = producers, .sources = 2 * producers, .data_size = 8192, .user_mapping = GetParam()});
  EXPECT_TRUE(consumption.verdict.clean()) << consumption.verdict;
  EXPECT_EQ(consumption.verdict.accounting.left, 0u);
  EXPECT_GT(consumption.verdict.accounting.delivered, producers * commits / 2);
  EXPECT_GT(consumption.sleeps, 0u);
}

TEST_P(Threads, PerfRingsOneACpuAccountForEveryLoss) {
  const Consumption consumption = run({.kind = ring::RingKind::perf,
                                       .cpus = producers,
                                       .sources = 2 * producers,
                                       .data_size = 8192,
                                       .user_mapping = GetParam()});
  EXPECT_TRUE(consumption.verdict.clean()) << consumption.verdict;
  EXPECT_EQ(consumption.verdict.accounting.left, 0u);
  EXPECT_GT(consumption.verdict.accounting.delivered, producers * commits / 2);
  EXPECT_GT(consumption.sleeps, 0u);
}

TEST_P(Threads, FaultsDoNotDisturbTheBooks) {
  const Consumption consumption =
      run({.cpus = producers,
           .sources = 2 * producers,
           .data_size = 4096,
           .faults =
               {.eintr_every = 5, .spurious_every = 7, .stall_every = 500, .stall_turns = 2, .lock_failures_ppm = 9999},
           .user_mapping = GetParam()});
  EXPECT_TRUE(consumption.verdict.clean()) << consumption.verdict;
}

}  // namespace
}  // namespace ringside::sim
