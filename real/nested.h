// SPDX-License-Identifier: Apache-2.0
//
// The interrupt in which a program of ours runs: a software cpu-clock event on one CPU, with the program attached to
// it.
#pragma once

#include <sched.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include "ring/result.h"

struct bpf_link;
struct bpf_program;

namespace ringside::real {

/// The event, attached and disabled. While enabled it ticks on its CPU every 50 us, and each tick runs the program in
/// hardirq context. Not thread-safe.
class NestedEvent {
 public:
  /// `program`: loaded, of type perf_event; `owner` keeps it loaded until the event is gone. EPERM without CAP_PERFMON,
  /// ENODEV for a CPU that is not online.
  static ring::Result<NestedEvent> attach(const bpf_program* program, std::shared_ptr<void> owner, std::uint32_t cpu);
  ~NestedEvent();
  NestedEvent(NestedEvent&& other) noexcept;
  NestedEvent& operator=(NestedEvent&&) = delete;

  /// Enables the event, calls `run` and disables it. `run` runs a program that wants the interrupt and returns
  /// Result<void>; while its error is EAGAIN (bpf/interrupt.bpf.h) the CPU is left to others and it is called again,
  /// for some seconds at most.
  template <class Run>
  ring::Result<void> while_ticking(Run run) {
    // Each time that no interrupt came took 10 ms.
    constexpr int most_tries = 500;
    if (auto enabled = enable(); !enabled) return enabled;
    ring::Result<void> ran = run();
    for (int tries = 1; !ran && ran.error().code == EAGAIN && tries < most_tries; ++tries) {
      ::sched_yield();
      ran = run();
    }
    disable();
    return ran;
  }

 private:
  ring::Result<void> enable();
  void disable();
  NestedEvent(std::shared_ptr<void> owner, bpf_link* link, int fd) : owner_(std::move(owner)), link_(link), fd_(fd) {}

  std::shared_ptr<void> owner_;  // outlives the link
  bpf_link* link_;
  int fd_;  // the link's
};

}  // namespace ringside::real
