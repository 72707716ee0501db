// SPDX-License-Identifier: Apache-2.0
//
// The machinery without a kernel: one model plays the kernel's part, another one breaks a rule. What a rule is worth on
// the running kernel is seen by campaign_test.cc.
#include "conform/play.h"

#include <gtest/gtest.h>

#include "conform/generate.h"

namespace ringside::conform {
namespace {

using ring::RingKind;
using sim::Rule;

ModelOptions broken_model(Rule rule) { return {.kernel = {6, 19}, .broken = rule}; }

/// Two models of a BPF ring buffer.
Sides two_models(Rule broken) {
  static const Facts nothing;
  return {.kernel = [](const Script& script) { return make_ringbuf_model(script, broken_model(Rule::none), nothing); },
          .model = [broken](const Script& script,
                            const Facts& facts) { return make_ringbuf_model(script, broken_model(broken), facts); }};
}

Script script_of(std::string_view text) {
  auto script = parse_script(text, "test");
  EXPECT_TRUE(script) << script.error();
  return *script;
}

Played played(const Script& script, Rule broken) {
  auto result = play(script, two_models(broken));
  EXPECT_TRUE(result) << result.error();
  return *result;
}

constexpr std::string_view forced = R"(ringside-script 1
ringbuf pages=1 overwrite=no look=asked
output size=8 flags=0
output size=8 flags=4
output size=24 flags=0
end
)";

TEST(Play, AgreesWithItself) {
  const Played result = played(script_of(forced), Rule::none);
  EXPECT_EQ(result.operations, 3u);
  EXPECT_FALSE(result.deviation) << *result.deviation;
}

TEST(Play, NamesTheOperationAndWhatDiffers) {
  const Played result = played(script_of(forced), Rule::ringbuf_output_flags);
  ASSERT_TRUE(result.deviation);
  EXPECT_EQ(
      *result.deviation,
      (Deviation{.op = 1, .operation = "output size=8 flags=4", .what = "result", .kernel = "-22", .model = "0"}));
}

TEST(Play, NamesTheByteThatDiffers) {
  const Played result = played(script_of(forced), Rule::ringbuf_page_offset);
  ASSERT_TRUE(result.deviation);
  EXPECT_EQ(result.deviation->what, "data byte 4");
  EXPECT_EQ(result.deviation->kernel, "0x03");
  EXPECT_EQ(result.deviation->model, "0x00");
}

TEST(Play, TellsADeviationOfTheReadinessAlone) {
  const Script script = script_of(R"(ringside-script 1
ringbuf pages=1 overwrite=no look=always
epoll_add set=0 trigger=edge
output size=8 flags=3
end
)");
  const Played result = played(script, Rule::ringbuf_force_wins);
  ASSERT_TRUE(result.deviation);
  EXPECT_EQ(result.deviation->op, 1u);
  EXPECT_TRUE(result.deviation->what.starts_with("readiness")) << result.deviation->what;
}

TEST(Shrink, CutsDownToTheOneOperationThatMatters) {
  const Script script = script_of(forced);
  const auto deviation = played(script, Rule::ringbuf_output_flags).deviation;
  ASSERT_TRUE(deviation);
  const auto shrunk = shrink(script, *deviation, two_models(Rule::ringbuf_output_flags));
  ASSERT_TRUE(shrunk) << shrunk.error();
  EXPECT_EQ(to_text(shrunk->script),
            "ringside-script 1\nringbuf pages=1 overwrite=no look=asked\noutput size=0 flags=4\nend\n");
  EXPECT_EQ(shrunk->deviation.op, 0u);
}

TEST(Shrink, StopsWhenItHasPlayedAsManyScriptsAsAllowed) {
  const Script script = script_of(forced);
  const auto deviation = played(script, Rule::ringbuf_output_flags).deviation;
  ASSERT_TRUE(deviation);
  const auto shrunk = shrink(script, *deviation, two_models(Rule::ringbuf_output_flags), 1);
  ASSERT_TRUE(shrunk) << shrunk.error();
  EXPECT_EQ(shrunk->tried, 1u);
}

TEST(Simpler, GivesOnlyScriptsThatReadBackAndDiffer) {
  for (const RingKind kind : {RingKind::ringbuf, RingKind::user_ringbuf, RingKind::perf}) {
    for (std::uint64_t index = 0; index < 20; ++index) {
      const Script script = generate(kind, 7, index, {.most_ops = 12});
      Simpler simpler(script);
      std::size_t count = 0;
      for (auto next = simpler.next(); next; next = simpler.next(), ++count) {
        EXPECT_NE(*next, script);
        const auto read = parse_script(to_text(*next), "simpler");
        ASSERT_TRUE(read) << read.error();
        EXPECT_EQ(*read, *next);
      }
      EXPECT_GE(count, script.ops.size()) << ring::name_of(kind);
    }
  }
}

TEST(Generate, GivesTheSameScriptForTheSameSeedAndAnotherForTheNext) {
  for (const RingKind kind : {RingKind::ringbuf, RingKind::user_ringbuf, RingKind::perf}) {
    const Script script = generate(kind, 42, 5, {});
    EXPECT_EQ(generate(kind, 42, 5, {}), script);
    EXPECT_NE(generate(kind, 42, 6, {}), script);
    EXPECT_NE(generate(kind, 43, 5, {}), script);
    const auto read = parse_script(to_text(script), "generated");
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, script);
  }
}

