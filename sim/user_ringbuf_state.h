// SPDX-License-Identifier: Apache-2.0
//
// What the kernel's side knows of one user ring buffer: where its shared words lie, and who drains it (KERNEL-RINGS 3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ring/layout.h"

namespace ringside::sim {

/// Plain data. The pointers lead into the kernel's own mapping.
struct UserRingbufState {
  std::uint64_t* consumer_pos = nullptr;  ///< only the kernel writes it
  std::uint64_t* producer_pos = nullptr;  ///< only the user writes it
  std::byte* data = nullptr;              ///< mapped twice in a row
  std::uint64_t size = 0;                 ///< bytes of the data area, a power of two
  std::uint32_t busy = 0;                 ///< 1 while a drain is under way

  std::uint64_t mask() const { return size - 1; }
  std::byte* at(std::uint64_t position) const { return data + (position & mask()); }
  /// The len word at `position`, a multiple of 8.
  std::uint32_t* length_word(std::uint64_t position) const { return reinterpret_cast<std::uint32_t*>(at(position)); }
};

}  // namespace ringside::sim
