// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `session`; session.h and perf_session.h have the ideas.
#include "consumers/session.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& session() {
  static constexpr ringside_consumer table = Session<PerfSteps, SessionOrder::as_visible, false, 0>::table(
      "session", "the oldest visible record of all CPUs first; sleeps 15 ms when all are empty");
  return table;
}

}  // namespace ringside::consumers
