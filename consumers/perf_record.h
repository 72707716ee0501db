// SPDX-License-Identifier: Apache-2.0
//
// What a perf ring's reader hands to its caller: a sample or a loss, never both and never neither. It is a sum type, so
// that nobody takes a loss for an empty sample (B2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "ring/consumer.h"

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

/// Tells the host of it: reports a loss, delivers a sample, which is valid during the call. True to stop.
inline bool hand_to_host(const ringside_host& host, std::uint32_t ring, const PerfItem& item,
                         std::uint64_t time_ns = 0) {
  if (const auto* loss = std::get_if<PerfLoss>(&item)) {
    host.lost(host.context, ring, loss->count);
    return false;
  }
  const auto& sample = *std::get_if<PerfSample>(&item);
  const ringside_record delivery{
      .ring = ring, .reserved = 0, .data = sample.data, .size = sample.size, .token = 0, .time_ns = time_ns};
  return host.deliver(host.context, &delivery) > 0;
}

}  // namespace ringside::consumers
