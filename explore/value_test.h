// SPDX-License-Identifier: Apache-2.0
//
// Loads of which only the answer to one question matters. The kernel asks of consumer_pos whether a record fits and
// whether the consumer has caught up, and does nothing else with it: two executions in which the answers are the same
// are one to it, and the search takes one of them. It takes the oldest store with that answer, unless that
// teaches more than a newer one does: what the execution that knows least does not hide, none of the others does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "explore/clock.h"

namespace ringside::explore {

/// A question about a value.
struct ValueTest {
  enum class Kind : std::uint8_t {
    further,    ///< a - value > b, modulo 2^64
    points_at,  ///< (value & b) == a
  };

  Kind kind = Kind::further;
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  bool holds(std::uint64_t value) const { return kind == Kind::further ? a - value > b : (value & b) == a; }
  friend bool operator==(const ValueTest&, const ValueTest&) = default;
};

/// What a thread knows at one place of its program: a load that is made later can be one of that place.
struct View {
  Clock known;
  std::size_t events = 0;  ///< of the thread, up to there

  friend bool operator==(const View&, const View&) = default;
};

}  // namespace ringside::explore
