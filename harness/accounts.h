// SPDX-License-Identifier: Apache-2.0
//
// What a session holds against the producers' books beside what the judge does.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/world.h"
#include "ring/consumer.h"
#include "ring/defect.h"
#include "ring/ledger.h"

namespace ringside::harness {

/// A perf output finds no ring on its CPU. Where the consumer opens the rings, it has opened none there, and what was
/// put out is lost although the other CPUs' records keep coming (cases J1, J5).
std::vector<ring::Defect> missing_rings(const ringside_consumer& consumer, const ring::ProducerLedger& ledger);

/// Of an A/B swap: what was attempted is accounted for (delivered or told as lost) or in the counters (case Q4). Those
/// may be late to lose what was delivered, never early; at the end they tell the truth. Nothing where there is no swap.
std::optional<ring::Defect> wrong_counters(const World& world, std::uint64_t accounted, bool at_the_end);

}  // namespace ringside::harness
