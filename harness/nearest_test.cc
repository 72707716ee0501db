// SPDX-License-Identifier: Apache-2.0
#include "harness/nearest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace ringside::harness {
namespace {

const std::vector<std::string> names{"steady", "burst_overflow", "wrap", "used_ring"};

TEST(Nearest, FindsAMissingLetter) { EXPECT_EQ(nearest("stedy", names), "steady"); }
TEST(Nearest, CountsASwapAsOneError) { EXPECT_EQ(nearest("wrpa", names), "wrap"); }
TEST(Nearest, FindsNothingForAnotherWord) { EXPECT_EQ(nearest("xyzzy", names), std::nullopt); }
TEST(Nearest, FindsNothingForNoWord) { EXPECT_EQ(nearest("", names), std::nullopt); }
TEST(Nearest, OffersTheNearName) { EXPECT_EQ(suggestion("usedring", names), "did you mean \"used_ring\"?"); }
TEST(Nearest, ListsEverythingWhenNothingIsNear) {
  EXPECT_EQ(suggestion("q", names), "valid: steady, burst_overflow, wrap, used_ring");
}

RC_GTEST_PROP(Nearest, FindsAnyNameWithOneLetterChanged, ()) {
  const std::string name = *rc::gen::elementOf(names);
  std::string word = name;
  word[*rc::gen::inRange<std::size_t>(0, word.size())] = '#';
  RC_ASSERT(nearest(word, names) == name);
}

}  // namespace
}  // namespace ringside::harness
