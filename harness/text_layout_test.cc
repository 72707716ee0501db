// SPDX-License-Identifier: Apache-2.0
#include "harness/text_layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

namespace ringside::harness {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(TextLayout, WritesThousandsApart) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(18446744073709551615u), "18,446,744,073,709,551,615");
}

TEST(TextLayout, CountsOneAndMany) {
  EXPECT_EQ(counted(1, "cell"), "1 cell");
  EXPECT_EQ(counted(0, "cell"), "0 cells");
}

TEST(TextLayout, MeasuresCharactersNotBytes) { EXPECT_EQ(display_width("✓ – é"), 5u); }

TEST(TextLayout, PaintsOnlyWithColour) {
  EXPECT_EQ(paint({false, 80}, Tone::bad, "x"), "x");
  EXPECT_EQ(paint({true, 80}, Tone::good, "x"), "\x1b[32mx\x1b[0m");
}

TEST(TextLayout, TakesEscapeSequencesOutOfForeignText) { EXPECT_EQ(one_line("a\x1b[2Jb\nc"), "a [2Jb c"); }

TEST(TextLayout, BreaksLinesAtSpaces) { EXPECT_EQ(wrapped("aa bb cc", 1, 6), " aa bb\n cc\n"); }

TEST(TextLayout, LeavesALongWordWhole) { EXPECT_EQ(wrapped("a incomprehensible b", 0, 5), "a\nincomprehensible\nb\n"); }

RC_GTEST_PROP(TextLayout, WrappingKeepsEveryWordInOrder, (const std::vector<std::uint8_t>& lengths)) {
  std::string text;
  std::vector<std::string> words;
  for (const std::uint8_t length : lengths) {
    words.emplace_back(1 + length % 12, static_cast<char>('a' + length % 26));
    text += words.back() + ' ';
  }
  const auto columns = *rc::gen::inRange<std::size_t>(14, 60);
  const std::string out = wrapped(text, 2, columns);
  for (const std::string& line : lines_of(out)) RC_ASSERT(line.size() <= columns);
  std::istringstream stream(out);
  std::vector<std::string> back;
  for (std::string word; stream >> word;) back.push_back(word);
  RC_ASSERT(back == words);
}

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
