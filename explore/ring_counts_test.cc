// SPDX-License-Identifier: Apache-2.0
//
// The numbers of complete executions of a ring in miniature are those that GenMC 0.11 counts under RC11 for the same
// programs; a failed poll is no execution.
#include <gtest/gtest.h>

#include <string>

#include "explore/miniature_ring.h"

namespace ringside::explore {
namespace {

struct Count {
  MiniatureShape shape;
  std::uint64_t executions = 0;
  std::uint64_t blocked = 0;  ///< besides: a thread sleeps before the lock, or for a record that another will commit
};

class RingCounts : public testing::TestWithParam<Count> {};
INSTANTIATE_TEST_SUITE_P(Programs, RingCounts,
                         testing::Values(Count{{1, 1, false}, 1, 0}, Count{{1, 2, false}, 8, 0},
                                         Count{{1, 3, false}, 87, 0}, Count{{1, 4, false}, 1110, 0},
                                         Count{{1, 5, false}, 15582, 0}, Count{{2, 1, false}, 16, 1},
                                         Count{{2, 1, true}, 32, 1}, Count{{2, 2, false}, 7608, 285},
                                         Count{{3, 1, false}, 570, 41}, Count{{3, 1, true}, 2598, 81}),
                         [](const auto& given) {
                           const MiniatureShape& shape = given.param.shape;
                           return std::to_string(shape.producers) + "x" + std::to_string(shape.records) +
                                  (shape.pending_walk ? "_with_pending_pos" : "");
                         });

TEST_P(RingCounts, EqualGenMcs) {
  const SearchResult result = Miniature(GetParam().shape, {}).explore();
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_EQ(result.complete, GetParam().executions);
  EXPECT_EQ(result.blocked, GetParam().blocked);
}

TEST(RingMutants, AHeaderReadRelaxedIsARace) {
  const SearchResult result = Miniature({1, 2, false}, {.header = Order::relaxed}).explore();
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::data_race);
}

TEST(RingMutants, AProducerPositionReadRelaxedIsARace) {
  // Even with the header acquired: the header itself was written plainly.
  const SearchResult result = Miniature({1, 2, false}, {.producer_pos = Order::relaxed}).explore();
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::data_race);
}

TEST(RingMutants, OnX86NeitherIsAnyHarm) {
  for (const MiniatureOrders& orders :
       {MiniatureOrders{.header = Order::relaxed}, MiniatureOrders{.producer_pos = Order::relaxed}}) {
    EXPECT_FALSE(Miniature({1, 2, false}, orders).explore(MemoryModel::tso).failure);
  }
}

}  // namespace
}  // namespace ringside::explore
