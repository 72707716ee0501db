// SPDX-License-Identifier: Apache-2.0
//
// The main job in the model: strategies are clean, mutants are convicted, a seed repeats a run, a signal ends one.
#include "harness/check.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <set>

#include "consumers/registry.h"
#include "ring/signals.h"

namespace ringside::harness {
namespace {

CheckOptions model_with_seed(std::uint64_t seed) {
  CheckOptions options;
  options.worlds = {WorldKind::model};
  options.seed = seed;
  return options;
}

class ModelSeeds : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, ModelSeeds, testing::Values(1, 2, 3, 0xfeed));

TEST_P(ModelSeeds, EveryStrategyIsCleanUnderEveryScenario) {
  const auto results = run_check(model_with_seed(GetParam()), {});
  ASSERT_TRUE(results) << results.error();
  EXPECT_GE(results->size(), 80u);
  for (const RunResult& result : *results) {
    EXPECT_EQ(result.outcome, Outcome::clean) << result.repeat << ": " << result.reason << result.verdict;
    EXPECT_GT(result.verdict.accounting.delivered, 0u) << result.repeat;
  }
}

TEST_P(ModelSeeds, EveryMutantIsConvictedOfItsOwnDefect) {
  const auto results = run_mutants(model_with_seed(GetParam()), {});
  ASSERT_TRUE(results) << results.error();
  CheckOptions options;
  options.worlds = {WorldKind::model};
  EXPECT_EQ(results->size(), plan_mutants(options).value());
  for (const MutantResult& result : *results) {
    EXPECT_TRUE(result.convicted()) << result.mutant << " should show " << result.expected << ": " << result.run.reason
                                    << result.run.verdict;
  }
}

TEST(Check, ASeedRepeatsASteppedRunAndAnotherDoesNot) {
  const auto run = [](std::uint64_t seed) {
    CheckOptions options = model_with_seed(seed);
    options.consumers = {"copy"};
    options.scenarios = {"one_page"};
    options.rings = {ring::RingKind::ringbuf};
    auto results = run_check(options, {});
    EXPECT_TRUE(results);
    return results->at(0).verdict;
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));  // another interleaving: another number of failed attempts in the full ring
}

TEST(Check, RunsAsManyRecordsAsAsked) {
  CheckOptions options = model_with_seed(1);
  options.consumers = {"callback"};
  options.scenarios = {"used_ring"};
  options.records = 123;
  const auto results = run_check(options, {});
  ASSERT_TRUE(results) << results.error();
  EXPECT_EQ(results->at(0).verdict.accounting.attempts, 123u);
}

TEST(Check, UnknownNamesAreErrorsBeforeAnythingRuns) {
  CheckOptions options = model_with_seed(1);
  options.consumers = {"copi"};
  auto results = run_check(options, [](const Progress&) { ADD_FAILURE() << "something ran"; });
  ASSERT_FALSE(results);
  EXPECT_EQ(ring::to_string(results.error()),
            "find consumer \"copi\": no consumer has that name; did you mean \"copy\"?");
  options.consumers = {"libbpf"};  // needs descriptors, which the model has not
  results = run_check(options, {});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().attempt, "plan the check");
}

TEST(Check, ASignalEndsTheRunAndLeavesNoChild) {
  CheckOptions options = model_with_seed(1);
  std::size_t ended = 0;
  const auto results = run_check(options, [&](const Progress& progress) {
    if (progress.result != nullptr && ++ended == 3) raise(SIGTERM);
  });
  ASSERT_TRUE(results) << results.error();
  EXPECT_EQ(results->size(), 3u);
  EXPECT_EQ(ring::interrupted_by(), SIGTERM);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Check, ASignalWithinARunKillsItsChild) {
  CheckOptions options = model_with_seed(1);
  options.scenarios = {"steady"};
  options.records = 1'000'000'000;
  const auto results = run_check(options, [](const Progress& progress) {
    if (progress.deliveries > 0) raise(SIGINT);
  });
  ASSERT_TRUE(results) << results.error();
  EXPECT_TRUE(results->empty());
  EXPECT_EQ(ring::interrupted_by(), SIGINT);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Check, TheLineThatRepeatsARunNamesAllOfIt) {
  CheckOptions options = model_with_seed(9);
  options.consumers = {"copy"};
  options.scenarios = {"wrap"};
  options.records = 10;
  const auto results = run_check(options, {});
  ASSERT_TRUE(results);
  EXPECT_EQ(results->at(0).repeat,
            "ringside check --world model --ring ringbuf --consumer copy --scenario wrap --seed 9 --records 10");
}

}  // namespace
}  // namespace ringside::harness
