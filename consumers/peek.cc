// SPDX-License-Identifier: Apache-2.0
//
// The tables of strategies `peek_consume`, `guarded_peek` and `mutex_peek`; peek.h has the idea.
#include "consumers/peek.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& peek_consume() {
  static constexpr ringside_consumer table =
      Peek<RingbufSteps, NoGuard>::table("peek_consume", "peek shows a record in place, consume moves past it");
  return table;
}

const ringside_consumer& guarded_peek() {
  static constexpr ringside_consumer table =
      Peek<RingbufSteps, FlagGuard>::table("guarded_peek", "peek and consume behind an atomic in-flight flag");
  return table;
}

const ringside_consumer& mutex_peek() {
  static constexpr ringside_consumer table =
      Peek<RingbufSteps, MutexGuard>::table("mutex_peek", "peek and consume behind a mutex");
  return table;
}

}  // namespace ringside::consumers
