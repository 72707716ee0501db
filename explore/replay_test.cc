// SPDX-License-Identifier: Apache-2.0
//
// What a failure tells: every step of its execution, and the schedule that repeats it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "explore/schedule.h"
#include "explore/search.h"

namespace ringside::explore {
namespace {

struct Memory {
  Atomic<std::int32_t> flag, other;
  std::int64_t data = 0;
};

Memory memory;

/// Data behind a flag that does not release it; the reader first sees how `other` was.
Program racy() {
  return {.begin = [] { memory = Memory{}; },
          .threads = {[] {
                        plain_write(&memory.data, 8);
                        memory.other.store(1, Order::relaxed);
                        memory.other.store(2, Order::relaxed);
                        memory.flag.store(1, Order::relaxed);
                      },
                      [] {
                        if (memory.other.load(Order::relaxed) != 0) return;
                        if (memory.flag.load(Order::acquire) == 1) plain_read(&memory.data, 8);
                      }},
          .end = {}};
}

TEST(Replay, AFailureTellsEveryStepThatLedToIt) {
  const SearchResult result = search(racy());
  ASSERT_TRUE(result.failure);
  std::vector<std::pair<std::size_t, StepKind>> steps;
  for (const Step& step : result.failure->steps) steps.emplace_back(step.thread, step.kind);
  using Kind = StepKind;
  EXPECT_EQ(steps, (std::vector<std::pair<std::size_t, StepKind>>{{0, Kind::plain_write},
                                                                  {0, Kind::store},
                                                                  {0, Kind::store},
                                                                  {0, Kind::store},
                                                                  {1, Kind::load},
                                                                  {1, Kind::load},
                                                                  {1, Kind::plain_read}}));
  EXPECT_EQ(result.failure->rival, 0u);
}

TEST(Replay, AStepSaysWhereItIsAndWhatItSawAndMissed) {
  const SearchResult result = search(racy());
  ASSERT_TRUE(result.failure);
  const Step& stale = result.failure->steps.at(4);
  EXPECT_EQ(stale.address, reinterpret_cast<std::uintptr_t>(&memory.other));
  EXPECT_EQ(stale.size_bytes, 4u);
  EXPECT_EQ(stale.order, Order::relaxed);
  EXPECT_EQ(stale.value, 0u);
  EXPECT_EQ(stale.missed, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(result.failure->steps.at(5).value, 1u);
  EXPECT_TRUE(result.failure->steps.at(5).missed.empty());
  EXPECT_EQ(result.failure->steps.at(2).value, 2u);
  std::set<const void*> sites;
  for (const Step& step : result.failure->steps) sites.insert(step.site);
  EXPECT_GE(sites.size(), 6u);  // the last calls of both threads may be jumps, and return to the same place
  EXPECT_FALSE(sites.contains(nullptr));
}

TEST(Replay, RepeatsTheFailureByItsSchedule) {
  const SearchResult found = search(racy());
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->schedule.substr(0, 12), "0x3,1.2,1#" + found.failure->schedule.substr(10, 2));
  const SearchResult again = replay(racy(), found.failure->schedule);
  ASSERT_TRUE(again.failure);
  EXPECT_EQ(again.failure->kind, found.failure->kind);
  EXPECT_EQ(again.failure->what, found.failure->what);
  EXPECT_EQ(again.failure->steps.size(), found.failure->steps.size());
  EXPECT_EQ(again.failure->schedule, found.failure->schedule);
}

TEST(Replay, RepeatsDeadlocksAndFailuresAtTheEnd) {
  const Program deadlock{.begin = [] { memory = Memory{}; },
                         .threads = {[] { memory.flag.await_equal(2); }, [] { memory.flag.store(1); }},
                         .end = {}};
  const SearchResult asleep = search(deadlock);
  ASSERT_TRUE(asleep.failure);
  ASSERT_FALSE(asleep.failure->steps.empty());
  const auto& steps = asleep.failure->steps;
  EXPECT_TRUE(std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.asleep; }));
  EXPECT_EQ(replay(deadlock, asleep.failure->schedule).failure->kind, FailureKind::deadlock);
  const Program end{.begin = [] { memory = Memory{}; },
                    .threads = {[] { memory.flag.store(static_cast<std::int32_t>(choose(3))); }},
                    .end =
                        [] {
                          if (memory.flag.plain() == 2) fail("two");
                        }};
  const SearchResult two = search(end);
  ASSERT_TRUE(two.failure);
  EXPECT_EQ(two.failure->steps.size(), 2u);
  EXPECT_EQ(replay(end, two.failure->schedule).failure->what, "two");
}

TEST(Replay, RefusesAnotherProgramInOneLine) {
  const SearchResult found = search(racy());
  ASSERT_TRUE(found.failure);
  Program other = racy();
  other.threads[1] = [] { memory.flag.load(Order::acquire); };
  const SearchResult shorter = replay(other, found.failure->schedule);
  ASSERT_TRUE(shorter.failure);
  EXPECT_EQ(shorter.failure->kind, FailureKind::nondeterministic);
  EXPECT_EQ(shorter.failure->what.find('\n'), std::string::npos);
  other.threads[1] = [] {
    memory.other.load(Order::acquire);  // the order is another
    memory.flag.load(Order::acquire);
  };
  const SearchResult stronger = replay(other, found.failure->schedule);
  ASSERT_TRUE(stronger.failure);
  EXPECT_EQ(stronger.failure->kind, FailureKind::nondeterministic);
  EXPECT_EQ(stronger.failure->what, "the program's events are others than the schedule's: it is of another program");
}

TEST(Schedule, IsReadAsItIsWritten) {
  const Schedule schedule{.turns = {{0, 0}, {0, 0}, {1, 2}, {1, 0}, {7, 31}, {7, 31}, {2, 1, 8, 4}}, .sum = 0x00c0ffee};
  EXPECT_EQ(to_text(schedule), "0x2,1.2,1,7.31x2,2.1w8+4#00c0ffee");
  EXPECT_EQ(schedule_from(to_text(schedule)).value(), schedule);
}

TEST(Schedule, SaysWhatIsWrongWithAText) {
  for (const char* const text :
       {"", "0", "0#", "0#123", "0,#12345678", "8#12345678", "0.#12345678", "0x0#12345678", "0w3#12345678",
        "0w8+8#12345678", "0x4294967295#12345678", "0x99999999999#12345678", "0 1#12345678", "0#1234567g"}) {
    EXPECT_FALSE(schedule_from(text)) << text;
  }
  EXPECT_EQ(schedule_from("0,9#12345678").error().reason, "unexpected character 4 of \"0,9#12345678\"");
}

}  // namespace
}  // namespace ringside::explore
