// SPDX-License-Identifier: Apache-2.0
//
// How modelled system calls end.
#pragma once

#include <string>

#include "explore/runtime/world.h"

namespace ringside::explore::runtime {

/// Sets the caller's errno; -1.
int os_error(Engine* engine, int error);

/// Ends the exploration, as refuse(), also where no thread of the program runs; outside of explorations -1 and ENOSYS.
int os_refuse(std::string what);

}  // namespace ringside::explore::runtime
