// SPDX-License-Identifier: Apache-2.0
//
// A view that a consumer handed out and that was not released yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/stamped.h"
#include "ring/consumer.h"
#include "ring/record.h"

namespace ringside::harness {

struct HeldView {
  ringside_record record;
  ring::RecordReading reading;
  std::size_t padding = 0;  ///< that its ring may have added
  std::uint64_t stamp_ns = 0;
  std::optional<std::uint64_t> position;  ///< of a view into the ring, until it is known to have been passed

  /// Whether its bytes still say what they said.
  bool unchanged(std::uint32_t stamp_bytes) const {
    const Stamped parts = part(record, stamp_bytes);
    const auto expected = [this](std::uint16_t, ring::RecordState) { return reading.identity.sequence; };
    return ring::read_record(parts.record, padding, expected) == reading && parts.time_ns == stamp_ns;
  }
};

}  // namespace ringside::harness
