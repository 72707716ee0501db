// SPDX-License-Identifier: Apache-2.0
//
// Plain C and C++ under the explorer: the same outcomes in the same number of executions as programs that are written
// for it (explore/litmus_test.cc).
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "explore/runtime/explored_test_support.h"
#include "explore/runtime/test/litmus.h"

namespace ringside::explore {
namespace {

using Thread = void (*)();

struct Seen : Observed {
  std::set<std::pair<int, int>> outcomes;  ///< of threads 0 and 1
};

Seen explore_threads(const std::vector<Thread>& threads, MemoryModel model = MemoryModel::c11) {
  Seen seen;
  const Program program = program_of(threads, litmus_begin, [&seen] {
    if (litmus_failed != 0) fail("the litmus test says so");
    seen.outcomes.emplace(litmus_seen[0], litmus_seen[1]);
  });
  seen.result = explore(program, {.model = model});
  return seen;
}

/// And none of them blocked.
void expect_all_clean(const Seen& seen, std::uint64_t executions) {
  expect_clean(seen, executions);
  EXPECT_EQ(seen.result.blocked, 0u);
}

void expect_race(const Seen& seen, const std::string& what) { expect_failure(seen, FailureKind::data_race, what); }

TEST(ExploredLitmus, StoreBuffering) {
  for (const auto& threads : {std::vector{cpp_sb_left, cpp_sb_right}, {c_sb_left, c_sb_right}}) {
    const Seen weak = explore_threads(threads);
    expect_all_clean(weak, 4);
    EXPECT_TRUE(weak.outcomes.contains({0, 0}));
    const Seen strong = explore_threads(threads, MemoryModel::sc);
    expect_all_clean(strong, 3);
    EXPECT_FALSE(strong.outcomes.contains({0, 0}));
  }
}

TEST(ExploredLitmus, StoreBufferingThatIsForbidden) {
  for (const auto& threads :
       {std::vector{cpp_sb_seq_cst_left, cpp_sb_seq_cst_right}, {cpp_sb_fences_left, cpp_sb_fences_right}}) {
    const Seen seen = explore_threads(threads);
    expect_all_clean(seen, 3);
    EXPECT_FALSE(seen.outcomes.contains({0, 0}));
  }
}

TEST(ExploredLitmus, StoreBufferingOfVolatiles) {
  // The same executions as of atomics, stale values included.
  const Seen weak = explore_threads({volatile_sb_left, volatile_sb_right});
  expect_all_clean(weak, 4);
  EXPECT_EQ(weak.outcomes, (std::set<std::pair<int, int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  expect_all_clean(explore_threads({volatile_sb_left, volatile_sb_right}, MemoryModel::sc), 3);
}

TEST(ExploredLitmus, MessagePassing) {
  // The flag is seen or not.
  expect_all_clean(explore_threads({cpp_mp_send, cpp_mp_receive}), 2);
  expect_all_clean(explore_threads({c_mp_send, c_mp_receive}), 2);
  expect_all_clean(explore_threads({volatile_mp_send, volatile_mp_receive}), 2);
}

TEST(ExploredLitmus, AMessageBehindARelaxedFlagRaces) {
  expect_race(explore_threads({cpp_mp_send, cpp_mp_receive_relaxed}),
              "plain write of thread 0 and plain read of thread 1 race for 4 bytes");
}

class VolatileModes : public testing::Test {
 protected:
  void TearDown() override { set_volatile_mode(VolatileMode::acquire_release); }
};

TEST_F(VolatileModes, RelaxedVolatilesPassNoMessage) {
  set_volatile_mode(VolatileMode::relaxed);
  expect_race(explore_threads({volatile_mp_send, volatile_mp_receive}), "plain write of thread 0");
  expect_all_clean(explore_threads({volatile_sb_left, volatile_sb_right}), 4);
}

TEST_F(VolatileModes, PlainVolatilesRaceThemselves) {
  set_volatile_mode(VolatileMode::plain);
  expect_race(explore_threads({volatile_sb_left, volatile_sb_right}), "race for 4 bytes");
}

TEST(ExploredLitmus, EveryUpdateInEveryWidth) { expect_all_clean(explore_threads({cpp_updates}), 1); }

TEST(ExploredLitmus, AdditionsOfEveryWidthAreAtomic) {
  for (const Thread add : {cpp_add_8, cpp_add_16, cpp_add_32, cpp_add_64}) {
    int sum = 0;
    const SearchResult result = explore({.begin = {}, .threads = {add, add, add}, .end = [&] { sum += cpp_sums(); }});
    EXPECT_FALSE(result.failure) << result.failure->what;
    EXPECT_EQ(result.complete, 6u);  // 3! orders
    EXPECT_EQ(sum, 6 * 3);
  }
}

TEST(ExploredLitmus, CompareExchange) {
  // One of the two gets the ticket; the loop, alone, sees only what was there.
  expect_all_clean(explore_threads({cpp_take_strong, cpp_take_strong}), 2);
  expect_all_clean(explore_threads({cpp_take_weak}), 1);
}

TEST(ExploredLitmus, RacesAreFoundByTheByte) {
  expect_race(explore_threads({c_copy_all, c_write_one}),
              "plain read of thread 0 and plain write of thread 1 race for 1 bytes");
  expect_race(explore_threads({c_fill_all, c_write_one}), "race for 1 bytes");
  expect_race(explore_threads({cpp_copy_struct, cpp_write_member}), "race for 4 bytes");
}

TEST(ExploredLitmus, TwoThreadsThatOnlyReadDoNotRace) {
  expect_all_clean(explore_threads({c_use_own_stack, c_use_own_stack}), 1);
}

TEST(ExploredLitmus, InitialisersRunOutsideOfAnyExecution) { EXPECT_EQ(cpp_static_initialiser_ran(), 1); }

TEST(ExploredLitmus, EachExecutionBeginsWithTheFirstOnesStaticData) {
  // Without that the second execution would find the flag set.
  for (int round = 0; round < 2; ++round) {
    const Seen seen = explore_threads({cpp_sb_left, cpp_sb_right});
    expect_all_clean(seen, 4);
    EXPECT_EQ(seen.outcomes.size(), 4u);
  }
}

TEST(ExploredLitmus, AtomicsOfSixteenBytesAreRefused) {
  const Seen seen = explore_threads({cpp_wide});
  ASSERT_TRUE(seen.result.failure);
  EXPECT_EQ(seen.result.failure->kind, FailureKind::unmodelled);
  EXPECT_EQ(seen.result.failure->what,
            "an atomic access of 16 bytes, which the search does not know; explore with one of 8 or with a lock");
}

TEST(ExploredLitmus, CodeThatIsNotInstrumentedIsTold) {
  const SearchResult result = explore({.begin = {}, .threads = {[] {}}, .end = {}});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::not_instrumented);
}

}  // namespace
}  // namespace ringside::explore
