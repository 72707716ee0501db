// SPDX-License-Identifier: Apache-2.0
//
// How modelled system calls end, and who answers for those that have no model.
#pragma once

#include <optional>
#include <string>

#include "explore/explored.h"
#include "explore/runtime/world.h"

namespace ringside::explore::runtime {

/// Sets the caller's errno; -1.
int os_error(Engine* engine, int error);

/// Ends the exploration, as refuse(), also where no thread of the program runs; outside of explorations -1 and ENOSYS.
int os_refuse(std::string what);

/// What the program's own answer makes of a call (answer_calls()), as libc returns it; nothing where it has none.
std::optional<long> os_ask(Engine* engine, const Call& call);

}  // namespace ringside::explore::runtime
