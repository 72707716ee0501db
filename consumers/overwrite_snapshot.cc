// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `overwrite_snapshot`; overwrite_snapshot.h has the idea.
#include "consumers/overwrite_snapshot.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& overwrite_snapshot() {
  static constexpr ringside_consumer table = OverwriteSnapshot<OverwriteSteps>::table(
      "overwrite_snapshot",
      "copies each record, looks at overwrite_pos again, and drops what was overwritten meanwhile");
  return table;
}

}  // namespace ringside::consumers
