// SPDX-License-Identifier: Apache-2.0
//
// What ends a search before its time, each told by its name.
#include <gtest/gtest.h>

#include <array>

#include "explore/lock_programs.h"
#include "explore/search.h"

namespace ringside::explore {
namespace {

struct Memory {
  Atomic<std::int32_t> flag, other;
  std::int64_t data = 0;
};

Memory memory;

SearchResult explore(std::vector<std::function<void()>> threads, std::function<void()> end = {},
                     const SearchOptions& options = {}) {
  return search({.begin = [] { memory = Memory{}; }, .threads = std::move(threads), .end = std::move(end)}, options);
}

/// Passes 8 bytes of data behind a flag.
SearchResult pass_data(Order store, Order load) {
  return explore({[store] {
                    plain_write(&memory.data, 8);
                    memory.data = 7;
                    memory.flag.store(1, store);
                  },
                  [load] {
                    if (memory.flag.load(load) == 0) return;
                    plain_read(&memory.data, 8);
                    if (memory.data != 7) fail("the data is not there");
                  }});
}

TEST(SearchFailures, DataBehindAFlagIsARaceUnlessReleasedAndAcquired) {
  const SearchResult clean = pass_data(Order::release, Order::acquire);
  EXPECT_FALSE(clean.failure) << clean.failure->what;
  EXPECT_EQ(clean.complete, 2u);  // the flag is seen or not
  for (const auto& [store, load] : {std::pair{Order::relaxed, Order::acquire}, {Order::release, Order::relaxed}}) {
    const SearchResult racy = pass_data(store, load);
    ASSERT_TRUE(racy.failure);
    EXPECT_EQ(racy.failure->kind, FailureKind::data_race);
    EXPECT_EQ(racy.failure->what, "plain write of thread 0 and plain read of thread 1 race for 8 bytes");
  }
}

TEST(SearchFailures, ADefectThatTheProgramFindsHasItsName) {
  const SearchResult named = explore({[] { fail(DefectKind::torn, "half a record"); }});
  ASSERT_TRUE(named.failure);
  EXPECT_EQ(named.failure->kind, FailureKind::found);
  EXPECT_EQ(named.failure->defect, DefectKind::torn);
  EXPECT_EQ(name_of(*named.failure), "torn");
  EXPECT_EQ(named.failure->what, "half a record");
  const SearchResult nameless = explore({[] { fail("no such program"); }});
  ASSERT_TRUE(nameless.failure);
  EXPECT_EQ(nameless.failure->kind, FailureKind::failed);
  EXPECT_EQ(nameless.failure->defect, std::nullopt);
  EXPECT_EQ(name_of(*nameless.failure), "failed");
}

TEST(SearchFailures, TwoAreOfOneKindIfTheyGoByOneName) {
  const auto found = [](DefectKind defect) { return *explore({[defect] { fail(defect, "a record"); }}).failure; };
  EXPECT_TRUE(same_kind(found(DefectKind::torn), found(DefectKind::torn)));
  EXPECT_FALSE(same_kind(found(DefectKind::torn), found(DefectKind::lost)));
  // The program's word for it is not the search's own finding.
  EXPECT_FALSE(same_kind(found(DefectKind::data_race), *pass_data(Order::relaxed, Order::acquire).failure));
}

TEST(SearchFailures, AnAccessThatRunsIntoASecondMappingRacesForTheBytesThere) {
  // A ring of 16 bytes, mapped twice in a row: what runs over its end goes on at its beginning.
  alignas(16) static std::byte ring[32];
  const auto race_of = [](std::size_t begin, std::size_t size, std::size_t other) {
    return search({.begin = {},
                   .threads = {[=] { plain_write(ring + begin, size); }, [=] { plain_read(ring + other, 4); }},
                   .end = {},
                   .aliases = {{.begin = ring + 16, .size_bytes = 16, .same_as = ring}}},
                  {});
  };
  for (const auto& [begin, other] : {std::pair{8u, 0u}, {8u, 12u}, {8u, 16u}, {12u, 24u}}) {
    const SearchResult result = race_of(begin, 14, other);
    ASSERT_TRUE(result.failure) << begin << ' ' << other;
    EXPECT_EQ(result.failure->kind, FailureKind::data_race);
    EXPECT_EQ(result.failure->rival, 0u) << begin << ' ' << other;
  }
  EXPECT_FALSE(race_of(8, 12, 4).failure);
}

TEST(SearchFailures, PlainMemoryHoldsWhatTheExecutionStored) {
  // 2 + 2W with the stores of one thread last: whatever the order of visits, memory ends as the modification order.
  std::vector<std::pair<int, int>> ends;
  const auto result =
      explore({[] { memory.flag.store(1, Order::relaxed); }, [] { memory.flag.store(2, Order::relaxed); },
               [] { memory.other.store(memory.flag.load(Order::relaxed), Order::relaxed); }},
              [&] { ends.emplace_back(memory.flag.plain(), memory.other.plain()); });
  EXPECT_FALSE(result.failure);
  std::sort(ends.begin(), ends.end());
  // The load reads 0, 1 or 2 under each of the two orders.
  EXPECT_EQ(ends, (std::vector<std::pair<int, int>>{{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}}));
}

TEST(SearchFailures, WhatTheProgramSaysIsToldWithItsExecution) {
  const SearchResult result = explore({[] { memory.flag.store(1); },
                                       [] {
                                         if (memory.flag.load() == 1) fail("seen");
                                       }});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::failed);
  EXPECT_EQ(result.failure->what, "seen");
  EXPECT_EQ(result.failure->graph.size(), 2u);
}

TEST(SearchFailures, TheEndMayFailTheExecution) {
  const SearchResult result = explore({[] { memory.flag.store(1); }}, [] { fail("at the end"); });
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->what, "at the end");
}

