// SPDX-License-Identifier: Apache-2.0
//
// One epoll set over the rings of a run, as the host's `wait` needs it: ends on a deadline, a signal or a cancellation.
#pragma once

#include <cstdint>
#include <span>

#include "real/handle.h"
#include "ring/consumer.h"
#include "ring/result.h"

namespace ringside::real {

class EpollSet {
 public:
  /// `trigger` is RINGSIDE_LEVEL or RINGSIDE_EDGE. The items carry the index of their descriptor. Arm it before the
  /// first record: on a perf ring, adding eats a wake-up that is pending [KERNEL-RINGS 4.1].
  static ring::Result<EpollSet> create(std::span<const int> fds, std::uint32_t trigger);
  /// Over the fds of rings.
  static ring::Result<EpollSet> create(std::span<const ringside_ring> rings, std::uint32_t trigger);

  /// Adds one more descriptor, whose index is the number of those before it.
  ring::Result<void> add(int fd);

  /// Waits. timeout_ns < 0: no deadline; 0: a probe. Returns the number of entries written (at most max_ready), 0 at
  /// the deadline (before kernel 5.11 rounded up to milliseconds), -EINTR, -ECANCELED after cancel(), or another
  /// negative errno.
  int wait(ringside_ready* ready, std::uint32_t max_ready, std::int64_t timeout_ns);

  /// Makes every wait, now and from now on, return -ECANCELED. Thread-safe and safe in a signal handler.
  void cancel() const;

 private:
  EpollSet() = default;

  Fd epoll_;
  Fd cancel_;
  std::uint32_t events_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace ringside::real
