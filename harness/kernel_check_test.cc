// SPDX-License-Identifier: Apache-2.0
//
// The main job on rings of the running kernel.
#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include "consumers/registry.h"
#include "harness/check.h"
#include "harness/world.h"
#include "real/kernel_test.h"

namespace ringside::harness {
namespace {

CheckOptions kernel_only() {
  CheckOptions options;
  options.worlds = {WorldKind::kernel};
  return options;
}

class KernelCheck : public real::test::KernelTest {};

/// Why a cell may be skipped, and no others: overwrite rings came with 6.19, and a program that is held takes a CPU.
std::optional<std::string> may_be_skipped(const RunSpec& spec) {
  if (spec.scenario.starts_with("overwrite_") && overwrite_ring_is_missing()) return "need kernel 6.19, this is ";
  if (spec.scenario == "swap_late" && real::test::cpus().size() < 2) return "takes a CPU: needs two";
  return std::nullopt;
}

TEST_F(KernelCheck, EveryStrategyIsCleanUnderEveryScenario) {
  const auto results = run_check(kernel_only(), {});
  ASSERT_TRUE(results) << results.error();
  EXPECT_GE(results->size(), 100u);
  for (const RunResult& result : *results) {
    if (const auto reason = may_be_skipped(result.spec)) {
      EXPECT_EQ(result.outcome, Outcome::skipped) << result.repeat;
      EXPECT_NE(result.reason.find(*reason), std::string::npos) << result.reason;
      continue;
    }
    EXPECT_EQ(result.outcome, Outcome::clean) << result.repeat << ": " << result.reason << result.verdict;
    EXPECT_GT(result.verdict.accounting.delivered, 0u) << result.repeat;
  }
}

TEST_F(KernelCheck, EveryMutantIsConvictedOfItsOwnDefect) {
  const auto results = run_mutants(kernel_only(), {});
  ASSERT_TRUE(results) << results.error();
  CheckOptions options;
  options.worlds = {WorldKind::kernel};
  EXPECT_EQ(results->size(), plan_mutants(options).value());
  for (const MutantResult& result : *results) {
    if (may_be_skipped(result.run.spec)) continue;
    EXPECT_TRUE(result.convicted()) << result.mutant << " should show " << result.expected << ": " << result.run.reason
                                    << result.run.verdict;
  }
}

/// Runs a strategy whose drain stores a byte to the read-only data of its first ring.
RunResult run_writer(const char* honest_name, ring::RingKind kind) {
  static const ringside_ring_set* opened_rings = nullptr;
  static const ringside_consumer* honest = nullptr;
  honest = consumers::find_strategy(honest_name)->consumer;
  ringside_consumer writer = *honest;
  writer.name = "writes_data";
  writer.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    opened_rings = rings;
    return honest->open(rings, host, state);
  };
  writer.drain = [](void*, std::uint64_t) -> std::int64_t {
    *static_cast<volatile char*>(const_cast<void*>(opened_rings->rings[0].data)) = 1;
    return 0;
  };
  const auto scenario = find_scenario("steady");
  EXPECT_TRUE(scenario);
  const RunSpec spec{
      .consumer = writer.name, .scenario = scenario->name, .world = WorldKind::kernel, .ring = kind, .seed = 1};
  return run_cell(spec, writer, *scenario, kernel_only());
}

// A BPF ring answers a refused store with SIGSEGV, a perf ring with SIGBUS [KERNEL-RINGS 1.3, 2.1].
TEST_F(KernelCheck, AStoreToTheDataIsABrokenContractOnBothKindsOfRing) {
  for (const auto& [name, kind] :
       {std::pair{"callback", ring::RingKind::ringbuf}, {"drain_all", ring::RingKind::perf}}) {
    const RunResult result = run_writer(name, kind);
    ASSERT_TRUE(result.verdict.has(ring::DefectKind::protocol)) << name << result.reason << result.verdict;
    EXPECT_EQ(result.verdict.defects[0].detail, "wrote to read-only memory in drain: the data of ring 0, offset 0");
  }
}

// libbpf's reader, which then forgets the ring of the last CPU, as one that stored it under a wrong number would: the
// records of the other CPUs come all the same (case J1).
TEST_F(KernelCheck, AConsumerWithoutARingOnOneCpuHasLostWhatWasPutOutThere) {
  const auto cpus = real::test::cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  static const ringside_consumer& honest = *consumers::find_strategy("libbpf_perf")->consumer;
  static std::uint32_t forgotten;
  forgotten = cpus.back();
  ringside_consumer forgetful = honest;
  forgetful.name = "forgets_a_cpu";
  forgetful.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    const int result = honest.open(rings, host, state);
    return result < 0 ? result : bpf_map_delete_elem(rings->map_fd, &forgotten);
  };
  const auto scenario = find_scenario("many_cpus");
  ASSERT_TRUE(scenario);
  const RunSpec spec{.consumer = forgetful.name,
                     .scenario = scenario->name,
                     .world = WorldKind::kernel,
                     .ring = ring::RingKind::perf,
                     .seed = 1,
                     .records = 200};
  const RunResult result = run_cell(spec, forgetful, *scenario, kernel_only());
  ASSERT_TRUE(result.verdict.has(ring::DefectKind::lost)) << result.reason << result.verdict;
  EXPECT_NE(result.verdict.defects[0].detail.find("found no ring on their CPU"), std::string::npos) << result.verdict;
  EXPECT_GT(result.verdict.accounting.delivered, 0u) << "it looks healthy";
}

}  // namespace
}  // namespace ringside::harness
