// SPDX-License-Identifier: Apache-2.0
//
// The model's dice: splitmix64. Small, and the same numbers on every machine and standard library, so that a seed
// repeats a run to the byte.
#pragma once

#include <cassert>
#include <cstdint>

namespace ringside::sim {

/// A stream of 64-bit numbers drawn from a seed. Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
    return mixed ^ (mixed >> 31);
  }

  /// A number in [0, bound). The bias of the multiplication is below bound / 2^32.
  std::uint32_t below(std::uint32_t bound) {
    assert(bound > 0);
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

  /// True in `count` of `of` cases.
  bool chance(std::uint32_t count, std::uint32_t of) { return below(of) < count; }

 private:
  std::uint64_t state_;
};

}  // namespace ringside::sim
