// SPDX-License-Identifier: Apache-2.0
//
// The wait that every strategy shares: look, sleep, look again, so that neither a wake-up is missed nor a timeout told
// while a record lies there (a record without wake-up, or below a watermark, is seen by looking only).
#pragma once

#include <cstdint>

#include "ring/consumer.h"

namespace ringside::consumers {

/// Wake-ups for nothing that one wait sleeps through. A descriptor that is always ready (hung up, say) then shows in
/// the host's own loop instead of turning round in here.
inline constexpr int most_fruitless_wakeups = 16;

/// The time that is left of a wait; never negative unless there is no deadline.
class Deadline {
 public:
  /// timeout_ns < 0: no deadline.
  Deadline(const ringside_host& host, std::int64_t timeout_ns)
      : host_(host), timeout_ns_(timeout_ns), start_ns_(timeout_ns < 0 ? 0 : host.now_ns(host.context)) {}

  /// Nanoseconds left, -1 for no deadline.
  std::int64_t remaining_ns() const {
    if (timeout_ns_ < 0) return -1;
    const std::int64_t passed = host_.now_ns(host_.context) - start_ns_;
    return passed < timeout_ns_ ? timeout_ns_ - passed : 0;
  }

 private:
  const ringside_host& host_;
  std::int64_t timeout_ns_;
  std::int64_t start_ns_;
};

/// Sleeps until `look()` is true or the time is up. `sleep(deadline)` returns what host->wait returns: positive when
/// awakened, 0 at the deadline, or a negative errno, which is passed up. Steps says whether to look before the sleep
/// and at the timeout; a mutant says no. With `most_wakeups` 1 it returns at the first wake-up, whatever it was for.
template <class Steps, class Look, class Sleep>
int wait_until(const Deadline& deadline, Look&& look, Sleep&& sleep, int most_wakeups = most_fruitless_wakeups) {
  for (int wakeups = 0; wakeups < most_wakeups; ++wakeups) {
    if (Steps::looks_before_sleep && look()) return RINGSIDE_WAIT_READY;
    const int woken = sleep(deadline);
    if (woken < 0) return woken;
    if (woken == 0) return Steps::looks_at_timeout && look() ? RINGSIDE_WAIT_READY : RINGSIDE_WAIT_TIMEOUT;
    if (!Steps::looks_before_sleep) break;
  }
  return RINGSIDE_WAIT_READY;
}

/// Sleeps in the host's epoll set until the deadline.
inline int sleep_on_rings(const ringside_host& host, const Deadline& deadline) {
  ringside_ready ready[8];  // which rings they are does not matter: every strategy looks at all of its rings
  return host.wait(host.context, ready, 8, deadline.remaining_ns());
}

}  // namespace ringside::consumers
