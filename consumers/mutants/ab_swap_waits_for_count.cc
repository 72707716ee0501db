// SPDX-License-Identifier: Apache-2.0
//
// `ab_swap` that looks for as long as the side is short of its counter. The counter counts attempts: where one found
// the ring full, and no record comes behind it to tell of the loss, the count never comes.
#include "consumers/ab_swap.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct AbSwapWaitsForCount : SwapSteps {
  static constexpr bool waits_for_count = true;
};

}  // namespace

const ringside_consumer& ab_swap_waits_for_count() {
  static constexpr ringside_consumer table =
      AbSwap<AbSwapWaitsForCount>::table("ab_swap_waits_for_count", "ab_swap that waits until the count has come");
  return table;
}

}  // namespace ringside::consumers::mutant
