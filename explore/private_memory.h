// SPDX-License-Identifier: Apache-2.0
//
// Memory that a process shares with its copies, such as a ring that is mapped twice over one memfd: what several of
// them explore at the same time each needs for itself.
#pragma once

#include "ring/result.h"

namespace ringside::explore {

/// Replaces, in the calling process, every shared mapping of nameless memory (memfds, shared anonymous memory) by a
/// copy at the same address, in which mappings of the same bytes are still that; and the descriptors of such memory by
/// those of the copies. Nobody else may write there meanwhile.
ring::Result<void> make_shared_memory_private();

}  // namespace ringside::explore
