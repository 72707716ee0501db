// SPDX-License-Identifier: Apache-2.0
//
// The estimate is right on average, and says how sure it is.
#include "explore/estimate.h"

#include <gtest/gtest.h>

#include <random>

#include "explore/tiny_programs.h"
#include "ring/sanitizers.h"

namespace ringside::explore {
namespace {

TEST(Estimates, AreOnAverageWhatTheSearchCounts) {
  std::mt19937 random(20261204);
  constexpr int programs = RINGSIDE_ADDRESS_SANITIZER != 0 ? 2 : 40;  // which is slow with so many executions
  for (int i = 0; i < programs; ++i) {
    const TinyProgram tiny = draw_program(random, i % 4 == 0);
    const TinyMemory memory(tiny);
    const SearchResult result = search(memory.program());
    const auto all = static_cast<double>(result.complete + result.blocked);
    const Estimate guessed = estimate(memory.program(), {}, 1, 2000);
    EXPECT_EQ(guessed.descents, 2000u);
    // Four standard errors.
    EXPECT_NEAR(guessed.executions, all, guessed.high - guessed.executions + 1e-6) << i << ": " << tiny;
    EXPECT_LE(guessed.low, guessed.high);
  }
}

Atomic<std::int32_t> one;

TEST(Estimates, OfAProgramWithoutAChoiceAreExact) {
  const Program program{.begin = [] { one.set(0); }, .threads = {[] { one.store(1); }}, .end = {}};
  const Estimate guessed = estimate(program, {}, 1, 10);
  EXPECT_EQ(guessed.executions, 1);
  EXPECT_EQ(guessed.low, 1);
  EXPECT_EQ(guessed.high, 1);
  EXPECT_EQ(guessed.seen, 10u);
}

TEST(Estimates, ObserveNothingAndEndWhenThatIsEnough) {
  const Program program{.begin = [] { one.set(0); }, .threads = {[] { one.store(1); }, [] { one.load(); }}, .end = {}};
  SearchOptions options;
  options.observe = [](const Graph&) { ADD_FAILURE(); };
  EXPECT_EQ(estimate(program, options, 1, 1000, [](const Estimate&) { return true; }).descents, 1u);
}

TEST(Estimates, OfAProgramThatFailsAreLeftToTheSearch) {
  const Program program{.begin = [] { one.set(0); }, .threads = {[] { fail("at once"); }}, .end = {}};
  EXPECT_EQ(estimate(program, {}, 1, 10).descents, 0u);
}

}  // namespace
}  // namespace ringside::explore
