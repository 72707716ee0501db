// SPDX-License-Identifier: Apache-2.0
//
// Fresh rings for programs that are loaded once: the programs look the ring up in an ARRAY_OF_MAPS. Putting a ring
// there costs a grace period of the kernel's, which is milliseconds, so rings are made and put there many at a time.
//
// Needs libbpf, and kernel 5.14 for the batch. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "real/handle.h"
#include "ring/result.h"

namespace ringside::conform {

/// One way to make a ring: max_entries and map_flags.
struct RingShape {
  std::uint32_t bytes = 4096;
  std::uint32_t map_flags = 0;
};

class RingPool {
 public:
  /// Rings of each shape that are made at a time.
  static constexpr std::uint32_t rings_of_a_shape = 64;
  /// What max_entries of the ARRAY_OF_MAPS must be.
  static constexpr std::uint32_t slots(std::size_t shapes) {
    return static_cast<std::uint32_t>(shapes) * rings_of_a_shape;
  }

  /// `map_type`: BPF_MAP_TYPE_RINGBUF or USER_RINGBUF; `outer_fd`: the ARRAY_OF_MAPS, which must outlive the pool.
  RingPool(std::uint32_t map_type, int outer_fd, std::vector<RingShape> shapes);

  /// A ring that nobody has touched, and the slot where programs find it until it is taken again.
  struct Ring {
    std::uint32_t slot = 0;
    real::Fd map;
  };
  /// `shape`: index of the shape. Errors: what the kernel says to making a ring, or to putting it there.
  ring::Result<Ring> take(std::size_t shape);

 private:
  ring::Result<void> refill();

  std::uint32_t map_type_;
  int outer_fd_;
  std::vector<RingShape> shapes_;
  std::vector<std::vector<Ring>> fresh_;  // by shape
};

}  // namespace ringside::conform
