// SPDX-License-Identifier: Apache-2.0
//
// Parts of a search: together they are the whole, and no execution is in two of them.
#include "explore/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

namespace ringside::explore {
namespace {

struct Memory {
  Atomic<std::int32_t> x, y;
};

Memory memory;

/// Three threads that update and read two variables: thousands of executions.
Program busy() {
  const auto side = [](Atomic<std::int32_t>& one, Atomic<std::int32_t>& other) {
    return [&] {
      one.fetch_add(1, Order::relaxed);
      other.load(Order::relaxed);
      other.store(1, Order::relaxed);
      one.load(Order::relaxed);
    };
  };
  return {.begin = [] { memory = Memory{}; },
          .threads = {side(memory.x, memory.y), side(memory.y, memory.x), side(memory.x, memory.y)},
          .end = {}};
}

TEST(Shards, AreTogetherTheWholeAndNoExecutionIsInTwo) {
  const SearchResult whole = search(busy());
  ASSERT_GT(whole.complete, 1000u);
  for (const std::uint32_t levels : {1u, 4u, 12u}) {
    std::set<std::vector<std::uint64_t>> shapes;
    std::uint64_t complete = 0;
    for (std::size_t shard = 0; shard < 3; ++shard) {
      SearchOptions options;
      options.shard = shard;
      options.shards = 3;
      options.shard_levels = levels;
      options.observe = [&](const Graph& graph) { EXPECT_TRUE(shapes.insert(graph.shape()).second); };
      complete += search(busy(), options).complete;
    }
    EXPECT_EQ(complete, whole.complete);
    EXPECT_EQ(shapes.size(), whole.complete);
  }
}

TEST(Shards, AreOfAboutTheSameSize) {
  const SearchResult whole = search(busy());
  for (std::size_t shard = 0; shard < 2; ++shard) {
    SearchOptions options;
    options.shard = shard;
    options.shards = 2;
    const double part = static_cast<double>(search(busy(), options).complete) / static_cast<double>(whole.complete);
    EXPECT_NEAR(part, 0.5, 0.1);
  }
}

// What AddressSanitizer keeps of frames, to find uses of them after their return, it never gets back from fibers that
// are left in the middle: after a search of this size the process has 44 GB of it mapped.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool can_fork_after_searches = false;
#elif defined(__has_feature)
constexpr bool can_fork_after_searches = !__has_feature(address_sanitizer);
#else
constexpr bool can_fork_after_searches = true;
#endif

TEST(Processes, CountTogetherWhatOneSearchCounts) {
  if (!can_fork_after_searches) GTEST_SKIP() << "AddressSanitizer has mapped too much for the kernel to fork";
  const SearchResult whole = search(busy());
  for (const std::size_t jobs : {1u, 2u, 3u}) {
    const SearchResult together = search_in_processes(busy(), {}, jobs);
    EXPECT_FALSE(together.failure);
    EXPECT_EQ(together.complete, whole.complete);
    EXPECT_EQ(together.blocked, whole.blocked);
  }
}

TEST(Processes, TellAFailureStepByStep) {
  Program program = busy();
  program.end = [] {
    if (memory.x.plain() == 2 && memory.y.plain() == 1) fail("two and one");
  };
  const SearchResult result = search_in_processes(program, {}, 2);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->what, "two and one");
  EXPECT_EQ(result.failure->steps.size(), 15u);  // 3 threads of an update, which is two steps, two loads and a store
}

TEST(Processes, OneThatDiesIsAFailure) {
  Program program = busy();
  program.end = [] { std::_Exit(3); };
  const SearchResult result = search_in_processes(program, {}, 2);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::crashed);
  EXPECT_EQ(result.failure->what, "the process that searched part 0 ended without a word");
}

}  // namespace
}  // namespace ringside::explore
