// SPDX-License-Identifier: Apache-2.0
#include "ring/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

namespace ringside::ring {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Text, WritesThousandsApart) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(18446744073709551615u), "18,446,744,073,709,551,615");
}

TEST(Text, CountsOneAndMany) {
  EXPECT_EQ(counted(1, "cell"), "1 cell");
  EXPECT_EQ(counted(0, "cell"), "0 cells");
}

TEST(Text, MeasuresCharactersNotBytes) { EXPECT_EQ(display_width("✓ – é"), 5u); }

TEST(Text, PaintsOnlyWithColour) {
  EXPECT_EQ(paint({false, 80}, Tone::bad, "x"), "x");
  EXPECT_EQ(paint({true, 80}, Tone::good, "x"), "\x1b[32mx\x1b[0m");
}

TEST(Text, TakesEscapeSequencesOutOfForeignText) { EXPECT_EQ(one_line("a\x1b[2Jb\nc"), "a [2Jb c"); }

TEST(Text, BreaksLinesAtSpaces) { EXPECT_EQ(wrapped("aa bb cc", 1, 6), " aa bb\n cc\n"); }

TEST(Text, LeavesALongWordWhole) { EXPECT_EQ(wrapped("a incomprehensible b", 0, 5), "a\nincomprehensible\nb\n"); }

RC_GTEST_PROP(Text, WrappingKeepsEveryWordInOrder, (const std::vector<std::uint8_t>& lengths)) {
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

}  // namespace
}  // namespace ringside::ring
