// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `callback`; callback.h has the idea.
#include "consumers/callback.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& callback() {
  static constexpr ringside_consumer table =
      Callback<RingbufSteps>::table("callback", "shows each record where it lies, during the call");
  return table;
}

}  // namespace ringside::consumers
