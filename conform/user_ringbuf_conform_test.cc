// SPDX-License-Identifier: Apache-2.0
//
// User ring buffers: hand-written scripts for every verb, on which the running kernel and the model agree, and for
// every rule of the model one that shows when it is broken.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "conform/generate.h"
#include "conform/user_ringbuf_test_support.h"

namespace ringside::conform {
namespace {

using test::UserConform;

constexpr ring::RingKind kind = ring::RingKind::user_ringbuf;

// Scripts on which both sides must agree, by name. Together they use every verb.
struct Agreed {
  const char* name;
  const char* lines;
};
constexpr Agreed agreed[] = {
    {"submit_and_discard",
     "reserve slot=0 size=8\nreserve slot=1 size=0\nreserve slot=2 size=5\nreserve slot=2 size=5\n"
     "settle slot=1 fate=discard\ndrain flags=0 stop=0\nsettle slot=0 fate=submit\ndrain flags=0 stop=0\n"
     "settle slot=2 fate=submit\nsettle slot=2 fate=submit\ndrain flags=0 stop=0\n"},
    {"exactly_full",
     "reserve slot=0 size=4088\nreserve slot=1 size=0\npoll\nsettle slot=0 fate=submit\ndrain flags=0 stop=0\npoll\n"},
    {"too_big",
     "reserve slot=0 size=4089\nreserve slot=0 size=1073741824\nreserve slot=0 size=4294967295\n"
     "header base=zero offset=0 length=5000 bits=none\nproducer base=zero offset=5008\ndrain flags=0 stop=0\n"
     "header base=zero offset=0 length=1073741823 bits=none\nproducer base=zero offset=1073741832\n"
     "drain flags=0 stop=0\nproducer base=zero offset=16777224\nheader base=zero offset=0 length=16777216 bits=none\n"
     "drain flags=0 stop=0\n"},
    {"wraps",
     "reserve slot=0 size=2040\nsettle slot=0 fate=submit\nreserve slot=0 size=2032\nsettle slot=0 fate=discard\n"
     "drain flags=0 stop=0\nreserve slot=0 size=16\nreserve slot=1 size=3000\nsettle slot=0 fate=submit\n"
     "settle slot=1 fate=submit\ndrain flags=0 stop=0\nreserve slot=0 size=4000\nsettle slot=0 fate=submit\n"
     "drain flags=0 stop=0\n"},
    {"stops", "producer base=zero offset=32\ndrain flags=0 stop=3\ndrain flags=0 stop=1\ndrain flags=0 stop=0\n"},
    {"lying_headers",
     "producer base=zero offset=16\nheader base=zero offset=0 length=100 bits=none\ndrain flags=0 stop=0\n"
     "header base=zero offset=0 length=100 bits=discard\ndrain flags=0 stop=0\n"
     "header base=consumer offset=3 length=100 bits=busy\ndrain flags=0 stop=0\n"
     "header base=producer offset=-16 length=1073741817 bits=none\ndrain flags=0 stop=0\n"
     "header base=zero offset=0 length=8 bits=busy\ndrain flags=0 stop=0\n"
     "header base=zero offset=0 length=8 bits=discard+busy\ndrain flags=0 stop=0\n"},
    {"lying_positions",
     "producer base=zero offset=4\ndrain flags=0 stop=0\nreserve slot=0 size=8\nproducer base=zero offset=8\n"
     "drain flags=0 stop=0\nproducer base=consumer offset=-8\npoll\ndrain flags=0 stop=0\nreserve slot=0 size=8\n"
     "producer base=zero offset=8192\npoll\ndrain flags=0 stop=0\nproducer base=producer offset=4294967296\n"
     "reserve slot=1 size=0\nreserve slot=2 size=8\ndrain flags=0 stop=9\nsettle slot=0 fate=submit\n"
     "producer base=zero offset=-8\ndrain flags=0 stop=2\npoll\n"},
    {"too_many_samples",
     "producer base=zero offset=1048584\ndrain flags=0 stop=0\ndrain flags=0 stop=0\ndrain flags=0 stop=0\n"},
    {"flags",
     "epoll_add set=0 trigger=edge\nepoll_wait set=0\nepoll_wait set=0\ndrain flags=0 stop=0\nepoll_wait set=0\n"
     "drain flags=2 stop=0\nepoll_wait set=0\nproducer base=producer offset=8\ndrain flags=1 stop=0\n"
     "epoll_wait set=0\nproducer base=producer offset=8\ndrain flags=3 stop=0\nepoll_wait set=0\n"
     "drain flags=4 stop=0\ndrain flags=4294967295 stop=0\nepoll_wait set=0\nproducer base=producer offset=4\n"
     "drain flags=0 stop=0\nepoll_wait set=0\ndrain flags=2 stop=0\nepoll_wait set=0\n"},
    {"epoll_sets",
     "reserve slot=0 size=4088\nepoll_add set=0 trigger=level\nepoll_add set=1 trigger=edge\n"
     "epoll_add set=1 trigger=edge\nepoll_wait set=0\nsettle slot=0 fate=submit\ndrain flags=1 stop=0\n"
     "epoll_wait set=0\nepoll_modify set=0 trigger=level\nepoll_wait set=0\nepoll_wait set=0\nepoll_wait set=1\n"
     "drain flags=2 stop=0\nepoll_wait set=1\nepoll_wait set=1\nepoll_remove set=0\nepoll_remove set=0\n"
     "epoll_wait set=0\n"},
    {"nested",
     "drain_nested flags=0 inner=2\nreserve slot=0 size=24\nsettle slot=0 fate=submit\n"
     "epoll_add set=0 trigger=edge\nepoll_wait set=0\nreserve slot=0 size=0\nsettle slot=0 fate=submit\n"
     "drain_nested flags=1 inner=2\nepoll_wait set=0\n"},
};

class Agrees : public UserConform, public testing::WithParamInterface<Agreed> {};

TEST_P(Agrees, OnEveryRingAndWithEveryLook) {
  for (const char* look : {"asked", "always"}) {
    for (const char* pages : {"1", "2", "4"}) {
      const auto played = play(script(pages, look, GetParam().lines));
      EXPECT_EQ(played.deviation, std::nullopt) << *played.deviation;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(User, Agrees, testing::ValuesIn(agreed),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(UserConform, TheScriptsUseEveryVerb) {
  std::set<Verb> used;
  for (const Agreed& each : agreed) {
    for (const Op& op : script("1", "asked", each.lines).ops) used.insert(op.verb);
  }
  EXPECT_EQ(used.size() + 1, verbs_of(kind).size());  // and the set-up
}

// For every rule of user ring buffers the shortest script that shows it.
struct Shows {
  sim::Rule rule;
  const char* lines;
};
constexpr Shows shows[] = {
    {sim::Rule::user_busy_discard,
     "producer base=zero offset=8\nheader base=zero offset=0 length=0 bits=discard+busy\ndrain flags=0 stop=0\n"},
    {sim::Rule::user_size_before_busy,
     "producer base=zero offset=8\nheader base=zero offset=0 length=1 bits=busy\ndrain flags=0 stop=0\n"},
    {sim::Rule::user_skipped_counts, "reserve slot=0 size=0\nsettle slot=0 fate=discard\ndrain flags=0 stop=0\n"},
    {sim::Rule::user_skipped_wakes,
     "reserve slot=0 size=0\nsettle slot=0 fate=discard\nepoll_add set=0 trigger=edge\nepoll_wait set=0\n"
     "drain flags=0 stop=0\nepoll_wait set=0\n"},
    {sim::Rule::user_error_hides_count,
     "producer base=zero offset=16\nheader base=zero offset=8 length=1 bits=none\ndrain flags=0 stop=0\n"},
    {sim::Rule::user_stop_consumes, "producer base=zero offset=8\ndrain flags=0 stop=1\n"},
    {sim::Rule::user_busy_suppresses_wakeup,
     "producer base=zero offset=8\nepoll_add set=0 trigger=edge\nepoll_wait set=0\ndrain_nested flags=1 inner=2\n"
     "epoll_wait set=0\n"},
    {sim::Rule::user_alignment, "producer base=zero offset=1\ndrain flags=0 stop=0\n"},
    {sim::Rule::user_full, "producer base=zero offset=4096\n"},
    {sim::Rule::user_drain_flags, "drain flags=4 stop=0\n"},
};

TEST_F(UserConform, EveryRuleThatIsBrokenShows) {
  std::set<sim::Rule> shown;
  for (const Shows& each : shows) {
    const Script lines = script("1", "asked", each.lines);
    EXPECT_EQ(play(lines).deviation, std::nullopt) << sim::face_of(each.rule).name;
    EXPECT_NE(play(lines, each.rule).deviation, std::nullopt) << sim::face_of(each.rule).name;
    shown.insert(each.rule);
  }
  for (const sim::RuleFace& face : sim::rules()) {
    if (face.kind == kind) {
      EXPECT_EQ(shown.count(face.rule), 1u) << face.name;
    }
  }
}

TEST_F(UserConform, RandomScriptsAgree) {
  for (std::uint64_t index = 0; index < 300; ++index) {
    const Script drawn = generate(kind, 1, index, {});
    const auto played = play(drawn);
    ASSERT_EQ(played.deviation, std::nullopt) << *played.deviation << '\n' << drawn;
  }
}

TEST_F(UserConform, AScriptLeavesNothingToTheNextOne) {
  const Script dirty = script("1", "always", agreed[3].lines);
  const Script clean = script("1", "always", "drain flags=0 stop=0\n");
  for (int round = 0; round < 200; ++round) {  // rings are made 64 at a time
    ASSERT_EQ(play(dirty).deviation, std::nullopt);
    ASSERT_EQ(play(clean).deviation, std::nullopt);
  }
}

}  // namespace
}  // namespace ringside::conform
