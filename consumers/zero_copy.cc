// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `zero_copy`; zero_copy.h has the idea.
#include "consumers/zero_copy.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& zero_copy() {
  static constexpr ringside_consumer table = ZeroCopy<RingbufSteps>::table(
      "zero_copy", "hands out views into the ring; space goes back as the oldest view is released");
  return table;
}

}  // namespace ringside::consumers
