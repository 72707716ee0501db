// SPDX-License-Identifier: Apache-2.0
//
// What makes "the wake-up is there when the call returns" true on PREEMPT_RT, too.
//
// Rings wake their waiters by irq-work on the producer's CPU [KERNEL-RINGS 4.3]. Elsewhere that is an interrupt as soon
// as interrupts are on. On PREEMPT_RT it goes to a list that the thread irq_work/N works through, and an interrupt to
// wake that thread is raised only for what finds the list empty, and not for lazy work, which has time until the next
// tick: a line of the kernel's log is such work. So a ring's wake-up that is queued behind one waits for the tick, too,
// and whoever looks at an epoll set right after the commit sees nothing.
//
// The fence waits for that thread by order, never by time: it queues a wake-up of its own on the same list and waits
// until it arrives, twice. The first arrival says that the list was taken with all that had been queued before it; the
// thread runs what it took newest first, so some of that may still be to come. The second one was queued after that
// taking, and the thread takes the list again only when it is through with all that it took.
#pragma once

#include <cstdint>
#include <memory>

#include "ring/result.h"

namespace ringside::real {

/// Thread-safe. Movable.
class WakeupFence {
 public:
  /// On PREEMPT_RT loads a program and makes a ring of one page; elsewhere there is nothing to make. Errors: EPERM
  /// without CAP_BPF, and what else keeps a program from being loaded.
  static ring::Result<WakeupFence> create();
  WakeupFence();  ///< one that waits for nothing
  ~WakeupFence();
  WakeupFence(WakeupFence&&) noexcept;
  WakeupFence& operator=(WakeupFence&&) noexcept;

  /// Returns when every wake-up of a ring that was queued on that CPU has reached who waits for it. Elsewhere than on
  /// PREEMPT_RT it returns at once. Errors: ENXIO for a CPU that is offline; ETIMEDOUT when the kernel's thread has not
  /// come by for 10 s.
  ring::Result<void> pass(std::uint32_t cpu) const;

 private:
  struct Loaded;
  explicit WakeupFence(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;  // empty where no fence is needed
};

}  // namespace ringside::real