TEST(SearchFailures, WaitingForWhatNobodyStoresIsADeadlock) {
  const SearchResult result = explore({[] { memory.flag.await_equal(2); }, [] { memory.flag.store(1); }});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::deadlock);
  EXPECT_EQ(result.failure->what, "waiting for ever: thread 0");
}

/// A consumer that waits for what nobody stores, and a producer.
Program sleeper(bool unread) {
  return {.begin = [] { memory = Memory{}; },
          .threads = {[] { memory.flag.store(1); }, [] { memory.other.await_equal(1); }},
          .end = {},
          .unread = [unread] { return unread && memory.flag.plain() == 1; },
          .kernel_threads = {0}};
}

TEST(SearchFailures, SleepingBesideARecordIsAMissedWakeUp) {
  const SearchResult missed = search(sleeper(true));
  ASSERT_TRUE(missed.failure);
  EXPECT_EQ(missed.failure->kind, FailureKind::missed_wakeup);
  EXPECT_EQ(missed.failure->what, "asleep beside a record: thread 1");
  const SearchResult idle = search(sleeper(false));
  ASSERT_TRUE(idle.failure);
  EXPECT_EQ(idle.failure->kind, FailureKind::deadlock);
}

TEST(SearchFailures, TheKernelMissesNoWakeUp) {
  Program program = sleeper(true);
  program.kernel_threads = {0, 1};
  const SearchResult result = search(program);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::deadlock);
}

TEST(SearchFailures, WhoWillBeWokenMissesNothing) {
  Program program = sleeper(true);
  program.threads.emplace_back([] { memory.other.store(1); });
  const SearchResult result = search(program);
  EXPECT_FALSE(result.failure) << result.failure->what;
}

