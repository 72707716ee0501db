// SPDX-License-Identifier: Apache-2.0
//
// What the scenario has end a consumer's waits: an interrupt, nothing at all, or a hang-up beside the data.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>

#include "harness/scenario.h"
#include "ring/consumer.h"

namespace ringside::harness {

class InjectedFaults {
 public:
  explicit InjectedFaults(const FaultsPlan& plan) : plan_(plan) {}

  /// Counts a wait that begins.
  void begin_wait() { ++waits_; }
  /// What that wait, of rings or of one descriptor (fd >= 0), returns at once; or nothing.
  std::optional<int> of_wait(std::span<ringside_ready> ready, int fd) const {
    if (every(plan_.eintr_every)) return -EINTR;
    if (every(plan_.spurious_every) && (fd >= 0 || !ready.empty())) {
      if (fd < 0) ready[0] = {.ring = 0, .events = RINGSIDE_POLLIN};
      return 1;
    }
    if (every(plan_.hangup_every) && !ready.empty()) {
      ready[0] = {.ring = 0, .events = RINGSIDE_POLLIN | RINGSIDE_POLLHUP};
      return 1;
    }
    return std::nullopt;
  }
  /// The same of a sleep, which only an interrupt ends.
  std::optional<int> of_sleep() const { return every(plan_.eintr_every) ? std::optional<int>(-EINTR) : std::nullopt; }

 private:
  bool every(std::uint64_t n) const { return n > 0 && waits_ % n == 0; }

  const FaultsPlan& plan_;
  std::uint64_t waits_ = 0;
};

}  // namespace ringside::harness
