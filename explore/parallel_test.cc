// SPDX-License-Identifier: Apache-2.0
//
// Parts of a search: together they are the whole, and no execution is in two of them.
#include "explore/parallel.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <random>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "explore/parted_programs.h"
#include "explore/tiny_programs.h"
#include "ring/sanitizers.h"

namespace ringside::explore {
namespace {

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

TEST(Processes, CountOfRandomProgramsWhatOneSearchCounts) {
  if (!can_fork_after_searches) GTEST_SKIP() << "AddressSanitizer has mapped too much for the kernel to fork";
  std::mt19937 random(20261206);
  for (int i = 0; i < 60; ++i) {
    const TinyProgram tiny = draw_program(random, i % 3 == 0);
    const TinyMemory memory(tiny);
    const SearchResult whole = search(memory.program());
    const SearchResult together = search_in_processes(memory.program(), {}, 2);
    EXPECT_FALSE(together.failure);
    EXPECT_EQ(together.complete, whole.complete) << i << ": " << tiny;
    EXPECT_EQ(together.blocked, whole.blocked) << i << ": " << tiny;
    EXPECT_EQ(together.mixed_words, whole.mixed_words) << i << ": " << tiny;
  }
  const SearchResult whole = search(creating());
  const SearchResult together = search_in_processes(creating(), {}, 3);
  EXPECT_EQ(together.complete, whole.complete);
  EXPECT_EQ(together.blocked, whole.blocked);
}

TEST(Processes, TellAFailureStepByStep) {
  Program program = busy();
  program.end = [] {
    if (parted.x.plain() == 2 && parted.y.plain() == 1) fail("two and one");
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

TEST(Processes, TheDefectThatOneFindsKeepsItsName) {
  Program program = busy();
  program.end = [] { fail(DefectKind::duplicate, "twice"); };
  const SearchResult result = search_in_processes(program, {}, 1);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::found);
  EXPECT_EQ(result.failure->defect, DefectKind::duplicate);
  EXPECT_EQ(result.failure->what, "twice");
}

TEST(Processes, OneThatDiesIsAFailure) {
  Program program = busy();
  program.end = [] { std::_Exit(3); };
  const SearchResult result = search_in_processes(program, {}, 1);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::crashed);
  EXPECT_EQ(result.failure->what, "searching process 1 of 1 ended without a word");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // none is left
}

TEST(Processes, OneThatIsKilledIsAFailureThatSaysBySomeSignal) {
  Program program = busy();
  program.end = [] { ::raise(SIGKILL); };
  const SearchResult result = search_in_processes(program, {}, 1);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->what, "searching process 1 of 1 ended by signal 9");
}

TEST(Processes, EachHasSomethingToDoWhereTheTreeIsDeepToOneSide) {
  if (!can_fork_after_searches) GTEST_SKIP() << "AddressSanitizer has mapped too much for the kernel to fork";
  OpenSearch open;
  std::vector<WorkerShare> shares;
  const SearchResult result = search_in_processes(busy(), {}, 2, open, &shares);
  EXPECT_EQ(open.so_far.share, whole_weight);
  EXPECT_TRUE(open.tasks.empty());
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].executions + shares[1].executions, result.complete + result.blocked);
  EXPECT_GT(shares[0].executions, 0u);
  EXPECT_GT(shares[1].executions, 0u);
}

TEST(Processes, SeeNoMoreExecutionsThanTheyMayAndLeaveTheRest) {
  if (!can_fork_after_searches) GTEST_SKIP() << "AddressSanitizer has mapped too much for the kernel to fork";
  const SearchResult whole = search(busy());
  for (const std::size_t jobs : {1u, 2u, 3u}) {
    OpenSearch open;
    SearchOptions options;
    options.most_executions = 700;
    const SearchResult first = search_in_processes(busy(), options, jobs, open);
    EXPECT_EQ(first.complete + first.blocked, 700u);
    EXPECT_EQ(first.bounds, std::vector{Bound::executions});
    const SearchResult rest = search_in_processes(busy(), {}, jobs, open);
    EXPECT_FALSE(rest.cut);
    EXPECT_EQ(rest.complete, whole.complete);
    EXPECT_EQ(rest.blocked, whole.blocked);
    EXPECT_EQ(open.so_far.share, whole_weight);
  }
}

TEST(Processes, EndWhenTheyAreAskedToAndAnybodyGoesOn) {
  if (!can_fork_after_searches) GTEST_SKIP() << "AddressSanitizer has mapped too much for the kernel to fork";
  const SearchResult whole = search(busy());
  OpenSearch open;
  SearchOptions options;
  options.stop = [](const Tally&) { return Bound::executions; };
  search_in_processes(busy(), options, 2, open);
  const SearchResult rest = continue_search(busy(), {}, open);
  EXPECT_EQ(rest.complete, whole.complete);
  EXPECT_EQ(rest.blocked, whole.blocked);
}

TEST(Processes, BeginAnewTogetherWhereWidthsAreMixed) {
  union Word {
    Word() : whole(0) {}
    Atomic<std::uint32_t> whole;
    std::array<Atomic<std::uint16_t>, 2> halves;
  };
  static Word word;
  const Program program{.begin = [] { word.whole.set(0); },
                        .threads = {[] {
                                      word.whole.fetch_add(1, Order::relaxed);
                                      word.whole.load(Order::relaxed);
                                    },
                                    [] { word.whole.store(7, Order::relaxed); },
                                    [] {
                                      // Only some executions show that there are halves.
                                      if (word.whole.load(Order::relaxed) != 7) return;
                                      word.halves[1].store(2, Order::relaxed);
                                      word.whole.load(Order::relaxed);
                                    }},
                        .end = {}};
  const SearchResult whole = search(program);
  ASSERT_EQ(whole.mixed_words, 1u);
  for (const std::size_t jobs : {1u, 2u}) {
    int anew = 0;
    SearchOptions options;
    options.anew = [&anew] { ++anew; };
    const SearchResult together = search_in_processes(program, options, jobs);
    EXPECT_FALSE(together.failure);
    EXPECT_EQ(anew, 1);
    EXPECT_EQ(together.complete, whole.complete);
    EXPECT_EQ(together.mixed_words, 1u);
  }
}

/// Memory that is mapped twice, as that of a ring: what one process does there another must not see.
TEST(Processes, HaveMemoryOfTheirOwnWhereTheirParentSharesIt) {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const int file = ::memfd_create("shared", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(size)), 0);
  auto* const one = static_cast<int*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  auto* const same = static_cast<int*>(::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0));
  ASSERT_NE(one, MAP_FAILED);
  ASSERT_NE(same, MAP_FAILED);
  *one = 1;
  const Program program{.begin =
                            [=] {
                              if (*same != 1) fail("what is there at first is lost");
                              *one = 2;
                              if (*same != 2) fail("it is no more the same memory");
                              int read = 0;
                              if (::pread(file, &read, sizeof read, 0) != sizeof read || read != 2) {
                                fail("the descriptor is of other memory");
                              }
                              *one = 1;
                            },
                        .threads = {[] { parted.x.load(); }},
                        .end = {}};
  const SearchResult result = search_in_processes(program, {}, 1);
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(*same, 1);
  const Program leaves{.begin = [=] { *one = 4; }, .threads = {[] { parted.x.load(); }}, .end = {}};
  EXPECT_FALSE(search_in_processes(leaves, {}, 2).failure);
  EXPECT_EQ(*same, 1);
  ::munmap(one, size);
  ::munmap(same, size);
  ::close(file);
}

}  // namespace
}  // namespace ringside::explore
