// SPDX-License-Identifier: Apache-2.0
//
// Vector clocks: for each thread, how many of its events something knows of. One machine register wide, because the
// explorer joins and compares them at every step of every execution.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace ringside::explore {

/// The most threads of an explored program.
inline constexpr std::size_t most_threads = 8;
/// The most events of one thread within one execution.
inline constexpr std::size_t most_events = 32'000;

class Clock {
 public:
  /// Knows of nothing.
  Clock() = default;

  /// How many events of that thread are known: those of index 0 to this - 1.
  std::size_t operator[](std::size_t thread) const { return static_cast<std::size_t>(lanes_[thread]); }

  void set(std::size_t thread, std::size_t count) {
    assert(thread < most_threads && count <= most_events);
    lanes_[thread] = static_cast<std::int16_t>(count);
  }

  /// Knows, from now on, whatever the other knows, too.
  void join(const Clock& other) { lanes_ = lanes_ > other.lanes_ ? lanes_ : other.lanes_; }

  friend bool operator==(const Clock& a, const Clock& b) {
    for (std::size_t thread = 0; thread < most_threads; ++thread) {
      if (a[thread] != b[thread]) return false;
    }
    return true;
  }

 private:
  using Lanes = std::int16_t __attribute__((vector_size(2 * most_threads)));
  Lanes lanes_{};
};

}  // namespace ringside::explore
