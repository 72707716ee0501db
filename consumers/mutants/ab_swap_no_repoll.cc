// SPDX-License-Identifier: Apache-2.0
//
// `ab_swap` that takes the first look that finds nothing for the end of the side, and does not look again for what the
// counter says is still to come.
#include "consumers/ab_swap.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct AbSwapNoRepoll : SwapSteps {
  static constexpr int repolls = 0;
  static constexpr bool claims_side = true;
  static constexpr bool claims_when_short = true;
};

}  // namespace

const ringside_consumer& ab_swap_no_repoll() {
  static constexpr ringside_consumer table = AbSwap<AbSwapNoRepoll>::table(
      "ab_swap_no_repoll", "ab_swap that claims a side at the first look that finds nothing");
  return table;
}

}  // namespace ringside::consumers::mutant
