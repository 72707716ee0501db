// SPDX-License-Identifier: Apache-2.0
//
// Descriptors, futexes and time of plain C++ for Linux under the explorer, and what has no place there.
#include <gtest/gtest.h>

#include <set>

#include "explore/parallel.h"
#include "explore/runtime/explored_test_support.h"
#include "explore/runtime/test/events.h"
#include "ring/sanitizers.h"

namespace ringside::explore {
namespace {

struct Seen : Observed {
  std::set<int> results;
};

Seen run_all(const std::vector<void (*)()>& threads, void (*begin)() = nullptr) {
  Seen seen;
  seen.result = explore(program_of(threads, begin, [&seen] {
    if (events_failed != 0) fail("the program says so");
    seen.results.insert(events_results[0]);
  }));
  return seen;
}

TEST(ExploredEventfd, PassesAMessage) {
  expect_clean(run_all({write_event, read_event}, begin_eventfd));
  expect_failure(run_all({read_event}, begin_eventfd), FailureKind::deadlock);
}

TEST(ExploredEventfd, CountsDownAsASemaphore) {
  // Two are there, without a writer.
  expect_clean(run_all({take_one, take_one}, begin_semaphore_eventfd));
  expect_failure(run_all({take_one, take_one, take_one}, begin_semaphore_eventfd), FailureKind::deadlock);
}

TEST(ExploredEventfd, HasNothingOrSomethingWhenItDoesNotWait) {
  const Seen seen = run_all({write_event, try_read_event}, begin_nonblocking_eventfd);
  expect_clean(seen);
  EXPECT_EQ(seen.results, (std::set{-1, 7}));
}

TEST(ExploredEpoll, TellsAgainWhenLevelTriggered) { expect_clean(run_all({write_event, wait_twice}, begin_level)); }

TEST(ExploredEpoll, TellsOnceWhenEdgeTriggered) {
  expect_failure(run_all({write_event, wait_twice}, begin_edge), FailureKind::deadlock, "thread 1");
  // A second write is a second edge; both may come before the first wait.
  const Seen seen = run_all({write_event, wait_for_ever}, begin_edge);
  expect_clean(seen);
}

TEST(ExploredEpoll, WaitsNoLongerThanItsTimeout) {
  const Seen seen = run_all({write_event, wait_a_moment}, begin_level);
  expect_clean(seen);
  EXPECT_EQ(seen.results, (std::set{1, 2}));
  expect_failure(run_all({wait_for_ever}, begin_level), FailureKind::deadlock);
}

TEST(ExploredEpoll, WakesOneOfTwoThatWaitForAnEdge) {
  expect_failure(run_all({write_event, wait_for_ever, wait_for_ever}, begin_edge), FailureKind::deadlock);
  expect_clean(run_all({write_event, wait_for_ever, wait_for_ever}, begin_level));
}

TEST(ExploredPoll, WaitsForAnEvent) {
  expect_clean(run_all({write_event, wait_by_poll}, begin_eventfd));
  expect_clean(run_all({wait_by_poll, write_event}, begin_eventfd));
  expect_failure(run_all({wait_by_poll}, begin_eventfd), FailureKind::deadlock);
  const Seen seen = run_all({write_event, poll_a_moment}, begin_eventfd);
  expect_clean(seen);
  EXPECT_EQ(seen.results, (std::set{1, 2}));
}

// Case A1: a position that is handed back by a release store, and the look at the producer's that follows it, may pass
// each other; the producer then does not know that it must wake, and the consumer not that it need not sleep.
TEST(ExploredRing, AnEdgeTriggeredConsumerWithoutAFenceMissesAWakeup) {
  expect_failure(run_all({produce_two, consume_two}, begin_edge_ring), FailureKind::deadlock, "thread 1");
}

TEST(ExploredRing, AFenceOrLevelTriggeringSavesIt) {
  expect_clean(run_all({produce_two, consume_two_with_fence}, begin_edge_ring));
  expect_clean(run_all({produce_two, consume_two}, begin_level_ring));
}

TEST(ExploredRing, AFenceOnOneSideIsNone) {
  expect_failure(run_all({produce_two_without_fence, consume_two_with_fence}, begin_edge_ring), FailureKind::deadlock);
}

/// The program with two records committed, as long as nobody has consumed them.
Seen run_beside_records(const std::vector<void (*)()>& threads, void (*begin)()) {
  Program program = program_of(threads, begin, {});
  program.unread = lies_unread;
  Seen seen;
  seen.result = explore(program);
  return seen;
}

TEST(ExploredRing, ASleeperBesideARecordHasMissedAWakeUp) {
  expect_failure(run_beside_records({produce_two, consume_two}, begin_edge_ring), FailureKind::missed_wakeup,
                 "asleep beside a record: thread 1");
  expect_clean(run_beside_records({produce_two, consume_two_with_fence}, begin_edge_ring));
}

TEST(ExploredRing, ATimeoutIsNoWakeUp) {
  expect_failure(run_beside_records({produce_two, consume_two_or_time_out}, begin_edge_ring),
                 FailureKind::missed_wakeup, "asleep until a timeout beside a record: thread 1");
  // It comes before the producer, too: no harm in that.
  expect_clean(run_beside_records({produce_two, consume_two_with_fence_or_time_out}, begin_edge_ring));
}

TEST(ExploredRing, AnEpollThatIsAlwaysReadyIsABusySpin) {
  expect_failure(run_beside_records({produce_two, wait_and_do_nothing}, begin_level_ring), FailureKind::busy_spin,
                 "going round for ever: thread 1");
  expect_failure(run_beside_records({produce_two, poll_and_do_nothing}, begin_level_ring), FailureKind::busy_spin);
}

TEST(ExploredRing, GoingRoundUntilSomethingComesIsNone) {
  expect_clean(run_beside_records({produce_two, poll_until_two}, begin_level_ring));
}

TEST(ExploredEpoll, AnEdgeThatWasTakenIsNotThereInTheNextRound) {
  expect_failure(run_all({write_event, wait_and_do_nothing}, begin_edge), FailureKind::deadlock,
                 "waiting for ever: thread 1");
  expect_failure(run_all({write_event, wait_and_do_nothing}, begin_level), FailureKind::busy_spin);
}

TEST(ExploredEpoll, WaitingAgainAfterEachTimeoutIsNoDeadlock) {
  const Seen seen = run_all({wait_again_and_again}, begin_level);
  EXPECT_FALSE(seen.result.failure) << seen.result.failure->what;
  EXPECT_TRUE(seen.result.cut);
}

TEST(ExploredEpoll, WhoWaitsForAThreadThatATimeoutWakesIsInNoDeadlock) {
  const Seen seen = run_all({wait_a_while_and_write, read_event}, begin_level);
  EXPECT_FALSE(seen.result.failure) << seen.result.failure->what;
  EXPECT_TRUE(seen.result.cut);  // the second timeout
  expect_failure(run_all({wait_for_ever, read_event}, begin_level), FailureKind::deadlock, "thread 0, thread 1");
}

TEST(ExploredTimer, ExpiresBeforeOrAfterAnythingElse) {
  const Seen seen = run_all({write_event, wait_for_timer}, begin_timer);
  expect_clean(seen);
  EXPECT_EQ(seen.results, (std::set{1, 2}));
  expect_clean(run_all({read_timer}, begin_timer));
}

TEST(ExploredFutex, LooksAndSleepsInOneStep) {
  expect_clean(run_all({futex_wait_for_word, futex_set_and_wake}));
  expect_clean(run_all({futex_set_and_wake, futex_wait_for_word}));
  expect_failure(run_all({futex_wait_for_word, futex_wake_and_set}), FailureKind::deadlock);
  expect_failure(run_all({futex_wait_for_word, futex_set_silently}), FailureKind::deadlock);
}

TEST(ExploredFutex, IsWhatTheStandardLibraryWaitsBy) {
  expect_clean(run_all({atomic_wait_for_word, atomic_set_and_notify}));
  expect_failure(run_all({atomic_wait_for_word, atomic_set_silently}), FailureKind::deadlock);
  expect_clean(run_all({acquire_std_semaphore, release_std_semaphore}));
  expect_clean(run_all({fulfil_and_await_promise}));
}

// libstdc++ 12 looks whether anybody waits before it calls the kernel, and nothing keeps that look behind a release
// store: both sides miss each other as in case A1.
TEST(ExploredFutex, AReleaseStoreBeforeTheStandardLibrarysNotifyIsMissed) {
  expect_failure(run_all({atomic_wait_for_word, atomic_release_and_notify}), FailureKind::deadlock);
}

TEST(ExploredTime, IsVirtual) {
  expect_clean(run_all({look_at_clocks, look_at_clocks}));
  expect_clean(run_all({wait_until_a_second_has_passed}));
}

TEST(ExploredAnswers, StandForTheKernelsInThreadsAndInBegin) {
  expect_clean(run_all({call_device}, begin_device));
  expect_clean(run_all({write_event, read_event}, [] {
    begin_eventfd();
    call_device_in_begin();
  }));
}

TEST(ExploredAnswers, LeaveOtherCallsRefusedAndAreForgottenWithTheExecution) {
  expect_failure(run_all({call_device_in_vain}, begin_device), FailureKind::unmodelled, "munmap() is not modelled");
  expect_failure(run_all({call_device}), FailureKind::unmodelled, "open() is not modelled");
}

TEST(ExploredRefusals, NameWhatHasNoModel) {
  expect_failure(run_all({open_socket}), FailureKind::unmodelled, "socket() is not modelled");
  expect_failure(run_all({make_system_call}), FailureKind::unmodelled, "system call 110, which is not modelled");
  expect_failure(run_all({read_foreign_descriptor}), FailureKind::unmodelled, "read of descriptor 0");
}

TEST(ExploredRefusals, ProgramsThatCrashAreTold) {
  expect_failure(run_all({overflow_stack}), FailureKind::stack_overflow, "thread 0");
  expect_failure(run_all({read_null}), FailureKind::crash, "thread 0: segmentation fault at address 0x0");
  // And the process can go on.
  expect_clean(run_all({write_event, read_event}, begin_eventfd));
}

TEST(ExploredRefusals, ProgramsThatNeverEndAreTold) {
  expect_failure(run_all({compute_for_ever}), FailureKind::too_long, "an execution of more than 5000000 accesses");
  set_longest_silence_ms(20);
  expect_failure(run_all({compute_without_access}), FailureKind::too_long, "thread 0 has computed for 20 ms");
  set_longest_silence_ms(10'000);
}

Observed by_two_processes(const Program& program) {
  Observed seen;
  seen.result = explore(program, {}, [](const Program& wrapped, const SearchOptions& options) {
    return search_in_processes(wrapped, options, 2);
  });
  return seen;
}

TEST(ExploredByProcesses, IsWatchedAndNotedAsByOne) {
  if (RINGSIDE_ADDRESS_SANITIZER != 0) GTEST_SKIP() << "AddressSanitizer has mapped too much for the kernel to fork";
  set_longest_silence_ms(20);
  Program silent;
  silent.threads = {compute_without_access};
  expect_failure(by_two_processes(silent), FailureKind::too_long, "thread 0 has computed for 20 ms");
  set_longest_silence_ms(10'000);
  Program events{.begin = begin_eventfd, .threads = {write_event, read_event}, .end = {}};
  const SearchResult whole = explore(events);
  const Observed shared = by_two_processes(events);
  expect_clean(shared);
  EXPECT_EQ(shared.result.complete, whole.complete);
  Program nothing;
  nothing.threads = {[] {}};
  expect_failure(by_two_processes(nothing), FailureKind::not_instrumented, "no access");
}

int address_by_chance;

TEST(ExploredRefusals, ProgramsThatDoSomethingElseTheSecondTimeAreTold) {
  // Code that is not instrumented keeps its data from execution to execution.
  Program program;
  program.threads = {[] {
                       if (++address_by_chance % 2 == 0) atomic_set_silently();
                       write_event();
                     },
                     [] { try_read_event(); }};
  program.begin = begin_nonblocking_eventfd;
  const SearchResult result = explore(program);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(name_of(result.failure->kind), "nondeterministic");
}

}  // namespace
}  // namespace ringside::explore
