// SPDX-License-Identifier: Apache-2.0
//
// Looks in vain are left out and nothing else is: against the same programs whose loads wait for nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "explore/look_programs.h"

namespace ringside::explore {
namespace {

class Looks : public testing::TestWithParam<MemoryModel> {};
INSTANTIATE_TEST_SUITE_P(Models, Looks, testing::Values(MemoryModel::sc, MemoryModel::tso, MemoryModel::c11),
                         [](const auto& given) { return std::string(name_of(given.param)); });

TEST_P(Looks, FindWhatTheirLoadsWouldFindAndEachOnce) {
  const char* const asked = std::getenv("RINGSIDE_TINY_PROGRAMS");
  const int programs = asked != nullptr ? std::atoi(asked) : 300;
  std::mt19937 random(20261204);
  int waiting = 0;
  for (int i = 0; i < programs; ++i) {
    const LookProgram program = draw_looks(random);
    const Found seen = search_looks(program, GetParam());
    const Found expected = expect_looks(program, GetParam());
    ASSERT_FALSE(seen.failed) << "program " << i << '\n' << program.tiny;
    ASSERT_EQ(seen.visits, seen.shapes.size()) << "visited twice, program " << i << '\n' << program.tiny;
    ASSERT_EQ(seen.shapes, expected.shapes) << "program " << i << '\n' << program.tiny;
    ASSERT_EQ(seen.in_vain, expected.in_vain) << "program " << i << '\n' << program.tiny;
    waiting += seen.in_vain ? 1 : 0;
  }
  EXPECT_GT(waiting, programs / 10);
  EXPECT_LT(waiting, programs);
}

TEST(Looks, HangOnMemoryThatOthersWrote) { EXPECT_EQ(looks_at_memory(), 2u); }

}  // namespace
}  // namespace ringside::explore
