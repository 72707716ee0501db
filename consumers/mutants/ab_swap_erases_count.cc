// SPDX-License-Identifier: Apache-2.0
//
// `ab_swap` that sets the counter of the drained side to 0, as the protocol was first written: what a program adds
// between the last look at the counter and that store is erased, and a record that is still to come is known to nobody.
#include "consumers/ab_swap.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct AbSwapErasesCount : SwapSteps {
  static constexpr bool takes_from_count = false;
};

}  // namespace

const ringside_consumer& ab_swap_erases_count() {
  static constexpr ringside_consumer table =
      AbSwap<AbSwapErasesCount>::table("ab_swap_erases_count", "ab_swap that sets the counter to 0");
  return table;
}

}  // namespace ringside::consumers::mutant
