// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/access_modes.h"

namespace ringside::explore {
namespace {

thread_local VolatileMode mode_now = VolatileMode::acquire_release;

thread_local std::uint32_t timeouts_now = 1;
thread_local std::uint32_t silence_ms_now = 10'000;

}  // namespace

VolatileMode volatile_mode() { return mode_now; }

void set_volatile_mode(VolatileMode mode) { mode_now = mode; }

std::uint32_t timeouts_each_thread() { return timeouts_now; }

void set_timeouts_each_thread(std::uint32_t count) { timeouts_now = count; }

std::uint32_t longest_silence_ms() { return silence_ms_now; }

void set_longest_silence_ms(std::uint32_t silence_ms) { silence_ms_now = silence_ms; }

}  // namespace ringside::explore
