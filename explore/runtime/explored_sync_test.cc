// SPDX-License-Identifier: Apache-2.0
//
// Locks, condition variables, threads and memory of plain C++ and POSIX under the explorer. Where programs that are
// written for it (explore/search_failures_test.cc, explore/threads_test.cc) do the same, the executions are as many.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "explore/runtime/explored_test_support.h"
#include "explore/runtime/test/sync.h"

namespace ringside::explore {
namespace {

struct Seen : Observed {
  std::set<std::pair<int, int>> results;
  std::set<int> sums;
};

Seen run_all(const std::vector<void (*)()>& threads, void (*begin)() = nullptr) {
  Seen seen;
  seen.result = explore(program_of(threads, begin, [&seen] {
    if (sync_failed != 0) fail("the program says so");
    seen.results.emplace(sync_results[0], sync_results[1]);
    seen.sums.insert(sync_sum);
  }));
  return seen;
}

TEST(ExploredLocks, EachKindExcludes) {
  for (const auto add : {add_with_pthread_mutex, add_with_std_mutex, add_with_spin_lock, add_with_semaphore}) {
    const Seen seen = run_all({add, add, add}, begin_semaphore);
    expect_clean(seen, 6);  // 3! orders
    EXPECT_EQ(seen.sums, std::set{3});
  }
}

TEST(ExploredLocks, WithoutOneThereIsARace) {
  expect_failure(run_all({add_unlocked, add_unlocked}), FailureKind::data_race);
}

TEST(ExploredLocks, TwoDifferentOnesDoNotExclude) {
  expect_failure(run_all({add_with_pthread_mutex, add_with_std_mutex}), FailureKind::data_race);
}

TEST(ExploredLocks, TryingFailsOrNot) {
  const Seen seen = run_all({add_with_try_lock, add_with_try_lock});
  expect_clean(seen);
  EXPECT_EQ(seen.sums, (std::set{1, 2}));
}

TEST(ExploredLocks, ATimeoutPassesOrNot) {
  const Seen seen = run_all({add_with_timed_mutex, add_with_timed_mutex});
  expect_clean(seen);
  EXPECT_EQ(seen.sums, (std::set{1, 2}));
}

TEST(ExploredLocks, RecursiveAndChecked) {
  expect_clean(run_all({lock_recursively}), 1);
  expect_clean(run_all({lock_checked}), 1);
  expect_failure(run_all({unlock_without_lock}), FailureKind::failed, "thread 0 unlocks a mutex that it does not hold");
}

TEST(ExploredLocks, TakenCrosswiseTheyDeadlock) {
  expect_failure(run_all({lock_a_then_b, lock_b_then_a}), FailureKind::deadlock, "thread 0, thread 1");
  expect_clean(run_all({lock_a_then_b, lock_a_then_b}), 2);
}

TEST(ExploredLocks, ReadersAndWriters) {
  const Seen seen = run_all({read_with_rwlock, read_with_rwlock, write_with_rwlock});
  expect_clean(seen);
  EXPECT_EQ(seen.sums, std::set{2});
  expect_failure(run_all({write_under_read_lock, write_under_read_lock}), FailureKind::data_race);
}

TEST(ExploredConditions, AFlagIsNeverMissed) {
  expect_clean(run_all({wait_for_flag, set_flag_and_signal}));
  expect_clean(run_all({set_flag_and_signal, wait_for_flag}));
  expect_clean(run_all({wait_for_std_flag, set_std_flag}));
  expect_clean(run_all({wait_for_flag, wait_for_flag, set_flag_and_broadcast}));
}

TEST(ExploredConditions, OneSignalForTwoWaitersLeavesOneAsleep) {
  expect_failure(run_all({wait_for_flag, wait_for_flag, set_flag_and_signal}), FailureKind::deadlock);
}

TEST(ExploredConditions, ASignalBetweenLookAndWaitIsLost) {
  expect_failure(run_all({wait_looking_too_early, set_flag_unlocked}), FailureKind::deadlock, "thread 0");
}

TEST(ExploredConditions, ASignalBeforeTheWaitIsLost) {
  expect_failure(run_all({wait_without_flag, signal_only}), FailureKind::deadlock, "thread 0");
}

TEST(ExploredConditions, AWaitEndsByItsTimeoutOrBySignal) {
  const Seen seen = run_all({wait_for_flag_a_moment, set_std_flag});
  expect_clean(seen);
  EXPECT_EQ(seen.results, (std::set<std::pair<int, int>>{{1, 0}, {2, 0}}));
}

TEST(ExploredConditions, AnEndlessRowOfTimeoutsIsCutAndSaysSo) {
  const Seen seen = run_all({wait_for_flag_by_moments, set_flag_silently});
  expect_clean(seen);
  EXPECT_TRUE(seen.result.cut);
  EXPECT_FALSE(run_all({wait_for_flag, set_flag_and_signal}).result.cut);
}

TEST(ExploredConditions, ABarrierLetsAllThroughOrNobody) {
  expect_clean(run_all({pass_barrier, pass_barrier, pass_barrier}, begin_barrier));
  expect_failure(run_all({pass_barrier, pass_barrier}, begin_barrier), FailureKind::deadlock);
}

TEST(ExploredThreads, CreationAndJoiningCarryHappensBefore) {
  const Seen seen = run_all({create_and_join});
  expect_clean(seen, 1);
  EXPECT_EQ(seen.result.blocked, 0u);
  expect_failure(run_all({create_and_race}), FailureKind::data_race);
}

TEST(ExploredThreads, StoreBufferingInThreadsOfTheStandardLibrary) {
  const Seen seen = run_all({store_buffering_in_std_threads});
  expect_clean(seen, 4);
  EXPECT_EQ(seen.results.size(), 4u);
}

TEST(ExploredThreads, ALocalVariableThatIsPassedOnIsShared) {
  expect_failure(run_all({pass_local_by_reference}), FailureKind::data_race, "race for 4 bytes");
}

TEST(ExploredThreads, TheyMayEndAnywhere) { expect_clean(run_all({leave_by_exit}), 1); }

TEST(ExploredThreads, OneThatNobodyJoinsEndsTheProgram) {
  expect_failure(run_all({forget_to_join}), FailureKind::failed, "std::terminate was called");
}

TEST(ExploredThreads, WhatHappensOnceHappensOnce) {
  for (const auto use : {use_once, use_static_local}) {
    const Seen seen = run_all({use, use});
    expect_clean(seen);
    EXPECT_EQ(seen.sums, std::set{1});
  }
}

TEST(ExploredSpins, EndWhenTheFlagIsSet) {
  expect_clean(run_all({spin_for_flag, set_spin_flag}));
  expect_clean(run_all({set_spin_flag, spin_for_flag}));
  expect_clean(run_all({spin_with_compare_exchange, set_spin_flag}));
  expect_clean(run_all({spin_on_volatile, set_volatile_flag}));
}

TEST(ExploredSpins, WithoutAnEndAreToldAsSuch) {
  expect_failure(run_all({spin_for_flag}), FailureKind::busy_spin, "going round for ever: thread 0");
  expect_failure(run_all({spin_for_two_flags, set_spin_flag}), FailureKind::busy_spin);
  expect_failure(run_all({spin_on_volatile}), FailureKind::busy_spin);
}

TEST(ExploredSpins, ThatSleepInEachRoundAreNotBusy) {
  expect_failure(run_all({sleep_for_flag}), FailureKind::deadlock, "waiting for ever: thread 0");
  expect_clean(run_all({sleep_for_flag, set_spin_flag}));
}

TEST(ExploredSpins, ThatCountAreNotCut) {
  const Seen seen = run_all({spin_a_few_times, set_spin_flag});
  // The flag is seen in the first, second or third round, or not at all.
  expect_clean(seen, 4);
  EXPECT_EQ(seen.results, (std::set<std::pair<int, int>>{{0, 0}, {1, 0}}));
}

TEST(ExploredRetries, InVainAreNoExecutions) {
  expect_clean(run_all({count_spin_flag, retry_for_three}), 1);
  expect_clean(run_all({retry_for_three, count_spin_flag}), 1);
}

TEST(ExploredRetries, SleepForEver) {
  expect_failure(run_all({retry_for_one}), FailureKind::deadlock, "waiting for ever: thread 0");
  // The flag may have gone on to 3 before the first look.
  expect_failure(run_all({count_spin_flag, retry_for_one}), FailureKind::deadlock, "waiting for ever: thread 1");
}

TEST(ExploredRetries, ThatChangeSomethingAreExecutions) {
  // As spin_a_few_times: the flag is seen in the first, second or third call, or not at all.
  const Seen on_the_stack = run_all({retry_and_count_on_the_stack, set_spin_flag});
  expect_clean(on_the_stack, 4);
  EXPECT_EQ(on_the_stack.results, (std::set<std::pair<int, int>>{{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
  const Seen in_memory = run_all({retry_and_count_in_memory, set_spin_flag});
  expect_clean(in_memory, 4);
  EXPECT_EQ(in_memory.results, on_the_stack.results);
}

TEST(ExploredRetries, HangOnWhatOthersWrote) {
  Seen seen;
  SearchOptions go_on;
  go_on.another = [](const Failure&) { return true; };
  // Told once or twice; nobody tells of the 1.
  seen.result =
      explore(program_of({tell_twice, retry_until_sum_is_two}, nullptr, [&] { seen.sums.insert(sync_sum); }), go_on);
  EXPECT_EQ(seen.result.complete, 2u);
  EXPECT_EQ(seen.sums, std::set{2});
}

TEST(ExploredEnds, AreTold) {
  expect_failure(run_all({throw_out}), FailureKind::failed, "an exception left thread 0: thrown on purpose");
  expect_failure(run_all({fail_assertion}), FailureKind::failed, "assertion 'sync_sum == 7' does not hold");
}

TEST(ExploredHeap, EndlessAllocationIsTold) {
  expect_failure(run_all({allocate_for_ever}), FailureKind::out_of_memory,
                 "thread 0 allocates more than 8 MiB in one execution");
}

TEST(ExploredHeap, UseAfterFreeAndDoubleFreeAreTold) {
  expect_failure(run_all({use_after_free}), FailureKind::use_after_free, "thread 0 accesses 4 bytes");
  expect_failure(run_all({free_twice}), FailureKind::use_after_free, "thread 0 frees memory that was freed before");
}

TEST(ExploredHeap, FreeingWhatAnotherThreadReadsIsTold) {
  expect_failure(run_all({free_block_early, take_block_late}), FailureKind::use_after_free,
                 "thread 1 accesses 4 bytes of memory that was freed");
  expect_clean(run_all({pass_block, take_block}), 2);  // the block is there, or not yet
}

TEST(ExploredHeap, StringsAndSharedPointersWork) { expect_clean(run_all({use_strings, use_strings}), 1); }

}  // namespace
}  // namespace ringside::explore
