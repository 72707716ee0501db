// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `copy`; copy.h has the idea.
#include "consumers/copy.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& copy() {
  static constexpr ringside_consumer table = Copy<RingbufSteps>::table(
      "copy", "copies each record into one reused buffer, hands its space back, then delivers it");
  return table;
}

}  // namespace ringside::consumers
