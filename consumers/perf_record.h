// SPDX-License-Identifier: Apache-2.0
//
// What a perf ring's reader hands to its caller: a sample or a loss, never both and never neither. It is a sum type, so
// that nobody takes a loss for an empty sample (B2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

namespace ringside::consumers {

/// A sample's raw payload. Its 0 to 7 bytes of padding cannot be told from it and are part of it (KERNEL-RINGS 2.8).
struct PerfSample {
  const std::byte* data = nullptr;
  std::uint64_t size = 0;  ///< bytes
};
/// Records that found no place in the ring before its next sample; never 0.
struct PerfLoss {
  std::uint64_t count = 0;
};
using PerfItem = std::variant<PerfSample, PerfLoss>;

}  // namespace ringside::consumers
