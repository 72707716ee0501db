// SPDX-License-Identifier: Apache-2.0
//
// What a volatile access means. The language gives it no meaning between threads; code from before C11 does.
#pragma once

#include <cstdint>

namespace ringside::explore {

enum class VolatileMode : std::uint8_t {
  /// Reads acquire and writes release, as they do on x86. A barrier that other machines need is not missed.
  acquire_release,
  /// Atomic without any order, as READ_ONCE and WRITE_ONCE of the kernel.
  relaxed,
  /// Like any other access: a race.
  plain,
};

VolatileMode volatile_mode();
/// For the explorations of the calling thread from now on; acquire_release unless it was called.
void set_volatile_mode(VolatileMode mode);

}  // namespace ringside::explore
