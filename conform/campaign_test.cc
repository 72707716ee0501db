// SPDX-License-Identifier: Apache-2.0
//
// The model against the running kernel, and the proof that it would show if the model were wrong: each rule of the
// specification, broken in the model, is found by scripts that nobody wrote for it.
#include "conform/campaign.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "real/kernel_test.h"

namespace ringside::conform {
namespace {

using real::test::KernelTest;
using ring::RingKind;

class Campaign : public KernelTest {};

TEST_F(Campaign, TheModelAgreesWithTheRunningKernel) {
  const auto result = run_campaign({.scripts = 300, .seed = 20261130});
  ASSERT_TRUE(result) << result.error();
  ASSERT_EQ(result->kinds.size(), 3u);
  for (const KindResult& kind : result->kinds) {
    EXPECT_EQ(kind.scripts, 300u);
    EXPECT_GT(kind.operations, 10'000u);
    if (kind.finding) ADD_FAILURE() << kind.finding->shrunk.script << kind.finding->shrunk.deviation;
  }
}

TEST_F(Campaign, LeavesNothingBehind) {
  const CampaignOptions options{.scripts = 60, .seed = 4};
  ASSERT_TRUE(run_campaign(options));  // what the process keeps for good
  const auto before = real::test::holdings();
  ASSERT_TRUE(run_campaign(options));
  EXPECT_EQ(real::test::holdings(), before);
}

TEST_F(Campaign, EndsEarlyWhenItIsTold) {
  const auto result = run_campaign({.scripts = 1'000'000'000, .seed = 1, .stop = [] { return true; }});
  ASSERT_TRUE(result) << result.error();
  EXPECT_TRUE(result->stopped);
  ASSERT_EQ(result->kinds.size(), 1u);
  EXPECT_LT(result->kinds.front().scripts, 1'000'000'000u);
}

TEST_F(Campaign, FindsTheSameLowestScriptWithOneJobAndWithMany) {
  // A model of a kernel before pending_pos: it deviates from every kernel of today.
  const auto lowest = [](std::uint32_t jobs) {
    const auto result = run_campaign(
        {.kinds = {RingKind::ringbuf}, .scripts = 200, .seed = 9, .jobs = jobs, .kernel = sim::KernelVersion{5, 14}});
    EXPECT_TRUE(result) << result.error();
    EXPECT_TRUE(result->kinds.front().finding);
    return result->kinds.front().finding;
  };
  const auto alone = lowest(1);
  const auto many = lowest(0);
  ASSERT_TRUE(alone && many);
  EXPECT_EQ(alone->index, many->index);
  EXPECT_EQ(alone->shrunk.script, many->shrunk.script);
}

class BrokenRule : public KernelTest, public testing::WithParamInterface<sim::RuleFace> {};
INSTANTIATE_TEST_SUITE_P(Rules, BrokenRule, testing::ValuesIn(sim::rules().begin(), sim::rules().end()),
                         [](const auto& face) { return std::string(face.param.name); });

TEST_P(BrokenRule, IsCaughtAndCutDownToSixOperations) {
  const auto results = run_mutants({GetParam().rule}, {.scripts = 10'000, .seed = 20261130, .jobs = 1});
  ASSERT_TRUE(results) << results.error();
  ASSERT_EQ(results->size(), 1u);
  const MutantResult& result = results->front();
  EXPECT_EQ(result.rule, GetParam().rule);
  if (result.not_on_this_kernel) {
    EXPECT_TRUE(GetParam().needs_overwrite);
    return;
  }
  ASSERT_TRUE(result.finding) << result;
  EXPECT_LE(result.finding->shrunk.script.ops.size(), 6u) << result << '\n' << result.finding->shrunk.script;
}

}  // namespace
}  // namespace ringside::conform
