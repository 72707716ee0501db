// SPDX-License-Identifier: Apache-2.0
//
// Little-endian integers in bytes of any alignment, on any machine.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

namespace ringside::ring::wire {

/// The value whose bytes in this machine's order are those of `value` in little-endian order, and back.
template <class T>
T little_endian(T value) {
  if constexpr (std::endian::native == std::endian::big) {
    if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(value));
    if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(value));
    if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(value));
  }
  return value;
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return little_endian(value);
}

template <class T>
void store(std::byte* to, T value) {
  value = little_endian(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace ringside::ring::wire
