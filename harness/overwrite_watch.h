// SPDX-License-Identifier: Apache-2.0
//
// Sees which records an overwrite ring of the running kernel takes from its consumer (KERNEL-RINGS 1.11). The kernel
// tells nobody; but in stepped drive nothing moves between two operations, so a look at the ring after each of them
// finds every record before the ring can give it up.
#pragma once

#include <cstdint>
#include <deque>

#include "ring/consumer.h"
#include "ring/overwritten.h"

namespace ringside::harness {

/// Not thread-safe.
class OverwriteWatch {
 public:
  /// Begins where the ring stands: what lies in it already is nobody's. `ring` outlives this.
  explicit OverwriteWatch(const ringside_ring& ring);

  /// After one operation, while neither producers nor the consumer move. A record that comes and goes between two looks
  /// is not seen: overwritten().known is false from then on.
  void look();
  /// Instead of any look, when producers ran by themselves and have ended: all that can be known is whether the ring
  /// ever gave up a record of this run.
  void look_at_the_end();

  const ring::Overwritten& overwritten() const { return overwritten_; }

 private:
  struct Record {
    std::uint64_t position = 0;
    std::uint64_t sequence = 0;
    std::uint32_t source = 0;
    bool empty = false;
  };
  void take_note(std::uint64_t producer);

  const ringside_ring& ring_;
  const std::uint64_t start_;
  std::uint64_t seen_;          // every record before it was looked at
  std::deque<Record> records_;  // committed, not given up yet
  ring::Overwritten overwritten_;
};

}  // namespace ringside::harness
