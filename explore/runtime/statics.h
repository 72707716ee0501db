// SPDX-License-Identifier: Apache-2.0
//
// The static data of explored code. The build gathers it in one section, so that each execution can begin with what it
// held when the first one began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ringside::explore::runtime {

/// Where it lies.
std::span<const std::byte> statics();
inline bool is_static(const void* address) {
  const auto all = statics();
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(all.data()) < all.size();
}
/// Remembers the data at the first call, and puts it back at the others.
void restore_statics();

}  // namespace ringside::explore::runtime
