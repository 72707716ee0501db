// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/access_modes.h"

namespace ringside::explore {
namespace {

thread_local VolatileMode mode_now = VolatileMode::acquire_release;

thread_local std::uint32_t timeouts_now = 1;

}  // namespace

VolatileMode volatile_mode() { return mode_now; }

void set_volatile_mode(VolatileMode mode) { mode_now = mode; }

std::uint32_t timeouts_each_thread() { return timeouts_now; }

void set_timeouts_each_thread(std::uint32_t count) { timeouts_now = count; }

}  // namespace ringside::explore
