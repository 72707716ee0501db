// SPDX-License-Identifier: Apache-2.0
//
// Threads that the program's threads create.
#include <gtest/gtest.h>

#include "explore/search.h"

namespace ringside::explore {
namespace {

struct Memory {
  Atomic<std::int32_t> x, y;
  std::int64_t data = 0;
};

Memory memory;

SearchResult explore(std::vector<std::function<void()>> threads) {
  return search({.begin = [] { memory = Memory{}; }, .threads = std::move(threads), .end = {}});
}

void write_data() {
  plain_write(&memory.data, 8);
  ++memory.data;
}

TEST(Threads, CreationAndJoiningCarryHappensBefore) {
  const SearchResult result = explore({[] {
    write_data();
    const std::size_t child = spawn(write_data);
    join(child);
    write_data();
    if (memory.data != 3) fail("a write is lost");
  }});
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(result.complete, 1u);
  EXPECT_EQ(result.blocked, 0u);
}

TEST(Threads, WithoutJoiningTheChildRaces) {
  const SearchResult result = explore({[] {
    spawn(write_data);
    write_data();
  }});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::data_race);
}

TEST(Threads, CreatedThreadsHaveTheExecutionsOfThreadsThatWereThere) {
  // Store buffering: four executions, as in litmus_test.cc.
  const SearchResult result = explore({[] {
    const std::size_t left = spawn([] {
      memory.x.store(1, Order::relaxed);
      memory.y.load(Order::relaxed);
    });
    const std::size_t right = spawn([] {
      memory.y.store(1, Order::relaxed);
      memory.x.load(Order::relaxed);
    });
    join(left);
    join(right);
  }});
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(result.complete, 4u);
  EXPECT_EQ(result.blocked, 0u);
}

TEST(Threads, AThreadIsItselfWhoeverIsCreatedFirst) {
  // Two threads create one each, in any order: the children's stores stand in either order, no more.
  const auto create = [](std::int32_t value) {
    return [value] {
      memory.y.fetch_add(1, Order::relaxed);
      join(spawn([value] { memory.x.store(value, Order::relaxed); }));
    };
  };
  const SearchResult result = explore({create(1), create(2)});
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(result.complete, 4u);  // 2 orders of the additions, 2 of the stores
  EXPECT_EQ(result.blocked, 0u);
}

TEST(Threads, ACreationThatDependsOnWhatIsReadIsExploredBothWays) {
  const SearchResult result =
      explore({[] {
                 if (memory.x.load(Order::relaxed) == 1) join(spawn([] { memory.y.store(1, Order::relaxed); }));
               },
               [] { memory.x.store(1, Order::relaxed); }, [] { memory.y.load(Order::relaxed); }});
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(result.complete, 3u);  // without the child; with it, and its store seen or not
}

TEST(Threads, JoiningAThreadThatIsStuckIsADeadlock) {
  const SearchResult result = explore({[] { join(spawn([] { memory.x.await_equal(1); })); }});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::deadlock);
  EXPECT_EQ(result.failure->what, "waiting for ever: thread 0, thread 1");
}

TEST(Threads, MoreThanTheSearchCanFollowAreTold) {
  const SearchResult result = explore({[] {
    while (true) spawn([] {});
  }});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::unmodelled);
  EXPECT_EQ(result.failure->what, "more than 8 threads; explore a smaller program");
}

}  // namespace
}  // namespace ringside::explore
