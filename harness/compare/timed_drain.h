// SPDX-License-Identifier: Apache-2.0
//
// One drain of a filled ring by one consumer, timed: how long, by the clock and of the processor, and whether it read
// what lies there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/compare/filled_ring.h"
#include "ring/consumer.h"
#include "ring/result.h"

namespace ringside::harness {

/// What the application does with the payload of each record.
enum class Touch : std::uint8_t {
  none,  ///< nothing
  line,  ///< reads its first word, and so its first cache line
  all,   ///< reads every word
  copy,  ///< copies it into a buffer that is used again
};
/// `none`, `line`, `all`, `copy`.
std::string_view name_of(Touch touch);
std::optional<Touch> touch_of(std::string_view name);

/// Of one drain, in nanoseconds.
struct DrainTime {
  double wall_ns = 0;
  double cpu_ns = 0;  ///< of the whole process

  DrainTime& operator+=(const DrainTime& more) {
    wall_ns += more.wall_ns;
    cpu_ns += more.cpu_ns;
    return *this;
  }
};

/// Opens the consumer, drains until nothing is left, closes it. Errors: the consumer's own, and what it has read that
/// is not what lies there (the number of records, and the sum of the words that the touch reads).
ring::Result<DrainTime> time_drain(const ringside_consumer& consumer, FilledRing& ring, Touch touch);

/// Brings the caches into the same state before each drain, whoever had the ring before: a consumer that follows one
/// which read the headers alone would find these in the cache, and look three times as fast. A ring that is larger than
/// the last cache is driven out of it, as a ring is that others fill meanwhile; a smaller one is read once.
class Caches {
 public:
  explicit Caches(std::uint64_t ring_bytes);

  void prepare(const FilledRing& ring);
  /// What prepare() does, in words.
  std::string method() const;

 private:
  std::uint64_t last_cache_bytes_;
  std::vector<std::uint64_t> elsewhere_;  // what drives a ring out; empty for one that is read once
};

/// Reads every byte in which records lie once, in order, headers included: no consumer that reads them all can be much
/// faster.
DrainTime time_one_pass(const FilledRing& ring);

}  // namespace ringside::harness
