// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `batch_release`; batch_release.h has the idea.
#include "consumers/batch_release.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& batch_release() {
  static constexpr ringside_consumer table = BatchRelease<RingbufSteps>::table(
      "batch_release", "in place, during the call; the position is stored every 64 records");
  return table;
}

}  // namespace ringside::consumers
