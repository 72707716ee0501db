// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `iterator`; iterate.h has the idea.
#include "consumers/iterate.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& iterator() {
  static constexpr ringside_consumer table =
      Iterate<RingbufSteps>::table("iterator", "records as a range; going on hands the last one's space back");
  return table;
}

}  // namespace ringside::consumers
