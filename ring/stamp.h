// SPDX-License-Identifier: Apache-2.0
//
// The time that a record of a BPF ring may begin with: 8 bytes in front of the test record, which a BPF ring of the
// kernel knows nothing of; the program takes it, and it matters when.
#pragma once

#include <cstdint>

namespace ringside::ring {

enum class Stamp : std::uint8_t {
  none,
  before,  ///< taken, then the record is reserved: nobody sees a program that stands in between
  inside,  ///< taken while the record is BUSY
};

/// What it takes of each record's payload.
constexpr std::uint32_t stamp_bytes(Stamp stamp) { return stamp == Stamp::none ? 0 : 8; }

}  // namespace ringside::ring
