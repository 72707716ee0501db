// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/statics.h"

#include <cstddef>
#include <cstring>
#include <vector>

// Ends of the section into which cmake/explored_object.cmake puts them; null in a program without any.
extern "C" {
extern char __start_ringside_explored_data[] __attribute__((weak));
extern char __stop_ringside_explored_data[] __attribute__((weak));
}

namespace ringside::explore::runtime {

std::span<const std::byte> statics() {
  // Through integers: the compiler knows the two for different arrays.
  const auto begin = reinterpret_cast<std::size_t>(__start_ringside_explored_data);
  const auto end = reinterpret_cast<std::size_t>(__stop_ringside_explored_data);
  return {reinterpret_cast<const std::byte*>(begin), end - begin};
}

void restore_statics() {
  static std::vector<std::byte> first;
  const auto now = statics();
  if (now.empty()) return;
  if (first.empty()) {
    first.assign(now.begin(), now.end());
  } else {
    std::memcpy(const_cast<std::byte*>(now.data()), first.data(), first.size());
  }
}

}  // namespace ringside::explore::runtime
