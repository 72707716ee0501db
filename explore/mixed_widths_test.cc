// SPDX-License-Identifier: Apache-2.0
//
// The same bytes accessed atomically in several widths, as a record's header: 4 bytes to the kernel, 8 to some
// consumers.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>

#include "explore/search.h"

namespace ringside::explore {
namespace {

constexpr Order rlx = Order::relaxed;
constexpr Order acq = Order::acquire;
constexpr Order rel = Order::release;

struct Memory {
  alignas(8) std::array<unsigned char, 8> word{};
  std::int64_t data = 0;

  unsigned char* low() { return word.data(); }
  unsigned char* high() { return word.data() + 4; }
};

Memory memory;

SearchResult explore(std::vector<std::function<void()>> threads, std::function<void()> end = {},
                     std::function<void()> anew = {}) {
  SearchOptions options;
  options.anew = std::move(anew);
  return search({.begin = [] { memory = Memory{}; }, .threads = std::move(threads), .end = std::move(end)}, options);
}

std::uint64_t both(std::uint64_t low, std::uint64_t high) { return low | high << 32; }

TEST(MixedWidths, AWideLoadSeesHalvesThatWereStoredOneByOne) {
  std::set<std::uint64_t> seen;
  std::uint64_t value = 0;
  const SearchResult result = explore(
      {[] {
         atomic_store(memory.low(), 4, 1, rlx);
         atomic_store(memory.high(), 4, 2, rlx);
       },
       [&] { value = atomic_load(memory.low(), 8, rlx); }},
      [&] { seen.insert(value); }, [&] { seen.clear(); });
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(result.mixed_words, 1u);
  // That the second is never there without the first is the search's limit (SearchResult::mixed_words).
  EXPECT_EQ(seen, (std::set<std::uint64_t>{both(0, 0), both(1, 0), both(1, 2)}));
}

TEST(MixedWidths, TheHalvesOfAWideStoreMayBeSeenOneWithoutTheOther) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::pair<std::uint64_t, std::uint64_t> values;
  const auto run = [&](Order order) {
    seen.clear();
    return explore(
        {[] { atomic_store(memory.low(), 8, both(1, 1), rel); },
         [&, order] {
           values.first = atomic_load(memory.low(), 4, order);
           values.second = atomic_load(memory.high(), 4, order);
         }},
        [&] { seen.insert(values); }, [&] { seen.clear(); });
  };
  // A relaxed load of one half says nothing of the other: coherence holds byte by byte.
  EXPECT_FALSE(run(rlx).failure);
  EXPECT_TRUE(seen.contains({1, 0}));
  EXPECT_FALSE(run(acq).failure);
  EXPECT_FALSE(seen.contains({1, 0}));
  EXPECT_TRUE(seen.contains({0, 1}));
}

TEST(MixedWidths, AWideAcquireLearnsFromEveryStoreThatItSees) {
  const auto pass = [](Order order) {
    return explore({[order] {
                      plain_write(&memory.data, 8);
                      atomic_store(memory.low(), 4, 1, order);
                    },
                    [] { atomic_store(memory.high(), 4, 1, rlx); },
                    [] {
                      // The store of the other half may be the later one; this load sees both.
                      if (atomic_load(memory.low(), 8, acq) == both(1, 1)) plain_read(&memory.data, 8);
                    }});
  };
  EXPECT_FALSE(pass(rel).failure);
  const SearchResult racy = pass(rlx);
  ASSERT_TRUE(racy.failure);
  EXPECT_EQ(racy.failure->kind, FailureKind::data_race);
}

TEST(MixedWidths, APartIsNoReleaseSequenceOfTheRest) {
  const SearchResult result = explore({[] {
                                         plain_write(&memory.data, 8);
                                         atomic_store(memory.low(), 8, both(1, 0), rel);
                                       },
                                       [] { atomic_store(memory.high(), 4, 1, rlx); },
                                       [] {
                                         if (atomic_load(memory.high(), 4, acq) == 1) plain_read(&memory.data, 8);
                                       }});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::data_race);
}

TEST(MixedWidths, MemoryHoldsTheHalvesThatWereStoredLast) {
  std::set<std::uint64_t> ends;
  const auto result = explore(
      {[] { atomic_store(memory.low(), 8, both(1, 1), rlx); }, [] { atomic_store(memory.low(), 4, 2, rlx); }},
      [&] {
        std::uint64_t value = 0;
        std::memcpy(&value, memory.low(), 8);
        ends.insert(value);
      },
      [&] { ends.clear(); });
  EXPECT_FALSE(result.failure);
  EXPECT_EQ(ends, (std::set<std::uint64_t>{both(1, 1), both(2, 1)}));
}

/// A header of two words is written plainly, one after the other, and read in one.
SearchResult header(Order order) {
  return explore({[order] {
                    for (unsigned char* const half : {memory.low(), memory.high()}) {
                      plain_write(half, 4);
                      const std::uint32_t one = 1;
                      std::memcpy(half, &one, 4);
                    }
                    atomic_store(&memory.data, 8, 1, order);
                    atomic_update(memory.low(), 4, rel, [](std::uint64_t) { return 2; });
                  },
                  [] {
                    await(&memory.data, 8, acq, [](std::uint64_t value) { return value == 1; });
                    const std::uint64_t value = atomic_load(memory.low(), 8, acq);
                    if (value != both(1, 1) && value != both(2, 1)) fail("half a header");
                  }});
}

TEST(MixedWidths, PartsThatWereWrittenPlainlyBeforeAreOne) {
  const SearchResult result = header(rel);
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(result.complete, 2u);  // the exchange is seen or not
  EXPECT_EQ(header(rlx).failure->kind, FailureKind::data_race);
}

TEST(MixedWidths, APartThatIsWrittenPlainlyWhileTheRestIsAccessedIsTold) {
  const SearchResult result = explore({[] {
                                         plain_write(memory.low(), 4);
                                         atomic_store(memory.low(), 8, 1, rlx);
                                       },
                                       [] { atomic_load(memory.high(), 4, rlx); }});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::mixed_sizes);
  EXPECT_NE(result.failure->what.find("thread 0 writes a part of a word plainly"), std::string::npos);
}

}  // namespace
}  // namespace ringside::explore
