// SPDX-License-Identifier: Apache-2.0
#include "conform/script.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ringside::conform {
namespace {

using ring::RingKind;

constexpr std::string_view good = R"(ringside-script 1
ringbuf pages=1 overwrite=no look=always
hold slot=0 size=24
consumer base=producer offset=-4079
output size=8 flags=0
settle slot=0 fate=discard flags=2
end
)";

std::string error_of(std::string_view text) {
  const auto script = parse_script(text, "a.script");
  return script ? "no error" : ring::to_string(script.error());
}

/// The good script with its line `number`, from 1, replaced.
std::string with_line(std::size_t number, std::string_view line) {
  std::string text(good);
  std::size_t at = 0;
  for (std::size_t skipped = 1; skipped < number; ++skipped) at = text.find('\n', at) + 1;
  return text.replace(at, text.find('\n', at) - at, line);
}

TEST(Script, ReadsWhatItWrites) {
  const auto script = parse_script(good, "a.script");
  ASSERT_TRUE(script) << script.error();
  EXPECT_EQ(script->kind, RingKind::ringbuf);
  ASSERT_EQ(script->ops.size(), 4u);
  EXPECT_EQ(value_of(script->kind, script->ops[1], Arg::offset), -4079);
  EXPECT_EQ(to_text(*script), good);
}

TEST(Script, TakesArgumentsInAnyOrderCommentsAndHex) {
  const auto script = parse_script(with_line(5, "  output flags=0x2\tsize=8 # forced"), "a.script");
  ASSERT_TRUE(script) << script.error();
  EXPECT_EQ(to_text(script->kind, script->ops[2]), "output size=8 flags=2");
}

TEST(Script, NamesLineColumnAndWhatIsAllowed) {
  EXPECT_EQ(error_of(with_line(1, "ringside-script 2")),
            "read script a.script:1:1: the first line is not \"ringside-script 1\"; is this a script?");
  EXPECT_EQ(error_of(with_line(2, "pipe")),
            "read script a.script:2:1: \"pipe\" is no kind of ring; the second line sets up a ringbuf, a user_ringbuf "
            "or a perf ring");
  EXPECT_EQ(error_of(with_line(2, "ringbuf pages=3 overwrite=no look=always")),
            "read script a.script:2:15: \"3\" is no value of pages; pages is one of 1, 2, 4");
  EXPECT_TRUE(error_of(with_line(5, "  emit size=8"))
                  .starts_with("read script a.script:5:3: unknown operation \"emit\"; operations on a ringbuf are end, "
                               "output, reserve, "));
  EXPECT_EQ(error_of(with_line(5, "output size=131073 flags=0")),
            "read script a.script:5:13: \"131073\" is no value of size; size is a number from 0 to 131072");
  EXPECT_EQ(error_of(with_line(5, "output size=8 flag=0")),
            "read script a.script:5:15: \"flag\" is no argument of output; output takes size, flags");
  EXPECT_EQ(error_of(with_line(5, "output size=8 size=8")),
            "read script a.script:5:15: size is given twice; give it once");
  EXPECT_EQ(error_of(with_line(5, "output size=8")),
            "read script a.script:5:8: output has no flags; flags is a number from 0 to 4294967295");
  EXPECT_EQ(error_of(with_line(5, "output size flags=0")),
            "read script a.script:5:12: \"\" is no value of size; size is a number from 0 to 131072");
  EXPECT_EQ(error_of(with_line(6, "poll now")),
            "read script a.script:6:6: \"now\" is no argument of poll; poll takes no arguments");
  EXPECT_EQ(error_of(with_line(6, "settle slot=0 fate=drop flags=2")),
            "read script a.script:6:20: \"drop\" is no value of fate; fate is one of submit, discard");
}

TEST(Script, NoticesThatAFileWasCutShort) {
  for (std::size_t length = 0; length + 1 < good.size(); ++length) {
    EXPECT_NE(error_of(good.substr(0, length)), "no error") << length;
  }
  const std::size_t after_line_4 = good.find("output");
  EXPECT_EQ(error_of(good.substr(0, after_line_4)),
            "read script a.script:5:1: the file ends before its last line; a script ends with \"end\"");
  EXPECT_EQ(error_of(std::string(good) + "poll\n"),
            "read script a.script:8:1: something follows \"end\"; it is the last line");
}

TEST(Script, ShowsBytesThatCannotBePrintedAsNumbers) {
  EXPECT_TRUE(error_of(with_line(5, std::string_view("out\0put", 7)))
                  .starts_with("read script a.script:5:1: unknown operation \"out\\x00put\""));
}

TEST(Script, WritesBitsAsWords) {
  Op op{.verb = Verb::user_header, .values = {}};
  set_value(RingKind::user_ringbuf, op, Arg::length, 100);
  EXPECT_EQ(to_text(RingKind::user_ringbuf, op), "header base=zero offset=0 length=100 bits=none");
  set_value(RingKind::user_ringbuf, op, Arg::bits, 3);
  EXPECT_EQ(to_text(RingKind::user_ringbuf, op), "header base=zero offset=0 length=100 bits=discard+busy");
}

class Tables : public testing::TestWithParam<RingKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Tables, testing::Values(RingKind::ringbuf, RingKind::user_ringbuf, RingKind::perf),
                         [](const auto& kind) { return std::string(ring::name_of(kind.param)); });

TEST_P(Tables, NameEveryVerbAndArgumentOnceAndFitIntoAnOp) {
  const auto verbs = verbs_of(GetParam());
  EXPECT_EQ(verbs.front().name, ring::name_of(GetParam()));
  for (const VerbSpec& verb : verbs) {
    EXPECT_EQ(std::ranges::count(verbs, verb.name, &VerbSpec::name), 1) << verb.name;
    EXPECT_EQ(std::ranges::count(verbs, verb.verb, &VerbSpec::verb), 1) << verb.name;
    EXPECT_LE(verb.args.size(), most_args) << verb.name;
    EXPECT_FALSE(verb.meaning.empty()) << verb.name;
    for (const ArgSpec& arg : verb.args) {
      EXPECT_EQ(std::ranges::count(verb.args, arg.arg, &ArgSpec::arg), 1) << verb.name << ' ' << arg.name;
      EXPECT_EQ(std::ranges::count(verb.args, arg.name, &ArgSpec::name), 1) << verb.name << ' ' << arg.name;
    }
  }
}

TEST(Script, PayloadsDifferFromOperationToOperation) {
  std::array<std::byte, 64> first{};
  std::array<std::byte, 64> second{};
  fill_payload(first, 1);
  fill_payload(second, 2);
  std::size_t alike = 0;
  for (std::size_t at = 0; at < first.size(); ++at) alike += first[at] == second[at] ? 1u : 0u;
  EXPECT_LT(alike, 8u);
}

}  // namespace
}  // namespace ringside::conform
