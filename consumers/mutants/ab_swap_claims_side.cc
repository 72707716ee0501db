// SPDX-License-Identifier: Apache-2.0
//
// `ab_swap` as its users take it: when all that the counter of the frozen side says has come, the side is complete. A
// program that has read the transfer count and has not yet counted itself is in no counter; it writes there all the
// same.
#include "consumers/ab_swap.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct AbSwapClaimsSide : SwapSteps {
  static constexpr bool claims_side = true;
};

}  // namespace

const ringside_consumer& ab_swap_claims_side() {
  static constexpr ringside_consumer table =
      AbSwap<AbSwapClaimsSide>::table("ab_swap_claims_side", "ab_swap that claims a side whose count has come");
  return table;
}

}  // namespace ringside::consumers::mutant
