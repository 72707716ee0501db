// SPDX-License-Identifier: Apache-2.0
//
// A perf output that finds no ring on its CPU. Where the consumer opens the rings, it has opened none there, and what
// was put out is lost although the other CPUs' records keep coming (cases J1, J5).
#pragma once

#include <vector>

#include "ring/defect.h"
#include "ring/ledger.h"

namespace ringside::harness {

/// `lost`, a defect for each source whose outputs found no ring.
std::vector<ring::Defect> missing_rings(const ring::ProducerLedger& ledger);

}  // namespace ringside::harness
