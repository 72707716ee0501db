// SPDX-License-Identifier: Apache-2.0
//
// Memory that is seen at two addresses is accounted for at one. An access may run from the one into the other, as that
// of a record across the end of a ring: it is taken to pieces at the edges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "explore/program.h"

namespace ringside::explore {

/// Where the byte is accounted for.
inline std::uintptr_t canonical(const std::vector<Alias>& aliases, std::uintptr_t address) {
  for (const Alias& alias : aliases) {
    const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(alias.begin);
    if (offset < alias.size_bytes) return reinterpret_cast<std::uintptr_t>(alias.same_as) + offset;
  }
  return address;
}

/// Calls with(address, size) for each piece, where it is accounted for.
template <class With>
void for_each_piece(const std::vector<Alias>& aliases, std::uintptr_t address, std::size_t size, With with) {
  while (size > 0) {
    std::size_t piece = size;
    for (const Alias& alias : aliases) {
      const auto begin = reinterpret_cast<std::uintptr_t>(alias.begin);
      for (const std::uintptr_t edge : {begin, begin + alias.size_bytes}) {
        if (edge > address) piece = std::min(piece, edge - address);
      }
    }
    with(canonical(aliases, address), piece);
    address += piece;
    size -= piece;
  }
}

/// Whether the two have a byte in common.
inline bool overlap(const std::vector<Alias>& aliases, std::uintptr_t one, std::size_t one_size, std::uintptr_t other,
                    std::size_t other_size) {
  bool common = false;
  for_each_piece(aliases, one, one_size, [&](std::uintptr_t a, std::size_t a_size) {
    for_each_piece(aliases, other, other_size, [&](std::uintptr_t b, std::size_t b_size) {
      common = common || (a < b + b_size && b < a + a_size);
    });
  });
  return common;
}

}  // namespace ringside::explore
