// SPDX-License-Identifier: Apache-2.0
//
// The counters of an A/B swap (ringside_swap in ring/consumer.h) held against what the programs did.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/world.h"
#include "ring/defect.h"

namespace ringside::harness {

/// What was attempted is delivered, told as lost (those two together: `accounted`), or in the counters (case Q4). Those
/// may be late to lose what was delivered, never early; at the end they tell the truth. Nothing where there are no
/// sides.
std::optional<ring::Defect> check_counters(const World& world, std::uint64_t accounted, bool at_the_end);

}  // namespace ringside::harness
