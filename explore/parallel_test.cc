// SPDX-License-Identifier: Apache-2.0
//
// Parts of a search: together they are the whole, and no execution is in two of them.
#include "explore/parallel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "ring/sanitizers.h"

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
constexpr bool can_fork_after_searches = RINGSIDE_ADDRESS_SANITIZER == 0;

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

TEST(Processes, WhereOneCannotBeHadNoneIsLeft) {
  // Our preset has AddressSanitizer and UndefinedBehaviorSanitizer together.
  if (RINGSIDE_ADDRESS_SANITIZER != 0) {
    GTEST_SKIP() << "UndefinedBehaviorSanitizer opens a pipe to check an object's type, and here no descriptor is left";
  }
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const int next = ::dup(STDERR_FILENO);
  ::close(next);
  // One pipe can be had and, when its other end is closed, no second one.
  rlimit few = usual;
  few.rlim_cur = static_cast<rlim_t>(next) + 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_THROW(search_in_processes(busy(), {}, 2), std::system_error);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  const int again = ::dup(STDERR_FILENO);
  ::close(again);
  EXPECT_EQ(again, next);
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
