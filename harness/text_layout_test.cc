// SPDX-License-Identifier: Apache-2.0
#include "harness/text_layout.h"

#include <gtest/gtest.h>

namespace ringside::harness {
namespace {

TEST(TextLayout, AlignsTheColumnsOfAGrid) {
  const Grid grid{{"", "one", "two"}, {{{"row"}, {"✓ a"}, {"b"}}, {{"longer"}, {"c"}, {"d"}}}, false};
  EXPECT_EQ(to_text(grid, {false, 80}),
            "          one  two\n"
            "  row     ✓ a  b\n"
            "  longer  c    d\n");
}

TEST(TextLayout, MovesColumnsThatDoNotFitBelow) {
  const Grid grid{{"", "first", "second"}, {{{"row"}, {"1"}, {"2"}}}, false};
  EXPECT_EQ(to_text(grid, {false, 14}),
            "       first\n"
            "  row  1\n"
            "\n"
            "       second\n"
            "  row  2\n");
}

TEST(TextLayout, SetsSpansApartUnderTheirTitles) {
  const Grid grid{{"", "a", "b", "c"}, {{{"row"}, {"1"}, {"2"}, {"3"}}}, false, {{1, "left"}, {3, "right"}}};
  EXPECT_EQ(to_text(grid, {false, 40}),
            "       left    right\n"
            "       a  b    c\n"
            "  row  1  2    3\n");
  EXPECT_EQ(width_of(grid), 16u);
}

TEST(TextLayout, PutsProseBelowWhereItsColumnIsNarrow) {
  const Grid grid{{"", "fact", ""}, {{{"name"}, {"a fact"}, {"a sentence that is told below"}}}, true};
  EXPECT_EQ(to_text(grid, {false, 40}),
            "        fact\n"
            "  name  a fact\n"
            "    a sentence that is told below\n");
}

TEST(TextLayout, HangsProseUnderItsColumn) {
  const Grid grid{{"", ""}, {{{"name"}, {"a sentence of several words that is broken in two"}}}, true};
  EXPECT_EQ(to_text(grid, {false, 48}),
            "  name  a sentence of several words that is\n"
            "        broken in two\n");
}

}  // namespace
}  // namespace ringside::harness
