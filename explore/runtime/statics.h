// SPDX-License-Identifier: Apache-2.0
//
// The static data of explored code. The build gathers it in one section, so that each execution can begin with what it
// held when the first one began.
#pragma once

namespace ringside::explore::runtime {

/// Remembers the data at the first call, and puts it back at the others.
void restore_statics();

}  // namespace ringside::explore::runtime
