// SPDX-License-Identifier: Apache-2.0
#include "explore/laps.h"

#include <gtest/gtest.h>

#include "explore/ring_use_cases.h"
#include "explore/walks.h"

namespace ringside::explore {
namespace {

TEST(RingUse, IsJudgedAsTheRulesSay) {
  for (const RingUseCase& given : ring_use_cases()) {
    EXPECT_EQ(verdict_of(given), verdict_of(given.expected)) << given.name;
  }
}

TEST(RingUse, IsNobodysBusinessWithoutARing) {
  for (const RingUseCase& given : ring_use_cases()) {
    Program program = program_of(given);
    program.rings.clear();
    const SearchResult result = search(program);
    const auto kind = result.failure ? std::optional{result.failure->kind} : std::nullopt;
    EXPECT_TRUE(!kind || kind == FailureKind::data_race) << given.name;
  }
}

TEST(RingUse, FailuresComeAgainByTheirSchedules) {
  for (const RingUseCase& given : ring_use_cases()) {
    const Program program = program_of(given);
    const SearchResult found = search(program);
    if (!found.failure) continue;
    ASSERT_FALSE(found.failure->steps.empty()) << given.name;
    const SearchResult again = replay(program, found.failure->schedule);
    ASSERT_TRUE(again.failure) << given.name;
    EXPECT_EQ(again.failure->what, found.failure->what);
    EXPECT_EQ(again.failure->rival, found.failure->rival) << given.name;
    EXPECT_EQ(again.failure->span, found.failure->span) << given.name;
  }
}

TEST(RingUse, IsJudgedOnWalksToo) {
  for (const RingUseCase& given : ring_use_cases()) {
    const auto chooser = random_walk(7);
    SearchOptions options;
    options.most_executions = 1000;
    const SearchResult result = walk(program_of(given), *chooser, options);
    EXPECT_EQ(result.failure.has_value(), given.expected.has_value()) << given.name;
  }
}

/// The failure of a case.
Failure failure_of(const std::string& name) {
  for (const RingUseCase& given : ring_use_cases()) {
    if (given.name == name) return search(program_of(given)).failure.value();
  }
  return {};
}

TEST(RingUse, IsToldByPositionsAndSteps) {
  const Failure late = failure_of("a record is handed back and then read");
  EXPECT_EQ(late.what, "thread 1 reads positions 0x8 to 0x10 of the ring, which it had handed back");
  EXPECT_EQ(late.span, (RingSpan{"the ring", 0, 16, 8, 8, false}));
  EXPECT_EQ(late.rival, 0u);  // the store, and then the read
  const Failure relaxed = failure_of("a record is handed back relaxed");
  EXPECT_EQ(relaxed.what,
            "thread 1 hands back positions 0x0 to 0x10 of the ring, and its own read of position 0x8 need not be over");
  EXPECT_EQ(relaxed.span, (RingSpan{"the ring", 0, 16, 8, 8, true}));
  EXPECT_EQ(relaxed.rival, 0u);
  const Failure two = failure_of("two readers who know nothing of each other");
  EXPECT_NE(two.what.find("thread 1"), std::string::npos) << two.what;
  EXPECT_NE(two.what.find("thread 2"), std::string::npos) << two.what;
  const Failure padding = failure_of("its padding is read, too");
  EXPECT_EQ(padding.what,
            "thread 1 reads byte 13 of the record at position 0x40 of the ring, which nobody has written");
  EXPECT_EQ(padding.span, (RingSpan{"the ring", 64, 80, 77, 1, false}));
  ASSERT_TRUE(padding.rival);
  EXPECT_EQ(padding.steps.at(*padding.rival).address, reinterpret_cast<std::uintptr_t>(&used_ring.produced));
  const Failure nothing = failure_of("nothing is there");
  EXPECT_EQ(nothing.what, "thread 1 reads position 0x40 of the ring, where nothing has been produced");
  EXPECT_FALSE(nothing.rival);
}

}  // namespace
}  // namespace ringside::explore