TEST(SearchFailures, WhatLiesUnreadIsToldByPositions) {
  static std::uint64_t consumed, produced;
  static std::array<std::byte, 32> data;
  Program program = sleeper(true);
  program.begin = [] { memory = Memory{}, consumed = 8, produced = 24; };
  program.rings = {
      {.name = "the ring", .consumed = &consumed, .produced = &produced, .data = data.data(), .size_bytes = 32}};
  const SearchResult result = search(program);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->span, (RingSpan{"the ring", 8, 24, 0, 0, false}));
}

TEST(SearchFailures, WaitingForWhatComesIsNone) {
  const SearchResult result = explore({[] { memory.flag.await_equal(1); }, [] { memory.flag.store(1); }});
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(result.complete, 1u);
}

TEST(SearchFailures, AChoiceOfTheProgramIsTakenInEveryWay) {
  std::vector<int> chosen;
  const SearchResult result =
      explore({[] { memory.flag.store(static_cast<std::int32_t>(choose(3)), Order::relaxed); },
               [] { memory.other.store(static_cast<std::int32_t>(10 * choose(2)), Order::relaxed); }},
              [&] { chosen.push_back(memory.flag.plain() + memory.other.plain()); });
  EXPECT_FALSE(result.failure);
  std::sort(chosen.begin(), chosen.end());
  EXPECT_EQ(chosen, (std::vector<int>{0, 1, 2, 10, 11, 12}));  // 3 * 2
}

TEST(SearchFailures, AnotherNumberOfChoicesThanBeforeIsTold) {
  std::uint64_t times = 0;
  const SearchResult result = explore({[&] { static_cast<void>(choose(2 + times++)); }});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::nondeterministic);
  EXPECT_EQ(result.failure->what, "thread 0 chose among more or fewer than before");
}

TEST(SearchFailures, TwoLocksTakenCrosswiseDeadlock) {
  const SearchResult crosswise = search(two_locks(true));
  ASSERT_TRUE(crosswise.failure);
  EXPECT_EQ(crosswise.failure->kind, FailureKind::deadlock);
  const SearchResult ordered = search(two_locks(false));
  EXPECT_FALSE(ordered.failure) << ordered.failure->what;
  EXPECT_EQ(ordered.complete, 2u);  // who is first
}

TEST(SearchFailures, ALockKeepsPlainDataFromRaces) {
  static std::uint32_t word;
  static std::int64_t sum;
  const auto add = [] {
    lock(&word);
    plain_read(&sum, 8);
    plain_write(&sum, 8);
    ++sum;
    unlock(&word);
  };
  const SearchResult result = search({.begin = [] { word = 0, sum = 0; },
                                      .threads = {add, add, add},
                                      .end =
                                          [] {
                                            if (sum != 3) fail("an addition is lost");
                                          }});
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(result.complete, 6u);  // 3! orders
}

TEST(SearchFailures, AnExecutionWithoutAnEndIsTold) {
  const SearchResult result = explore({[] {
    while (memory.flag.load() == 0) {
    }
  }});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::too_long);
  EXPECT_EQ(result.failure->what, "an execution of more than 1000 events");
}

TEST(SearchFailures, AProgramThatDoesSomethingElseTheSecondTimeIsTold) {
  int times = 0;
  const SearchResult result = explore({[&] {
                                         if (++times % 2 == 0) memory.other.store(1);
                                         memory.flag.store(1);
                                       },
                                       [] { memory.flag.load(); }});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::nondeterministic);
}

TEST(SearchFailures, ABoundThatCutsTheSearchIsTold) {
  const std::vector<std::function<void()>> threads{[] { memory.flag.store(1); }, [] { memory.flag.load(); }};
  SearchOptions options;
  options.most_executions = 1;
  const SearchResult cut = explore(threads, {}, options);
  EXPECT_EQ(cut.complete, 1u);
  EXPECT_TRUE(cut.cut);
  options.most_executions = 2;  // which are all there are
  EXPECT_FALSE(explore(threads, {}, options).cut);
}

}  // namespace
}  // namespace ringside::explore
