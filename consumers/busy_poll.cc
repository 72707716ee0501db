// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `busy_poll`; busy_poll.h has the idea.
#include "consumers/busy_poll.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& busy_poll() {
  static constexpr ringside_consumer table =
      BusyPoll<RingbufSteps>::table("busy_poll", "in place, during the call; looks again and again and never sleeps");
  return table;
}

}  // namespace ringside::consumers
