// SPDX-License-Identifier: Apache-2.0
//
// The tables of the mutants in time_merge.cc.
#pragma once

#include "ring/consumer.h"

namespace ringside::consumers::mutant {

const ringside_consumer& merge_ignores_busy();
const ringside_consumer& merge_positions_first();
const ringside_consumer& merge_without_bound();
const ringside_consumer& merge_by_arrival();
const ringside_consumer& merge_makes_times_up();
const ringside_consumer& merge_tells_no_time();
const ringside_consumer& merge_without_fence();

}  // namespace ringside::consumers::mutant
