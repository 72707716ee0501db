// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `prefetch_view`; prefetch_view.h has the idea.
#include "consumers/prefetch_view.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& prefetch_view() {
  static constexpr ringside_consumer table = PrefetchView<RingbufSteps>::table(
      "prefetch_view", "in place, during the call; asks for the header 16 records ahead");
  return table;
}

}  // namespace ringside::consumers
