// SPDX-License-Identifier: Apache-2.0
//
// The main job on rings of the running kernel.
#include <gtest/gtest.h>

#include "consumers/registry.h"
#include "harness/check.h"
#include "real/kernel_test.h"

namespace ringside::harness {
namespace {

CheckOptions kernel_only() {
  CheckOptions options;
  options.worlds = {WorldKind::kernel};
  return options;
}

class KernelCheck : public real::test::KernelTest {};

TEST_F(KernelCheck, EveryStrategyIsCleanUnderEveryScenario) {
  const auto results = run_check(kernel_only(), {});
  ASSERT_TRUE(results) << results.error();
  EXPECT_GE(results->size(), 100u);
  for (const RunResult& result : *results) {
    EXPECT_EQ(result.outcome, Outcome::clean) << result.repeat << ": " << result.reason << result.verdict;
    EXPECT_GT(result.verdict.accounting.delivered, 0u) << result.repeat;
  }
}

TEST_F(KernelCheck, EveryMutantIsConvictedOfItsOwnDefect) {
  const auto results = run_mutants(kernel_only(), {});
  ASSERT_TRUE(results) << results.error();
  EXPECT_EQ(results->size(), consumers::mutants().size());
  for (const MutantResult& result : *results) {
    EXPECT_TRUE(result.convicted()) << result.mutant << " should show " << result.expected << ": " << result.run.reason
                                    << result.run.verdict;
  }
}

}  // namespace
}  // namespace ringside::harness
