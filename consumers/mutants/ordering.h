// SPDX-License-Identifier: Apache-2.0
//
// Mutants that are wrong in the ordering of one access alone. A world of one thread cannot show them, and x86 hides
// most of them: they are convicted where every stale value is tried (harness/explored).
#pragma once

#include "ring/consumer.h"
#include "ring/producer.h"

namespace ringside::consumers::mutant {

// `copy`, `callback` and `zero_copy` in part.
const ringside_consumer& producer_pos_relaxed();
const ringside_consumer& header_relaxed();
const ringside_consumer& consumer_pos_relaxed();
const ringside_consumer& look_without_fence();
const ringside_consumer& store_for_fence();
const ringside_consumer& reader_without_fence();
// `read_into` and `drain_all`.
const ringside_consumer& data_head_relaxed();
const ringside_consumer& data_tail_relaxed();
// `user_reserve`.
const ringside_producer& user_consumer_pos_relaxed();
const ringside_producer& user_producer_pos_relaxed();
const ringside_producer& user_header_relaxed();

}  // namespace ringside::consumers::mutant
