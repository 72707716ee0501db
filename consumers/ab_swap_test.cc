// SPDX-License-Identifier: Apache-2.0
//
// `ab_swap` and its mutants against two sides that are filled by hand.
#include "consumers/ab_swap.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "consumers/fake_host.h"
#include "consumers/mutants/mutants.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

using testing::FakeHost;
using testing::FakePerf;
using testing::OpenConsumer;
using testing::payload;

/// Two sides of one ring each.
struct Swap {
  FakePerf sides[2] = {FakePerf(4096), FakePerf(4096)};
  ringside_ring rings[2] = {sides[0].ring(), sides[1].ring()};
  ringside_swap words{};
  FakeHost host;

  ringside_ring_set set() {
    return {.kind = RINGSIDE_PERF,
            .ring_count = 2,
            .rings = rings,
            .map_fd = -1,
            .data_pages = 1,
            .wakeup_events = 1,
            .watermark_bytes = 0,
            .swap = &words,
            .sample_type = 0,
            .backward = 0,
            .stamp_bytes = 0};
  }
  /// What a program does that is on that side.
  void put(std::size_t side, std::uint32_t number) {
    ++words.samples[side];
    sides[side].put(payload(number, 8));
  }
};

TEST(AbSwap, RefusesRingsWithoutSidesAndAHostThatKnowsNone) {
  Swap swap;
  ringside_ring_set without = swap.set();
  without.swap = nullptr;
  EXPECT_EQ(OpenConsumer(ab_swap(), swap.host, without).open_result(), -EINVAL);
  ringside_ring_set odd = swap.set();
  odd.ring_count = 1;
  EXPECT_EQ(OpenConsumer(ab_swap(), swap.host, odd).open_result(), -EINVAL);
  EXPECT_EQ(OpenConsumer(ab_swap(), swap.host, swap.set()).open_result(), 0);
  swap.host.knows_no_batches();
  EXPECT_EQ(OpenConsumer(ab_swap(), swap.host, swap.set()).open_result(), -EINVAL);
}

TEST(AbSwap, FreezesTheSideThatTheCountNamesAndDrainsItAlone) {
  Swap swap;
  swap.put(0, 1);
  swap.put(1, 2);
  OpenConsumer consumer(ab_swap(), swap.host, swap.set());
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(swap.words.transfer_count, 1u);
  EXPECT_EQ(swap.host.deliveries.at(0).ring, 0u);
  EXPECT_EQ(swap.words.samples[0], 0u);
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(swap.words.transfer_count, 2u);
  EXPECT_EQ(swap.host.deliveries.at(1).ring, 1u);
  EXPECT_EQ(swap.words.samples[1], 0u);
}

TEST(AbSwap, ARecordThatIsLateComesTwoFlipsLater) {
  Swap swap;
  OpenConsumer consumer(ab_swap(), swap.host, swap.set());
  EXPECT_EQ(consumer.drain(), 0);  // side 0
  swap.put(0, 1);
  EXPECT_EQ(consumer.drain(), 0);  // side 1
  EXPECT_EQ(consumer.drain(), 1);
}

TEST(AbSwap, GoesOnWithTheSameSideWhenItWasCutShort) {
  Swap swap;
  for (std::uint32_t number = 0; number < 4; ++number) swap.put(0, number);
  OpenConsumer consumer(ab_swap(), swap.host, swap.set());
  EXPECT_EQ(consumer.drain(2), 2);
  swap.host.stop_after = 3;
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(swap.words.transfer_count, 1u);
  EXPECT_EQ(swap.words.samples[0], 4u) << "the side is not over";
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(swap.words.samples[0], 0u);
  EXPECT_EQ(swap.words.transfer_count, 1u);
}

TEST(AbSwap, LooksAgainAtASideThatIsShortAndThenLeavesItsCountAlone) {
  Swap swap;
  swap.words.samples[0] = 2;
  int yields = 0;
  swap.host.during_yield = [&] {
    if (++yields == 3) swap.sides[0].put(payload(1, 8));
  };
  OpenConsumer consumer(ab_swap(), swap.host, swap.set());
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(yields, SwapSteps::repolls);
  EXPECT_EQ(swap.words.samples[0], 1u) << "one is on its way";
  EXPECT_EQ(swap.host.batches_begun, 0) << "it claims nothing";
}

TEST(AbSwap, TakesFromTheCountWhatWasToldAsLost) {
  Swap swap;
  swap.words.samples[0] = 7;
  swap.sides[0].put_lost(6);
  swap.sides[0].put(payload(1, 8));
  OpenConsumer consumer(ab_swap(), swap.host, swap.set());
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(swap.words.samples[0], 0u);
  EXPECT_EQ(swap.host.losses, (std::vector<FakeHost::Loss>{{0, 6}}));
}

/// What a drain claims of a side whose counter says one record more than there is.
std::vector<std::uint32_t> claims_of_a_short_side(const ringside_consumer& table) {
  Swap swap;
  swap.put(0, 1);
  ++swap.words.samples[0];
  OpenConsumer consumer(table, swap.host, swap.set());
  EXPECT_EQ(consumer.drain(), 1);
  return swap.host.claims;
}

TEST(AbSwapMutants, TheTwoThatClaimASide) {
  using Claims = std::vector<std::uint32_t>;
  EXPECT_EQ(claims_of_a_short_side(mutant::ab_swap_claims_side()), Claims{});
  EXPECT_EQ(claims_of_a_short_side(mutant::ab_swap_no_repoll()), Claims{RINGSIDE_BATCH_SIDE});
  Swap swap;
  OpenConsumer consumer(mutant::ab_swap_claims_side(), swap.host, swap.set());
  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_EQ(swap.host.claims, Claims{RINGSIDE_BATCH_SIDE});
}

TEST(AbSwapMutants, ErasesTheCountOfWhatIsOnItsWay) {
  Swap swap;
  swap.put(0, 1);
  ++swap.words.samples[0];
  OpenConsumer consumer(mutant::ab_swap_erases_count(), swap.host, swap.set());
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(swap.words.samples[0], 0u);
}

TEST(AbSwapMutants, WaitsForACountThatComesLate) {
  Swap swap;
  swap.words.samples[0] = 1;
  int yields = 0;
  swap.host.during_yield = [&] {
    if (++yields == 1000) swap.sides[0].put(payload(1, 8));
  };
  OpenConsumer consumer(mutant::ab_swap_waits_for_count(), swap.host, swap.set());
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(yields, 1000);
}

}  // namespace
}  // namespace ringside::consumers
