// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `session_watermark`; session.h and perf_session.h have the ideas.
#include "consumers/session.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& session_watermark() {
  static constexpr ringside_consumer table = Session<PerfSteps, SessionOrder::as_visible, true, 0>::table(
      "session_watermark", "session that sleeps in epoll until a ring has passed its watermark");
  return table;
}

}  // namespace ringside::consumers
