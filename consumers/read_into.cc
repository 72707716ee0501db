// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `read_into`; read_into.h has the idea.
#include "consumers/read_into.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& read_into() {
  static constexpr ringside_consumer table =
      ReadInto<PerfSteps>::table("read_into", "copies each sample into one reused buffer and stores data_tail at once");
  return table;
}

}  // namespace ringside::consumers
