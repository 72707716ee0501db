// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `read`; read.h has the idea.
#include "consumers/read.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& read() {
  static constexpr ringside_consumer table =
      Read<RingbufSteps, true>::table("read", "each record is copied into a fresh buffer, behind one lock");
  return table;
}

}  // namespace ringside::consumers
