// SPDX-License-Identifier: Apache-2.0
//
// What every strategy's drain has in common: the outcome of one step, the outcome of one ring's pass, and the turn in
// which the rings of a set are drained.
#pragma once

#include <cerrno>
#include <cstdint>

namespace ringside::consumers {

/// What lies at a reader's position.
enum class Found : std::uint8_t {
  record,  ///< a committed record
  end,     ///< nothing below the snapshot
  busy,    ///< a record that its producer has not committed yet
  broken,  ///< a length that cannot be true: nothing behind it can be found
};

/// What one pass over one ring came to.
struct Drained {
  std::uint64_t delivered = 0;  ///< records handed to the host
  int error = 0;                ///< negative errno that ended the pass, 0 if none
  bool stopped = false;         ///< deliver asked to stop
};

/// What a drain returns: the number delivered; an error only when nothing was, so that no delivery is hidden by it
/// (what is broken gives its error again at the next call).
constexpr std::int64_t answer_of_drain(std::uint64_t delivered, int error) {
  return delivered > 0 || error == 0 ? static_cast<std::int64_t>(delivered) : error;
}

/// Drains ring after ring by `drain_one(ring, max_records)`, beginning with `first`, at most max_records in all.
/// Afterwards `first` is the ring whose turn is next, so that a ring that never empties cannot starve the others.
/// Returns what `answer` makes of it.
template <class DrainOne, class Answer = decltype(&answer_of_drain)>
std::int64_t drain_in_turn(std::uint32_t ring_count, std::uint32_t& first, std::uint64_t max_records,
                           DrainOne&& drain_one, Answer&& answer = &answer_of_drain) {
  std::uint64_t delivered = 0;
  int error = 0;
  for (std::uint32_t turn = 0; turn < ring_count; ++turn) {
    const std::uint32_t ring = first;
    first = ring + 1 < ring_count ? ring + 1 : 0;
    const Drained drained = drain_one(ring, max_records - delivered);
    delivered += drained.delivered;
    if (drained.error != 0) error = drained.error;
    if (drained.stopped || delivered == max_records) break;
  }
  return answer(delivered, error);
}

}  // namespace ringside::consumers
