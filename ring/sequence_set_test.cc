// SPDX-License-Identifier: Apache-2.0
#include "ring/sequence_set.h"

#include <gtest/gtest.h>

namespace ringside::ring {
namespace {

constexpr std::uint64_t chunk = SequenceSet::chunk_numbers;

TEST(SequenceSet, StartsWithAllNumbersBelowItsStart) {
  const SequenceSet set(100);
  EXPECT_TRUE(set.contains(99));
  EXPECT_FALSE(set.contains(100));
  EXPECT_EQ(set.count_below(1000), 100u);
  EXPECT_EQ(set.first_missing(), 100u);
}

TEST(SequenceSet, TakesANumberOnce) {
  SequenceSet set(100);
  EXPECT_FALSE(set.insert(99));
  EXPECT_TRUE(set.insert(101));
  EXPECT_FALSE(set.insert(101));
  EXPECT_TRUE(set.contains(101));
  EXPECT_FALSE(set.contains(102));
}

TEST(SequenceSet, KnowsTheFirstMissingNumber) {
  SequenceSet set(0);
  set.insert(1);
  EXPECT_EQ(set.first_missing(), 0u);
  set.insert(0);
  EXPECT_EQ(set.first_missing(), 2u);
  for (std::uint64_t i = 2; i < 64; ++i) set.insert(i);
  EXPECT_EQ(set.first_missing(), 64u);
}

TEST(SequenceSet, CountsAcrossChunks) {
  SequenceSet set(chunk - 2);
  set.insert(chunk + 5);
  set.insert(3 * chunk + 70);
  EXPECT_EQ(set.count_below(chunk), chunk - 2);
  EXPECT_EQ(set.count_below(chunk + 5), chunk - 2);
  EXPECT_EQ(set.count_below(chunk + 6), chunk - 1);
  EXPECT_EQ(set.count_below(3 * chunk + 70), chunk - 1);
  EXPECT_EQ(set.count_below(3 * chunk + 71), chunk);
}

TEST(SequenceSet, ACompleteChunkGivesItsBitsBack) {
  SequenceSet set(0);
  for (std::uint64_t i = 1; i < chunk; ++i) set.insert(i);
  EXPECT_GE(set.memory_bytes(), chunk / 8);
  set.insert(0);
  EXPECT_EQ(set.memory_bytes(), 0u);
  EXPECT_EQ(set.first_missing(), chunk);
  EXPECT_FALSE(set.insert(17));
}

TEST(SequenceSet, AChunkThatIsCompleteBehindAGapKeepsNoBits) {
  SequenceSet set(0);
  for (std::uint64_t i = chunk; i < 2 * chunk; ++i) set.insert(i);
  EXPECT_LT(set.memory_bytes(), 256u);
  EXPECT_TRUE(set.contains(chunk + 17));
  EXPECT_FALSE(set.insert(chunk + 17));
  EXPECT_EQ(set.count_below(chunk + 10), 10u);
  for (std::uint64_t i = 0; i < chunk; ++i) set.insert(i);
  EXPECT_EQ(set.memory_bytes(), 0u);
  EXPECT_EQ(set.first_missing(), 2 * chunk);
}

TEST(SequenceSet, ANumberFarAheadCostsNoMoreThanItsOwnChunk) {
  SequenceSet set(0);
  EXPECT_TRUE(set.insert(std::uint64_t{1} << 60));
  EXPECT_LT(set.memory_bytes(), 256u);
  EXPECT_EQ(set.count_below(UINT64_MAX), 1u);
}

TEST(SequenceSet, EverySecondOfAHundredMillionNumbersCostsABitANumber) {
  SequenceSet set(0);
  const std::uint64_t numbers = 100'000'000;
  std::uint64_t fresh = 0;
  for (std::uint64_t i = 1; i < numbers; i += 2) fresh += std::uint64_t{set.insert(i)};
  EXPECT_EQ(fresh, numbers / 2);
  EXPECT_EQ(set.count_below(numbers), numbers / 2);
  // One bit a number is 12.5 MB; chunks of 8 KiB have some 100 bytes of overhead each. Ten times that, for a billion,
  // is below 256 MiB by half.
  EXPECT_GE(set.memory_bytes(), numbers / 8);
  EXPECT_LT(set.memory_bytes(), numbers / 8 + numbers / 8 / 50);
  EXPECT_LT(10 * set.memory_bytes(), std::size_t{256} * 1024 * 1024 / 2);
}

}  // namespace
}  // namespace ringside::ring
