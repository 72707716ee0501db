// SPDX-License-Identifier: Apache-2.0
#include "explore/races.h"

#include <gtest/gtest.h>

namespace ringside::explore {
namespace {

// Two threads; the first knows nothing of the second, and the second nothing of the first but what a test says.
struct Two {
  Races races;

  std::optional<Race> first(std::uintptr_t address, std::size_t size, bool write, bool atomic = false) {
    return races.note(
        {.address = address, .size_bytes = size, .thread = 0, .time = 0, .atomic = atomic, .write = write}, Clock{});
  }
  /// After `known` events of the first thread.
  std::optional<Race> second(std::uintptr_t address, std::size_t size, bool write, bool atomic = false,
                             std::size_t known = 0) {
    Clock clock;
    clock.set(0, known);
    return races.note(
        {.address = address, .size_bytes = size, .thread = 1, .time = 0, .atomic = atomic, .write = write}, clock);
  }
};

TEST(Races, TwoReadsDoNotRace) {
  Two two;
  EXPECT_FALSE(two.first(64, 8, false));
  EXPECT_FALSE(two.second(64, 8, false));
}

TEST(Races, AWriteRacesWithAReadAndWithAWrite) {
  for (const bool write : {false, true}) {
    Two two;
    EXPECT_FALSE(two.first(64, 8, true));
    EXPECT_TRUE(two.second(64, 8, write));
  }
}

TEST(Races, AReadRacesWithALaterWrite) {
  Two two;
  EXPECT_FALSE(two.first(64, 8, false));
  EXPECT_TRUE(two.second(64, 8, true));
}

TEST(Races, AtomicAccessesDoNotRaceWithEachOtherButWithPlainOnes) {
  Two two;
  EXPECT_FALSE(two.first(64, 4, true, true));
  EXPECT_FALSE(two.second(64, 4, true, true));
  EXPECT_TRUE(two.second(64, 4, false, false));
}

TEST(Races, WhatHappensBeforeDoesNotRace) {
  Two two;
  EXPECT_FALSE(two.first(64, 8, true));
  EXPECT_FALSE(two.second(64, 8, true, false, 1));
}

TEST(Races, AreFoundByteByByte) {
  Two two;
  EXPECT_FALSE(two.first(64, 3, true));   // 64 65 66
  EXPECT_FALSE(two.second(67, 5, true));  // 67 to 71
  const auto race = two.second(65, 2, false);
  ASSERT_TRUE(race);
  EXPECT_EQ(race->address, 65u);
  EXPECT_EQ(race->size_bytes, 2u);
  EXPECT_EQ(race->earlier.thread, 0u);
}

TEST(Races, ReachOverGranulesOfEightBytes) {
  Two two;
  EXPECT_FALSE(two.first(60, 16, true));  // 60 to 75
  const auto race = two.second(72, 100, false);
  ASSERT_TRUE(race);
  EXPECT_EQ(race->address, 72u);
  EXPECT_EQ(race->size_bytes, 4u);
}

TEST(Races, AnAtomicStoreDoesNotHideAPlainOneOfBefore) {
  Races races;
  const auto note = [&](std::size_t thread, std::size_t time, bool atomic, std::size_t known_of_0) {
    Clock known;
    known.set(0, known_of_0);
    return races.note({.address = 64, .size_bytes = 4, .thread = thread, .time = time, .atomic = atomic, .write = true},
                      known);
  };
  EXPECT_FALSE(note(0, 0, false, 0));
  EXPECT_FALSE(note(0, 1, true, 1));
  // Atomic against atomic is none; against the plain store before it, which it does not know of, it is one.
  EXPECT_TRUE(note(1, 0, true, 0));
}

}  // namespace
}  // namespace ringside::explore
