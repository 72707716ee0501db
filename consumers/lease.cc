// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `lease`; lease.h has the idea.
#include "consumers/lease.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& lease() {
  static constexpr ringside_consumer table =
      LeaseConsumer<RingbufSteps>::table("lease", "exclusive lease; several records in place, one commit for all");
  return table;
}

}  // namespace ringside::consumers
