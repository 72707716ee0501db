// SPDX-License-Identifier: Apache-2.0
//
// Programs for tests of searches that are cut into parts.
#pragma once

#include <cstdint>

#include "explore/program.h"

namespace ringside::explore {

struct PartedMemory {
  Atomic<std::int32_t> x, y;
};

inline PartedMemory parted;

/// Which threads there are depends on what is read, and who creates which first on who is first.
inline Program creating() {
  const auto writer = [](Atomic<std::int32_t>& variable) {
    return [&variable] { variable.fetch_add(1, Order::relaxed); };
  };
  return {.begin = [] { parted = PartedMemory{}; },
          .threads = {[writer] {
                        const std::size_t child = spawn(writer(parted.x));
                        if (parted.y.load(Order::relaxed) == 1) join(spawn(writer(parted.y)));
                        join(child);
                      },
                      [writer] {
                        parted.y.store(static_cast<std::int32_t>(choose(2)), Order::relaxed);
                        if (parted.x.load(Order::relaxed) == 1) join(spawn(writer(parted.x)));
                      },
                      [] { parted.y.load(Order::relaxed); }},
          .end = {}};
}

/// Three threads that update and read two variables: thousands of executions.
inline Program busy() {
  const auto side = [](Atomic<std::int32_t>& one, Atomic<std::int32_t>& other) {
    return [&] {
      one.fetch_add(1, Order::relaxed);
      other.load(Order::relaxed);
      other.store(1, Order::relaxed);
      one.load(Order::relaxed);
    };
  };
  return {.begin = [] { parted = PartedMemory{}; },
          .threads = {side(parted.x, parted.y), side(parted.y, parted.x), side(parted.x, parted.y)},
          .end = {}};
}

}  // namespace ringside::explore
