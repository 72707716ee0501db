// SPDX-License-Identifier: Apache-2.0
//
// What the search takes for granted of code as it stands, for the explorations of the calling thread.
#pragma once

#include <cstdint>

namespace ringside::explore {

/// What a volatile access means. The language gives it no meaning between threads; code from before C11 does.
enum class VolatileMode : std::uint8_t {
  /// Reads acquire and writes release, as they do on x86. A barrier that other machines need is not missed.
  acquire_release,
  /// Atomic without any order, as READ_ONCE and WRITE_ONCE of the kernel.
  relaxed,
  /// Like any other access: a race.
  plain,
};

VolatileMode volatile_mode();
/// From now on; acquire_release unless it was called.
void set_volatile_mode(VolatileMode mode);

/// How many waits of each thread may end by their timeout in one execution; 1 unless set. Where a thread has waited
/// after that, SearchResult::cut says so.
std::uint32_t timeouts_each_thread();
void set_timeouts_each_thread(std::uint32_t count);

/// How long a thread may compute without an access, in milliseconds of processor time, before it is taken for one that
/// never ends; 10,000 unless set.
std::uint32_t longest_silence_ms();
void set_longest_silence_ms(std::uint32_t silence_ms);

}  // namespace ringside::explore
