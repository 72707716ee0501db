// SPDX-License-Identifier: Apache-2.0
//
// The contexts in which kernel code runs on a CPU. A higher one interrupts a lower one and ends before it goes on.
#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>

namespace ringside::sim {

enum class Context : std::uint8_t { task, softirq, hardirq, nmi };

/// `task`, `softirq`, `hardirq`, `nmi`.
constexpr std::string_view name_of(Context context) {
  switch (context) {
    case Context::task:
      return "task";
    case Context::softirq:
      return "softirq";
    case Context::hardirq:
      return "hardirq";
    case Context::nmi:
      return "nmi";
  }
  return "?";
}
inline std::ostream& operator<<(std::ostream& out, Context context) { return out << name_of(context); }

}  // namespace ringside::sim
