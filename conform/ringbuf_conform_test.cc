// SPDX-License-Identifier: Apache-2.0
//
// BPF ring buffers: hand-written scripts for every verb, on which the running kernel and the model agree, and for every
// rule of the model one that shows when it is broken.
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <algorithm>
#include <set>
#include <string>

#include "conform/ringbuf_test_support.h"
#include "sim/rule.h"

namespace ringside::conform {
namespace {

using sim::Rule;
using test::one_page;
using test::ringbuf_script;

constexpr ring::RingKind kind = ring::RingKind::ringbuf;

// Scripts on which both sides must agree, by name. Together they use every verb.
struct Agreed {
  const char* name;
  const char* setup;
  const char* lines;
};
std::ostream& operator<<(std::ostream& out, const Agreed& agreed) { return out << agreed.name; }

constexpr Agreed agreed[] = {
    {"fills_to_the_last_byte", one_page,  // 1.5: 127 spans of 32, one of 24, nothing more
     "output size=4000 flags=0\noutput size=48 flags=0\noutput size=16 flags=0\noutput size=0 flags=0\n"
     "output size=8 flags=0\nconsume count=1\noutput size=3968 flags=0\noutput size=0 flags=0\n"},
    {"every_constant_size", "ringbuf pages=4 overwrite=no look=asked",
     "reserve size=0 reserve_flags=0 write=all fate=submit flags=0\n"
     "reserve size=1 reserve_flags=0 write=all fate=submit flags=0\n"
     "reserve size=100 reserve_flags=0 write=half fate=discard flags=0\n"
     "reserve size=4088 reserve_flags=0 write=all fate=submit flags=0\n"
     "reserve size=8200 reserve_flags=0 write=half fate=submit flags=0\n"
     "reserve size=16368 reserve_flags=0 write=all fate=submit flags=0\nconsume count=64\n"
     "reserve size=16368 reserve_flags=0 write=all fate=submit flags=0\nconsume count=64\n"
     "reserve size=16369 reserve_flags=0 write=all fate=submit flags=0\n"
     "reserve size=1073741823 reserve_flags=0 write=all fate=submit flags=0\n"
     "reserve size=1073741824 reserve_flags=0 write=all fate=submit flags=0\n"
     "reserve size=8 reserve_flags=1 write=all fate=submit flags=0\n"},
    {"dynptr", "ringbuf pages=2 overwrite=no look=always",
     "dynptr size=5 reserve_flags=0 write=nothing fate=submit flags=0\n"
     "dynptr size=13 reserve_flags=0 write=half fate=discard flags=3\n"
     "dynptr size=5000 reserve_flags=0 write=all fate=submit flags=1\n"
     "dynptr size=5000 reserve_flags=0 write=all fate=submit flags=1\n"
     "dynptr size=16777215 reserve_flags=0 write=all fate=submit flags=0\n"
     "dynptr size=16777216 reserve_flags=0 write=all fate=submit flags=0\n"
     "dynptr size=8 reserve_flags=4 write=all fate=submit flags=0\nconsume count=3\n"},
    {"hold_and_settle", one_page,
     "epoll_add set=0 trigger=level\nhold slot=0 size=24\nhold slot=0 size=24\noutput size=8 flags=0\n"
     "hold slot=1 size=4000\nhold slot=2 size=4096\nconsume count=4\nsettle slot=1 fate=discard flags=0\n"
     "output size=100 flags=0\nsettle slot=0 fate=submit flags=0\nconsume count=4\nsettle slot=2 fate=submit flags=0\n"
     "hold slot=2 size=0\nhold slot=1 size=1\nsettle slot=2 fate=submit flags=2\nsettle slot=1 fate=discard flags=1\n"},
    {"held_at_the_end", one_page, "hold slot=0 size=24\nhold slot=1 size=24\nhold slot=2 size=24\n"},
    {"nested", one_page,
     "epoll_add set=0 trigger=edge\nnested size=24 count=4 inner=100 flags=0\nconsume count=3\n"
     "nested size=0 count=1 inner=0 flags=1\nnested size=3000 count=3 inner=1024 flags=2\n"
     "nested size=3000 count=1 inner=8 flags=0\nconsume count=64\nnested size=4080 count=1 inner=0 flags=0\n"},
    {"query", one_page,
     "output size=100 flags=0\nquery what=0\nquery what=1\nquery what=2\nquery what=3\nquery what=4\nquery what=7\n"
     "consumer base=producer offset=100000\nquery what=0\n"},
    {"consumer_lies", one_page,  // 1.9
     "output size=8 flags=0\nconsumer base=producer offset=-4079\noutput size=8 flags=0\n"
     "consumer base=producer offset=-4080\noutput size=8 flags=0\nconsumer base=producer offset=7\n"
     "output size=8 flags=0\nconsumer base=producer offset=16\noutput size=8 flags=0\n"
     "consumer base=producer offset=17\noutput size=8 flags=0\nconsumer base=zero offset=-1\nconsume count=9\n"
     "output size=8 flags=0\nconsumer base=zero offset=8\nconsume count=9\nconsumer base=consumer offset=8\n"
     "consume count=1\n"},
    {"laps", one_page,
     "output size=3000 flags=0\nconsume count=64\noutput size=3000 flags=0\nconsume count=64\n"
     "reserve size=1000 reserve_flags=0 write=nothing fate=submit flags=0\nconsume count=64\n"
     "dynptr size=3000 reserve_flags=0 write=half fate=submit flags=0\nconsume count=64\n"},
    {"readiness", "ringbuf pages=1 overwrite=no look=asked",
     "epoll_wait set=0\nepoll_modify set=0 trigger=edge\nepoll_remove set=0\nepoll_add set=0 trigger=level\n"
     "epoll_add set=0 trigger=level\nepoll_add set=1 trigger=edge\noutput size=8 flags=0\npoll\nepoll_wait set=0\n"
     "epoll_wait set=0\nepoll_wait set=1\nepoll_wait set=1\nepoll_modify set=1 trigger=edge\nepoll_wait set=1\n"
     "epoll_modify set=0 trigger=edge\nepoll_wait set=0\nepoll_wait set=0\noutput size=8 flags=2\nconsume count=64\n"
     "epoll_wait set=0\nepoll_remove set=1\noutput size=8 flags=0\nepoll_wait set=1\nepoll_wait set=0\npoll\n"},
};

class Agreement : public test::RingbufConform, public testing::WithParamInterface<Agreed> {};

TEST_P(Agreement, HoldsAfterEveryOperation) {
  const Script script = ringbuf_script(GetParam().setup, GetParam().lines);
  const Played result = played(script);
  EXPECT_EQ(result.operations, script.ops.size());
  if (result.deviation) ADD_FAILURE() << *result.deviation;
}

INSTANTIATE_TEST_SUITE_P(Ringbuf, Agreement, testing::ValuesIn(agreed),
                         [](const auto& instance) { return instance.param.name; });

TEST_F(Agreement, ScriptsUseEveryVerb) {
  std::set<std::string_view> unused;
  for (const VerbSpec& verb : verbs_of(kind)) unused.insert(verb.name);
  for (const Agreed& each : agreed) {
    const Script script = ringbuf_script(each.setup, each.lines);
    unused.erase(spec_of(kind, script.setup.verb).name);
    for (const Op& op : script.ops) unused.erase(spec_of(kind, op.verb).name);
  }
  EXPECT_TRUE(unused.empty()) << *unused.begin();
}

// For every rule a script that shows when the model breaks it, and what then differs.
struct Shown {
  Rule rule;
  const char* lines;
  const char* what;
};
std::ostream& operator<<(std::ostream& out, const Shown& shown) { return out << face_of(shown.rule).name; }

constexpr Shown shown[] = {
    {Rule::ringbuf_full_compare, "output size=8 flags=0\nconsumer base=producer offset=-4079\noutput size=8 flags=0\n",
     "result"},
    {Rule::ringbuf_span_rounding, "output size=0 flags=0\n", "producer_pos"},
    {Rule::ringbuf_largest_span, "output size=4088 flags=0\n", "result"},
    {Rule::ringbuf_page_offset, "output size=8 flags=0\n", "data byte 4"},
    {Rule::ringbuf_pending_walk,
     "hold slot=0 size=8\noutput size=8 flags=0\nsettle slot=0 fate=submit flags=0\noutput size=8 flags=0\n",
     "pending_pos"},
    {Rule::ringbuf_pending_over_discard,
     "reserve size=8 reserve_flags=0 write=all fate=discard flags=0\noutput size=8 flags=0\n", "pending_pos"},
    {Rule::ringbuf_pending_limits, "hold slot=0 size=4000\nconsumer base=producer offset=0\noutput size=100 flags=0\n",
     "result"},
    {Rule::ringbuf_pending_on_failure, "output size=8 flags=0\noutput size=4080 flags=0\n", "pending_pos"},
    {Rule::ringbuf_stale_payload,
     "output size=4080 flags=0\nconsume count=1\n"
     "reserve size=4080 reserve_flags=0 write=nothing fate=submit flags=0\n",
     "data byte 0"},
    {Rule::ringbuf_discard_bit, "reserve size=8 reserve_flags=0 write=all fate=discard flags=0\n", "data byte 3"},
    {Rule::ringbuf_discard_wakes,
     "epoll_add set=0 trigger=level\nreserve size=8 reserve_flags=0 write=all fate=discard flags=0\n",
     "readiness details"},
    {Rule::ringbuf_wakeup_modulo,
     "epoll_add set=0 trigger=level\nhold slot=0 size=0\nconsumer base=zero offset=4096\n"
     "settle slot=0 fate=submit flags=0\n",
     "readiness details"},
    {Rule::ringbuf_force_wins, "epoll_add set=0 trigger=level\noutput size=8 flags=3\n", "readiness details"},
    {Rule::ringbuf_output_flags, "output size=8 flags=4\n", "result"},
    {Rule::ringbuf_submit_flags,
     "epoll_add set=0 trigger=level\nreserve size=8 reserve_flags=0 write=all fate=submit flags=4\n",
     "readiness details"},
    {Rule::ringbuf_dynptr_failure, "dynptr size=4081 reserve_flags=0 write=all fate=submit flags=0\n", "result"},
    {Rule::ringbuf_dynptr_limit, "dynptr size=16777216 reserve_flags=0 write=all fate=submit flags=0\n", "result"},
    {Rule::ringbuf_query_available, "consumer base=producer offset=-4097\nquery what=0\n", "result"},
    {Rule::ringbuf_poll_busy, "hold slot=0 size=8\n", "readiness details"},
    {Rule::epoll_level_again, "epoll_add set=0 trigger=level\noutput size=8 flags=0\npoll\n", "readiness details"},
    {Rule::epoll_polls_again,
     "epoll_add set=0 trigger=level\noutput size=8 flags=0\nconsume count=1\noutput size=8 flags=1\n",
     "readiness details"},
    {Rule::epoll_add_polls, "output size=8 flags=0\nepoll_add set=0 trigger=level\n", "readiness details"},
};

class BrokenRule : public test::RingbufConform, public testing::WithParamInterface<Shown> {};

TEST_P(BrokenRule, ShowsAtTheLastOperation) {
  const Script script = ringbuf_script(one_page, GetParam().lines);
  EXPECT_FALSE(played(script).deviation) << *played(script).deviation;
  const Played result = played(script, GetParam().rule);
  ASSERT_TRUE(result.deviation);
  EXPECT_EQ(result.deviation->op, script.ops.size() - 1);
  EXPECT_EQ(result.deviation->what, GetParam().what);
}

INSTANTIATE_TEST_SUITE_P(Ringbuf, BrokenRule, testing::ValuesIn(shown),
                         [](const auto& instance) { return std::string(face_of(instance.param.rule).name); });

// Overwrite rings: the running kernel may have none, so that one model is held against another.
constexpr Shown shown_by_overwrite[] = {
    {Rule::ringbuf_overwrite_walk,
     "output size=8 flags=0\noutput size=8 flags=0\noutput size=8 flags=0\noutput size=4080 flags=0\n",
     "overwrite_pos"},
    {Rule::ringbuf_overwrite_consumer, "output size=4000 flags=0\noutput size=4000 flags=0\n", "result"},
    {Rule::ringbuf_overwrite_available, "output size=4000 flags=0\noutput size=4000 flags=0\nquery what=0\n", "result"},
};

class BrokenOverwriteRule : public testing::TestWithParam<Shown> {};

TEST_P(BrokenOverwriteRule, ShowsAtTheLastOperation) {
  static constexpr Facts nothing;
  const auto model = [](Rule broken) {
    return [broken](const Script& script) {
      return make_ringbuf_model(script, {.kernel = {6, 19}, .broken = broken}, nothing);
    };
  };
  const auto sides = [&](Rule broken) {
    return Sides{.kernel = model(Rule::none),
                 .model = [made = model(broken)](const Script& script, const Facts&) { return made(script); }};
  };
  const Script script = ringbuf_script("ringbuf pages=1 overwrite=yes look=asked", GetParam().lines);
  const auto sound = play(script, sides(Rule::none));
  ASSERT_TRUE(sound) << sound.error();
  EXPECT_FALSE(sound->deviation);
  const auto result = play(script, sides(GetParam().rule));
  ASSERT_TRUE(result) << result.error();
  ASSERT_TRUE(result->deviation);
  EXPECT_EQ(result->deviation->op, script.ops.size() - 1);
  EXPECT_EQ(result->deviation->what, GetParam().what);
}

INSTANTIATE_TEST_SUITE_P(Ringbuf, BrokenOverwriteRule, testing::ValuesIn(shown_by_overwrite),
                         [](const auto& instance) { return std::string(face_of(instance.param.rule).name); });

TEST(BrokenRules, AreAllShownByAScript) {
  for (const sim::RuleFace& face : sim::rules()) {
    if (face.kind != kind) continue;
    const auto has = [&](const auto& table) {
      return std::ranges::find(table, face.rule, &Shown::rule) != std::end(table);
    };
    EXPECT_TRUE(has(shown) || has(shown_by_overwrite)) << face.name;
  }
}

class RingbufLabTest : public test::RingbufConform {};

TEST_F(RingbufLabTest, MakesOverwriteRingsOrSaysWhichKernelHasThem) {
  const Script script =
      ringbuf_script("ringbuf pages=1 overwrite=yes look=always",
                     "output size=504 flags=0\noutput size=2000 flags=0\noutput size=2000 flags=0\n"
                     "hold slot=0 size=100\noutput size=4000 flags=0\nconsume count=2\nquery what=4\n");
  auto side = lab().side(script);
  if (!side) {
    EXPECT_EQ(side.error().code, EINVAL);
    EXPECT_EQ(side.error().remedy, "needs kernel 6.19");
    return;
  }
  utsname running{};
  ASSERT_EQ(::uname(&running), 0);
  const auto version = sim::parse_kernel_version(running.release);
  ASSERT_TRUE(version) << version.error();
  const auto result = play(script, sides({.kernel = *version, .broken = Rule::none}));
  ASSERT_TRUE(result) << result.error();
  if (result->deviation) ADD_FAILURE() << *result->deviation;
}

TEST_F(RingbufLabTest, LeavesNothingBehindWhateverAScriptHolds) {
  const Script script = ringbuf_script(one_page,
                                       "hold slot=0 size=24\nhold slot=2 size=24\nepoll_add set=0 trigger=level\n"
                                       "nested size=8 count=2 inner=8 flags=0\nhold slot=1 size=0\n");
  // The first ones make what the lab keeps: holders, the interrupt, a store of rings.
  for (int i = 0; i < 2; ++i) ASSERT_FALSE(played(script).deviation);
  const auto before = real::test::holdings();
  for (int i = 0; i < 50; ++i) ASSERT_FALSE(played(script).deviation);
  const auto after = real::test::holdings();
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.ring_mappings, before.ring_mappings);
  EXPECT_LE(after.descriptors, before.descriptors);  // rings of the store are used up
}

TEST_F(RingbufLabTest, MakesNewRingsWhenItsStoreIsUsedUp) {
  const Script script = ringbuf_script(one_page, "output size=8 flags=0\nconsume count=1\noutput size=4080 flags=0\n");
  for (int i = 0; i < 200; ++i) {
    const Played result = played(script);
    ASSERT_FALSE(result.deviation) << i << ": " << *result.deviation;
  }
}

TEST_F(RingbufLabTest, RefusesACpuThatIsNotThere) {
  const auto made = make_ringbuf_lab(100'000);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, EINVAL);
}

}  // namespace
}  // namespace ringside::conform
