// SPDX-License-Identifier: Apache-2.0
//
// Threads that sleep until somebody wakes them: the model of condition variables, futexes and epoll's waiters, as one
// 32-bit word of memory in which each change is a read-modify-write. Whom a wake-up of one of several reaches is left
// open: whoever comes first in the word's modification order. Nobody wakes without a reason.
#pragma once

#include <cstdint>

#include "explore/runtime/world.h"

namespace ringside::explore::runtime {

class WaitQueue {
 public:
  /// `word` is 0 while nobody has ever waited.
  WaitQueue(Engine& engine, std::uint32_t* word) : engine_(engine), word_(word) {}

  /// From now on the running thread can be woken.
  void enroll();
  /// Sleeps until it is woken. `timed`: a timeout would end it, too.
  void sleep(bool timed);
  /// No longer wants to be woken; true if it was.
  bool leave();
  /// Wakes that many, or all if there are fewer.
  void wake(std::uint32_t count);

 private:
  Engine& engine_;
  std::uint32_t* word_;
};

/// Before each execution: nobody sleeps at any futex.
void reset_futexes();

/// Whether a wait with a timeout ends by it: a choice, which each thread has so many times in an execution
/// (set_timeouts); after that it waits. A timeout may be as short as the search likes, so it may come before anything
/// else happens; a wait that nothing else ends is no deadlock.
bool timeout_passes(Engine& engine);

/// Waits, not for ever, with what `wait` does.
template <class Wait>
void wait_timed(Engine& engine, bool timed, Wait wait) {
  engine.set_timed(timed);
  wait();
  engine.set_timed(false);
}

}  // namespace ringside::explore::runtime
