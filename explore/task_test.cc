// SPDX-License-Identifier: Apache-2.0
//
// A search that is cut into parts counts what it counts in one piece, wherever it is cut.
#include "explore/task.h"

#include <gtest/gtest.h>

#include <random>

#include "explore/parted_programs.h"
#include "explore/task_parts.h"
#include "explore/tiny_programs.h"
#include "ring/sanitizers.h"

namespace ringside::explore {
namespace {

/// Each part has a search of its own, whose stacks cost AddressSanitizer much.
constexpr int programs = RINGSIDE_ADDRESS_SANITIZER != 0 ? 15 : 300;

void expect_the_same_in_parts(const Program& program) {
  const Seen whole = in_one_piece(program);
  EXPECT_EQ(whole.wrong, "");
  EXPECT_EQ(whole.tally.share, whole_weight);
  const std::uint64_t all = whole.tally.complete + whole.tally.blocked;
  for (std::uint64_t first = 1; first < all; first += 1 + all / 7) EXPECT_EQ(in_parts(program, first), whole) << first;
  for (const std::uint64_t step : {1u, 3u}) EXPECT_EQ(in_steps(program, step), whole) << step;
}

TEST(Tasks, OfRandomProgramsCountTogetherWhatOneSearchCounts) {
  std::mt19937 random(20261201);
  for (int i = 0; i < programs; ++i) {
    const TinyProgram tiny = draw_program(random, i % 3 == 0);
    const TinyMemory memory(tiny);
    expect_the_same_in_parts(memory.program());
    if (testing::Test::HasFailure()) FAIL() << i << ": " << tiny;
  }
}

TEST(Tasks, OfProgramsThatAskCountTogetherWhatOneSearchCounts) {
  std::mt19937 random(20261202);
  for (int i = 0; i < programs; ++i) {
    const TinyProgram tiny = draw_questions(random);
    const Asking asking(tiny);
    expect_the_same_in_parts(asking.program());
    if (testing::Test::HasFailure()) FAIL() << i << ": " << tiny;
  }
}

TEST(Tasks, KnowThatLoadsAreNotDeferred) {
  const TinyProgram tiny = asks_too_early();
  const Asking asking(tiny);
  expect_the_same_in_parts(asking.program());
}

TEST(Tasks, CarryTheNumbersOfCreatedThreads) {
  // Shapes have numbers of threads in them, which each search gives as it meets them: counts must do.
  const Tally whole = in_one_piece(creating()).tally;
  EXPECT_GT(whole.complete, 10u);
  for (std::uint64_t first = 1; first < whole.complete; ++first) {
    EXPECT_EQ(in_parts(creating(), first).tally, whole) << first;
    EXPECT_EQ(in_steps(creating(), first).tally, whole) << first;
  }
}

/// Threads wait, and some executions are over with one asleep.
TEST(Tasks, CountExecutionsInWhichAThreadSleeps) {
  const auto taking = [] {
    lock(reinterpret_cast<std::uint32_t*>(&parted.x));
    parted.y.fetch_add(1, Order::relaxed);
    unlock(reinterpret_cast<std::uint32_t*>(&parted.x));
  };
  const Program program{.begin = [] { parted = PartedMemory{}; }, .threads = {taking, taking, taking}, .end = {}};
  EXPECT_GT(in_one_piece(program).tally.blocked, 0u);
  expect_the_same_in_parts(program);
}

TEST(Tasks, MayBeGivenAwayWhileASearchGoesOn) {
  const Seen whole = in_one_piece(busy());
  for (const std::uint64_t every : {1u, 7u, 100u}) EXPECT_EQ(in_gifts(busy(), every), whole) << every;
  std::mt19937 random(20261205);
  for (int i = 0; i < 200; ++i) {
    const TinyProgram tiny = draw_program(random, false);
    const TinyMemory memory(tiny);
    EXPECT_EQ(in_gifts(memory.program(), 1 + random() % 3), in_one_piece(memory.program())) << i << ": " << tiny;
  }
}

TEST(Tasks, OfShardsAreTogetherTheWhole) {
  const Seen whole = in_one_piece(busy());
  for (const std::uint64_t first : {1u, 50u, 700u}) {
    Seen all;
    for (std::size_t shard = 0; shard < 3; ++shard) {
      SearchOptions options;
      options.shard = shard;
      options.shards = 3;
      // Where the others are cut must not matter to any of them.
      const Seen part = in_parts(busy(), first + 10 * shard, options);
      EXPECT_EQ(part.tally.share, whole_weight);
      all.tally.complete += part.tally.complete;
      all.shapes.insert(part.shapes.begin(), part.shapes.end());
    }
    EXPECT_EQ(all.tally.complete, whole.tally.complete);
    EXPECT_EQ(all.shapes, whole.shapes);
  }
}

TEST(Tasks, OfAnotherProgramAreRefused) {
  OpenSearch open;
  SearchOptions options;
  options.most_executions = 20;
  ASSERT_FALSE(continue_search(busy(), options, open).failure);
  Program other = busy();
  other.threads[0] = [] { parted.x.load(Order::acquire); };
  const SearchResult result = continue_search(other, {}, open);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::nondeterministic);
}

TEST(Tasks, ALineThatIsDamagedSaysWhatIsWrong) {
  const std::string good = "3 9f 2 ff 0.0,1.2 1-2,4,3 0x3,1.2#9e2f0c41";
  ASSERT_TRUE(task_from(good));
  EXPECT_EQ(to_text(*task_from(good)), good);
  for (const char* const line :
       {"", "3", "3 9f 2 ff", "x 9f 2 ff - 1-4 0x3,1.2#9e2f0c41", "3 9f 2 ff 9.0 1-4 0x3,1.2#9e2f0c41",
        "3 9f 2 ff - 1-3 0x3,1.2#9e2f0c41", "3 9f 2 ff - 1-3,3 0x3,1.2#9e2f0c41", "3 9f 2 ff - 1-5 0x3,1.2#9e2f0c41",
        "3 9f 2 ff - 0-3 0x3,1.2#9e2f0c41", "3 9f 2 ff - - 0x3,1.2#9e2f0c41", "3 9f 2 ff - 1-4 0x3,1.2",
        "3 9f 2 ff - 1-4294967295 0x3,1.2#9e2f0c41", "3 9f 2 fffffffffffffffff - 1-4 0x3,1.2#9e2f0c41"}) {
    EXPECT_FALSE(task_from(line)) << line;
  }
}

}  // namespace
}  // namespace ringside::explore
