// SPDX-License-Identifier: Apache-2.0
//
// What a reader with deadlines sleeps in. Readers take their poller as a template parameter, so that one source runs
// where the host sleeps for it (HostPoller, the contract of ring/consumer.h) and where it owns an epoll set
// (consumers/epoll_poller.h). A poller has
//
//   Woken wait(std::int64_t deadline_ns)   by one thread at a time; < 0: no deadline
//   void flush(), void close()             by any thread: ends the wait under way, or else the next one; close for ever
//   std::int64_t now_ns()                  the clock of its deadlines
#pragma once

#include <cerrno>
#include <cstdint>

#include "ring/consumer.h"

namespace ringside::consumers {

/// Why a wait has ended.
enum class Woken : std::uint8_t {
  ready,        ///< a ring may have something
  timeout,      ///< the deadline has passed
  flushed,      ///< somebody asked for what is there
  closed,       ///< somebody closed the reader
  interrupted,  ///< by a signal: wait again
  cancelled,    ///< the host's run is over
  failed,       ///< the wait itself
};

/// Sleeps in the host's epoll set. One thread, as the contract has it.
class HostPoller {
 public:
  HostPoller(const ringside_ring_set& /*rings*/, const ringside_host& host) : host_(host) {}

  Woken wait(std::int64_t deadline_ns) {
    if (closed_) return Woken::closed;
    if (flushed_) {
      flushed_ = false;
      return Woken::flushed;
    }
    ringside_ready ready[8];
    const std::int64_t left_ns = deadline_ns < 0 ? -1 : left_until(deadline_ns);
    const int woken = host_.wait(host_.context, ready, 8, left_ns);
    events_ = 0;
    for (int entry = 0; entry < woken; ++entry) events_ |= ready[entry].events;
    if (woken > 0) return Woken::ready;
    if (woken == 0) return Woken::timeout;
    return woken == -EINTR ? Woken::interrupted : woken == -ECANCELED ? Woken::cancelled : Woken::failed;
  }

  void flush() { flushed_ = true; }
  void close() { closed_ = true; }
  std::int64_t now_ns() const { return host_.now_ns(host_.context); }
  /// RINGSIDE_POLL* of all rings, of the last wait.
  std::uint32_t events() const { return events_; }

 private:
  std::int64_t left_until(std::int64_t deadline_ns) const {
    const std::int64_t now = now_ns();
    return now < deadline_ns ? deadline_ns - now : 0;
  }

  const ringside_host& host_;
  std::uint32_t events_ = 0;
  bool flushed_ = false;
  bool closed_ = false;
};

}  // namespace ringside::consumers
