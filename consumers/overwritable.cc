// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `overwritable`; overwritable.h has the idea.
#include "consumers/overwritable.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& overwritable() {
  static constexpr ringside_consumer table = Overwritable<BackwardSteps>::table(
      "overwritable", "dumps rings that are written backward: pause, copy, go on, deliver oldest first");
  return table;
}

}  // namespace ringside::consumers
