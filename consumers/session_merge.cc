// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `session_merge`; session.h and perf_session.h have the ideas.
#include "consumers/session.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& session_merge() {
  static constexpr ringside_consumer table =
      Session<PerfSteps, SessionOrder::held_back, true, RINGSIDE_CLAIM_TIME_ORDER>::table(
          "session_merge", "session that holds records back until no ring can have an older one");
  return table;
}

}  // namespace ringside::consumers
