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

void restore_statics() {
  static std::vector<char> first;
  // Through integers: the compiler knows the two for different arrays.
  const auto begin = reinterpret_cast<std::size_t>(__start_ringside_explored_data);
  const auto end = reinterpret_cast<std::size_t>(__stop_ringside_explored_data);
  if (begin == end) return;
  if (first.empty()) {
    first.assign(reinterpret_cast<const char*>(begin), reinterpret_cast<const char*>(end));
  } else {
    std::memcpy(reinterpret_cast<void*>(begin), first.data(), first.size());
  }
}

}  // namespace ringside::explore::runtime
