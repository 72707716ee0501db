// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/access_modes.h"

namespace ringside::explore {
namespace {

thread_local VolatileMode mode_now = VolatileMode::acquire_release;

}  // namespace

VolatileMode volatile_mode() { return mode_now; }

void set_volatile_mode(VolatileMode mode) { mode_now = mode; }

}  // namespace ringside::explore
