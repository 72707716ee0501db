// SPDX-License-Identifier: Apache-2.0
//
// The model's clock. Time passes only when somebody says so, so that a deadline means the same in every run.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

namespace ringside::sim {

/// Nanoseconds since the model was switched on. Thread-safe.
class VirtualClock {
 public:
  // Relaxed throughout: the clock publishes nothing but its own value.
  std::int64_t now_ns() const { return now_ns_.load(std::memory_order_relaxed); }

  /// Lets time pass; ns must not be negative.
  void advance(std::int64_t ns) {
    assert(ns >= 0);
    now_ns_.fetch_add(ns, std::memory_order_relaxed);
  }
  /// Lets a nanosecond pass and says what time it is then: another one for each who asks.
  std::uint64_t tick() { return static_cast<std::uint64_t>(now_ns_.fetch_add(1, std::memory_order_relaxed)) + 1; }

 private:
  std::atomic<std::int64_t> now_ns_{0};
};

}  // namespace ringside::sim
