// SPDX-License-Identifier: Apache-2.0
//
// A delivered record, parted into the stamp that it begins with, where records carry one, and the test record behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "ring/consumer.h"

namespace ringside::harness {

struct Stamped {
  bool whole = true;          ///< it has room for its stamp
  std::uint64_t time_ns = 0;  ///< 0 where records carry none
  std::span<const std::byte> record;
};

inline Stamped part(const ringside_record& record, std::uint32_t stamp_bytes) {
  const std::span bytes(static_cast<const std::byte*>(record.data), record.size);
  if (stamp_bytes == 0) return {.record = bytes};
  if (bytes.size() < stamp_bytes) return {.whole = false, .record = {}};
  Stamped parts{.record = bytes.subspan(stamp_bytes)};
  std::memcpy(&parts.time_ns, bytes.data(), sizeof parts.time_ns);
  return parts;
}

}  // namespace ringside::harness
