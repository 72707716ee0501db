// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `drain_all`; drain_all.h has the idea.
#include "consumers/drain_all.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& drain_all() {
  static constexpr ringside_consumer table = DrainAll<PerfSteps>::table(
      "drain_all", "hands over all that lies in any ring as one batch, in place unless it wraps");
  return table;
}

}  // namespace ringside::consumers