TEST(Generate, TakesEveryVerbSoonerOrLater) {
  for (const RingKind kind : {RingKind::ringbuf, RingKind::user_ringbuf, RingKind::perf}) {
    std::vector<std::uint64_t> taken(64);
    for (std::uint64_t index = 0; index < 100; ++index) {
      for (const Op& op : generate(kind, 1, index, {}).ops) ++taken[static_cast<std::size_t>(op.verb)];
    }
    for (const VerbSpec& verb : verbs_of(kind).subspan(1)) {
      EXPECT_GT(taken[static_cast<std::size_t>(verb.verb)], 0u) << verb.name;
    }
  }
}

TEST(Generate, MakesNoOverwriteRingWhereTheKernelHasNone) {
  std::size_t overwrite = 0;
  for (std::uint64_t index = 0; index < 100; ++index) {
    const Script without = generate(RingKind::ringbuf, 1, index, {.overwrite = false});
    EXPECT_EQ(value_of(without.kind, without.setup, Arg::overwrite), 0);
    const Script with = generate(RingKind::ringbuf, 1, index, {.overwrite = true});
    overwrite += value_of(with.kind, with.setup, Arg::overwrite) != 0 ? 1u : 0u;
  }
  EXPECT_GT(overwrite, 10u);
}

/// Every rule about the BPF ring buffer, epoll's among them.
class BrokenRingbuf : public testing::TestWithParam<sim::RuleFace> {
 public:
  static std::vector<sim::RuleFace> rules() {
    std::vector<sim::RuleFace> found;
    for (const sim::RuleFace& face : sim::rules()) {
      if (face.kind == RingKind::ringbuf) found.push_back(face);
    }
    return found;
  }
};
INSTANTIATE_TEST_SUITE_P(Rules, BrokenRingbuf, testing::ValuesIn(BrokenRingbuf::rules()),
                         [](const auto& face) { return std::string(face.param.name); });

TEST_P(BrokenRingbuf, IsFoundByGeneratedScriptsAndCutDownToSixOperations) {
  const Sides sides = two_models(GetParam().rule);
  for (std::uint64_t index = 0; index < 400; ++index) {
    const Script script = generate(RingKind::ringbuf, 1, index, {.overwrite = true});
    const auto played = play(script, sides);
    ASSERT_TRUE(played) << played.error();
    if (!played->deviation) continue;
    const auto shrunk = shrink(script, *played->deviation, sides);
    ASSERT_TRUE(shrunk) << shrunk.error();
    EXPECT_LE(shrunk->script.ops.size(), 6u) << shrunk->script << shrunk->deviation;
    return;
  }
  FAIL() << "escaped";
}

}  // namespace
}  // namespace ringside::conform
