// SPDX-License-Identifier: Apache-2.0
//
// Walks: each finds a defect, the bounded one in its simplest form, and each says what it does not know.
#include "explore/walks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "explore/lock_programs.h"
#include "explore/search.h"

namespace ringside::explore {
namespace {

struct Memory {
  Atomic<std::int32_t> x, y;
  std::pair<int, int> seen;
};

Memory memory;

/// Store buffering, of which both loads must not read 0.
Program store_buffering(bool fenced) {
  const auto side = [fenced](Atomic<std::int32_t>& mine, Atomic<std::int32_t>& other, int& seen) {
    return [&, fenced] {
      mine.store(1, Order::release);
      if (fenced) atomic_fence(Order::seq_cst);
      seen = other.load(Order::acquire);
    };
  };
  return {.begin = [] { memory = Memory{}; },
          .threads = {side(memory.x, memory.y, memory.seen.first), side(memory.y, memory.x, memory.seen.second)},
          .end =
              [] {
                if (memory.seen == std::pair{0, 0}) fail("neither sees the other");
              }};
}

TEST(Walks, EachFindsStoreBuffering) {
  SearchOptions options;
  options.most_executions = 1000;
  for (const auto& chooser : {random_walk(1), pct_walk(1, 3), uniform_walk(1), bounded_walk(3)}) {
    const SearchResult result = walk(store_buffering(false), *chooser, options);
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(result.failure->what, "neither sees the other");
    const SearchResult again = replay(store_buffering(false), result.failure->schedule);
    ASSERT_TRUE(again.failure);
    EXPECT_EQ(again.failure->what, "neither sees the other");
    EXPECT_EQ(again.failure->steps.size(), 4u);
  }
}

TEST(Walks, TheBoundedOneFindsTheCheapestFirst) {
  const auto chooser = bounded_walk(3);
  const SearchResult result = walk(store_buffering(false), *chooser, {});
  ASSERT_TRUE(result.failure);
  // One stale load, and no thread is preempted.
  EXPECT_EQ(result.failure->schedule.substr(0, 9), "0x2,1,1.1");
}

TEST(Walks, AreCleanWhereThereIsNoDefectAndSayWhatTheyDoNotKnow) {
  SearchOptions options;
  options.most_executions = 500;
  const auto random = random_walk(7);
  const SearchResult drawn = walk(store_buffering(true), *random, options);
  EXPECT_FALSE(drawn.failure);
  EXPECT_EQ(drawn.complete, 500u);
  EXPECT_EQ(drawn.bounds, (std::vector{Bound::executions, Bound::chance}));
  const auto cheap = bounded_walk(0);
  const SearchResult bounded = walk(store_buffering(true), *cheap, {});
  EXPECT_FALSE(bounded.failure);
  EXPECT_EQ(bounded.bounds, std::vector{Bound::cost});
  const auto all = bounded_walk(100);
  EXPECT_TRUE(walk(store_buffering(true), *all, {}).bounds.empty());
}

TEST(Walks, TheSameSeedTakesTheSameWay) {
  SearchOptions options;
  std::vector<std::vector<std::uint64_t>> ways[2];
  for (auto& way : ways) {
    options.most_executions = 50;
    options.observe = [&way](const Graph& graph) { way.push_back(graph.shape()); };
    const auto chooser = random_walk(11);
    walk(store_buffering(true), *chooser, options);
  }
  EXPECT_EQ(ways[0], ways[1]);
}

TEST(Walks, AThreadThatWaitsSleepsUntilThereIsSomething) {
  const Program program{.begin = [] { memory = Memory{}; },
                        .threads = {[] { memory.x.await_equal(2); },
                                    [] {
                                      memory.x.store(1, Order::release);
                                      memory.x.store(2, Order::release);
                                    }},
                        .end = {}};
  SearchOptions options;
  options.most_executions = 100;
  const auto chooser = random_walk(3);
  const SearchResult result = walk(program, *chooser, options);
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(result.complete, 100u);
  const Program never{.begin = program.begin, .threads = {program.threads[0], [] { memory.x.store(1); }}, .end = {}};
  const auto other = random_walk(3);
  const SearchResult asleep = walk(never, *other, options);
  ASSERT_TRUE(asleep.failure);
  EXPECT_EQ(asleep.failure->kind, FailureKind::deadlock);
}

TEST(Walks, TwoLocksTakenCrosswiseAreFoundByEach) {
  const Program program = two_locks(true);
  SearchOptions options;
  options.most_executions = 1000;
  for (const auto& chooser : {random_walk(1), pct_walk(1, 2), uniform_walk(1), bounded_walk(2)}) {
    const SearchResult result = walk(program, *chooser, options);
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(result.failure->kind, FailureKind::deadlock);
  }
}

/// How often each order of the threads' events was drawn.
std::map<std::vector<std::size_t>, int> orders_drawn(Chooser& chooser, std::uint64_t executions) {
  const Program program{.begin = [] { memory = Memory{}; },
                        .threads = {[] { memory.x.store(1, Order::relaxed); },
                                    [] {
                                      for (int value = 1; value <= 5; ++value) memory.y.store(value, Order::relaxed);
                                    }},
                        .end = {}};
  std::map<std::vector<std::size_t>, int> drawn;
  SearchOptions options;
  options.most_executions = executions;
  options.observe = [&drawn](const Graph& graph) {
    std::vector<std::size_t> threads;
    for (const EventId id : graph.order()) threads.push_back(id.thread);
    ++drawn[threads];
  };
  walk(program, chooser, options);
  return drawn;
}

// One event among five others: 6 orders. 6000 draws give each 1000 times, with a standard deviation of
// sqrt(6000 * 1/6 * 5/6) = 29.
TEST(Walks, TheUniformOneDrawsEachOrderOfEventsAsOften) {
  const auto uniform = uniform_walk(5);
  const auto drawn = orders_drawn(*uniform, 6000);
  EXPECT_EQ(drawn.size(), 6u);
  for (const auto& [order, count] : drawn) EXPECT_NEAR(count, 1000, 5 * 29);
  // By a coin for each event the lone one is first in half of the executions, and last in one of 32.
  const auto random = random_walk(5);
  const auto by_coins = orders_drawn(*random, 6000);
  EXPECT_NEAR(by_coins.at({0, 1, 1, 1, 1, 1}), 3000, 200);
  EXPECT_LT(by_coins.at({1, 1, 1, 1, 1, 0}), 400);
}

}  // namespace
}  // namespace ringside::explore
