// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `ab_swap`; ab_swap.h has the idea.
#include "consumers/ab_swap.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& ab_swap() {
  static constexpr ringside_consumer table =
      AbSwap<SwapSteps>::table("ab_swap", "freezes one of two sides by a transfer count and drains it as one batch");
  return table;
}

}  // namespace ringside::consumers
