// SPDX-License-Identifier: Apache-2.0
//
// The tables of strategies `visit` and `take`; visit.h has the ideas.
#include "consumers/visit.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& visit() {
  static constexpr ringside_consumer table =
      Visit<RingbufSteps>::table("visit", "a function sees each record in place; consumed even when it fails");
  return table;
}

const ringside_consumer& take() {
  static constexpr ringside_consumer table =
      Take<RingbufSteps>::table("take", "a function looks at each record in place and may ask for a copy");
  return table;
}

}  // namespace ringside::consumers
