// SPDX-License-Identifier: Apache-2.0
//
// The tables of all mutants, one function a file or what belongs together in one. Users go by consumers/registry.h,
// which says what each must be convicted of.
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

// Walks of BPF rings (ringbuf_walks.cc).
const ringside_consumer& span_without_header();
const ringside_consumer& padded_length();
const ringside_consumer& stops_at_discard();
const ringside_consumer& passes_over_busy();
const ringside_consumer& caches_producer_pos();
const ringside_consumer& keeps_32_bits();
const ringside_consumer& wrapped_difference();
const ringside_consumer& drops_empty();
const ringside_consumer& short_buffer();
const ringside_consumer& keeps_discarded();
const ringside_consumer& trusts_length();

// Views (ringbuf_views.cc).
const ringside_consumer& consumes_first();
const ringside_consumer& consumes_twice();
const ringside_consumer& keeps_failed();
const ringside_consumer& commits_in_any_order();
const ringside_consumer& commits_as_told();
const ringside_consumer& lease_never_ends();
const ringside_consumer& keeps_batch();
const ringside_consumer& reverses();
const ringside_consumer& copies_late();

// Drains and waits (ringbuf_waits.cc).
const ringside_consumer& drains_without_bound();
const ringside_consumer& counts_in_a_byte();
const ringside_consumer& ignores_stop();
const ringside_consumer& crashes_on_empty();
const ringside_consumer& clears_headers();
const ringside_consumer& interrupt_is_fatal();
const ringside_consumer& interrupt_is_timeout();
const ringside_consumer& restarts_deadline();
const ringside_consumer& rounds_deadline_down();
const ringside_consumer& spins_on_busy();
const ringside_consumer& never_sleeps();
const ringside_consumer& leaks_a_descriptor();
const ringside_consumer& reader_tells_untested();

// Producers of user ring buffers.
const ringside_producer& commit_before_write();
const ringside_producer& forget_space();
const ringside_producer& two_handles();
const ringside_producer& drop_when_full();
const ringside_producer& swallow_wakeup();
const ringside_producer& unrounded_span();

}  // namespace ringside::consumers::mutant
