// SPDX-License-Identifier: Apache-2.0
//
// The tables of all mutants, one function a file. Users go by consumers/registry.h, which says what each must be
// convicted of.
#pragma once

#include "ring/consumer.h"
#include "ring/producer.h"

namespace ringside::consumers::mutant {

const ringside_consumer& ignore_busy();
const ringside_consumer& ignore_discard();
const ringside_consumer& release_early();
const ringside_consumer& wrong_rounding();
const ringside_consumer& break_at_end();
const ringside_consumer& sleep_without_look();
const ringside_consumer& early_timeout();
const ringside_consumer& overwrite_no_second_look();
const ringside_consumer& overwrite_ignores_pos();
const ringside_consumer& forget_lost();
const ringside_consumer& count_lost_callbacks();
const ringside_consumer& trust_perf_size();
const ringside_consumer& drain_claims_empty();
const ringside_consumer& drain_heads_first();
const ringside_consumer& drain_one_ring();
const ringside_consumer& drain_rereads_head();
const ringside_consumer& drain_partly();
const ringside_consumer& ab_swap_claims_side();
const ringside_consumer& ab_swap_no_repoll();
const ringside_consumer& ab_swap_erases_count();
const ringside_consumer& ab_swap_waits_for_count();

// Producers of user ring buffers.
const ringside_producer& commit_before_write();
const ringside_producer& forget_space();
const ringside_producer& two_handles();
const ringside_producer& drop_when_full();
const ringside_producer& swallow_wakeup();
const ringside_producer& unrounded_span();

}  // namespace ringside::consumers::mutant
