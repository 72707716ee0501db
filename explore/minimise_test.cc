// SPDX-License-Identifier: Apache-2.0
#include "explore/minimise.h"

#include <gtest/gtest.h>

#include "explore/schedule.h"

namespace ringside::explore {
namespace {

Atomic<std::int32_t> a, b, noise;

void begin() {
  a.set(0);
  b.set(0);
  noise.set(0);
}

/// Fails when the second thread sees b stored but not a; the third one only gets in the way.
Program passing() {
  return {.begin = begin,
          .threads = {[] {
                        a.store(1, Order::relaxed);
                        b.store(1, Order::relaxed);
                      },
                      [] {
                        const bool second = b.load(Order::relaxed) == 1;
                        if (second && a.load(Order::relaxed) == 0) fail("b before a");
                      },
                      [] {
                        noise.store(1, Order::relaxed);
                        noise.load(Order::relaxed);
                      }},
          .end = {}};
}

TEST(Minimise, AFailureHasTheFewestInterruptionsAndStaleLoads) {
  const SearchResult found = search(passing());
  ASSERT_TRUE(found.failure);
  const Minimum minimum = minimise(passing(), *found.failure, {});
  // All of the first thread, then the second one, which misses a.
  EXPECT_EQ(minimum.cost.interruptions, 0u);
  EXPECT_EQ(minimum.cost.stale, 1u);
  EXPECT_EQ(minimum.failure.kind, found.failure->kind);
  EXPECT_EQ(minimum.failure.what, found.failure->what);
  EXPECT_FALSE(minimum.failure.steps.empty());
}

TEST(Minimise, WhatItFoundFailsWhenItIsReplayed) {
  const SearchResult found = search(passing());
  ASSERT_TRUE(found.failure);
  const Minimum minimum = minimise(passing(), *found.failure, {});
  const SearchResult again = replay(passing(), minimum.failure.schedule);
  ASSERT_TRUE(again.failure);
  EXPECT_EQ(again.failure->what, found.failure->what);
  EXPECT_EQ(again.failure->steps.size(), minimum.failure.steps.size());
}

TEST(Minimise, AFailureIsComparedWithThoseOfItsDefectAlone) {
  // Without a stale load the second thread fails, too, but otherwise.
  Program two = passing();
  two.threads[1] = [] {
    const bool second = b.load(Order::relaxed) == 1;
    const bool first = a.load(Order::relaxed) == 1;
    if (second && first) fail(DefectKind::lost, "both");
    if (second && !first) fail(DefectKind::reordered, "b before a");
  };
  const SearchResult any =
      search(two, {.another = [](const Failure& failure) { return failure.defect != DefectKind::reordered; }});
  ASSERT_TRUE(any.failure);
  const Minimum minimum = minimise(two, *any.failure, {});
  EXPECT_EQ(minimum.failure.defect, DefectKind::reordered);
  EXPECT_EQ(minimum.cost.stale, 1u);
}

/// Two threads hand a token to and fro `rounds` times; the last value is the defect.
Program ping_pong(int rounds) {
  return {.begin = begin,
          .threads = {[rounds] {
                        for (int round = 0; round < rounds; ++round) {
                          a.store(round + 1, Order::release);
                          b.await_equal(round + 1);
                        }
                        fail("the end");
                      },
                      [rounds] {
                        for (int round = 0; round < rounds; ++round) {
                          a.await_equal(round + 1);
                          b.store(round + 1, Order::release);
                        }
                      }},
          .end = {}};
}

TEST(Minimise, AThreadThatWaitsIsNotInterrupted) {
  const SearchResult found = search(ping_pong(3));
  ASSERT_TRUE(found.failure);
  const Minimum minimum = minimise(ping_pong(3), *found.failure, {});
  EXPECT_EQ(minimum.cost.sum(), 0u);
  EXPECT_TRUE(minimum.all);
}

/// Under sc there is an order in which nobody misses anything: only interruptions are left.
TEST(Minimise, UnderScNothingIsStale) {
  const Program program{.begin = begin,
                        .threads = {[] {
                                      if (a.load() == 0) a.store(a.load() + 1);
                                    },
                                    [] {
                                      if (a.load() == 0) a.store(a.load() + 1);
                                    }},
                        .end = [] {
                          if (a.plain() == 1 && noise.plain() == 0) fail("one is lost");
                        }};
  const SearchOptions options{.model = MemoryModel::sc};
  const SearchResult found = search(program, options);
  ASSERT_TRUE(found.failure);
  const Minimum minimum = minimise(program, *found.failure, options);
  EXPECT_EQ(minimum.cost.stale, 0u);
}

TEST(Minimise, LooksAtEveryFailureThatTheSearchMeets) {
  // Whoever comes second fails: three places for the other's store, seen or not.
  const Program program{.begin = begin,
                        .threads = {[] { a.store(1); },
                                    [] {
                                      const int first = a.load();
                                      const int second = a.load();
                                      if (first + second > 0) fail("seen");
                                    }},
                        .end = {}};
  const SearchResult found = search(program);
  ASSERT_TRUE(found.failure);
  const Minimum minimum = minimise(program, *found.failure, {});
  EXPECT_EQ(minimum.compared, 2u);  // both loads see the store, or the second one alone
  EXPECT_TRUE(minimum.all);
  EXPECT_EQ(minimum.cost.sum(), 0u);
}

TEST(SimplestOrder, KeepsUpdatesTogether) {
  const Program program{.begin = begin,
                        .threads = {[] { a.fetch_add(1, Order::relaxed); }, [] { a.fetch_add(1, Order::relaxed); }},
                        .end = [] {
                          if (a.plain() == 2) fail("two");
                        }};
  const SearchResult found = search(program);
  ASSERT_TRUE(found.failure);
  const SimplestOrder order = simplest_order(found.failure->graph);
  ASSERT_EQ(order.events.size(), 4u);
  EXPECT_EQ(order.events[0].thread, order.events[1].thread);
  EXPECT_EQ(order.events[2].thread, order.events[3].thread);
  EXPECT_EQ(order.cost.sum(), 0u);
}

}  // namespace
}  // namespace ringside::explore
