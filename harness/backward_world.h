// SPDX-License-Identifier: Apache-2.0
//
// The books of perf rings that are written backward over their oldest records (KERNEL-RINGS 2.10). Nothing there says
// what the consumer has read: it pauses a ring, reads what came since the last time, at most a lap, and lets it go on.
// So what must be delivered is what lies whole in the ring when it is paused and nothing is under way any more; what
// came and went between two such dumps the ring has overwritten, which is no fault of the consumer's.
#pragma once

#include <memory>

#include "harness/world.h"

namespace ringside::harness {

/// The same world with those books around it where the scenario's rings are written backward, else the world itself.
/// There positions count upwards: RingPositions::consumer is the end of what was dumped last.
std::unique_ptr<World> with_dumps(const WorldRequest& request, std::unique_ptr<World> world);

}  // namespace ringside::harness
