// SPDX-License-Identifier: Apache-2.0
//
// What a process holds: descriptors, and mappings of rings. Counted before and after a consumer's life to find leaks.
#pragma once

#include <cstdint>

namespace ringside::harness {

struct Resources {
  std::int64_t descriptors = 0;
  std::int64_t ring_mappings = 0;  ///< of BPF maps, perf events and the model's memory files

  friend bool operator==(const Resources&, const Resources&) = default;
  friend Resources operator-(const Resources& a, const Resources& b) {
    return {a.descriptors - b.descriptors, a.ring_mappings - b.ring_mappings};
  }
  friend Resources operator+(const Resources& a, const Resources& b) {
    return {a.descriptors + b.descriptors, a.ring_mappings + b.ring_mappings};
  }
};

/// Of this process, from /proc/self. Zeros where /proc is missing.
Resources held_resources();

}  // namespace ringside::harness
