// SPDX-License-Identifier: Apache-2.0
//
// For tests: two threads that take two locks.
#pragma once

#include <cstdint>

#include "explore/program.h"

namespace ringside::explore {

/// Both in the same order, or each in its own.
inline Program two_locks(bool crosswise) {
  static std::uint32_t a;
  static std::uint32_t b;
  const auto both = [](std::uint32_t* first, std::uint32_t* second) {
    return [=] {
      lock(first);
      lock(second);
      unlock(second);
      unlock(first);
    };
  };
  return {.begin = [] { a = b = 0; }, .threads = {both(&a, &b), crosswise ? both(&b, &a) : both(&a, &b)}, .end = {}};
}

}  // namespace ringside::explore
