// SPDX-License-Identifier: Apache-2.0
//
// The tables of the mutants in perf.cc.
#pragma once

#include "ring/consumer.h"

namespace ringside::consumers::mutant {

// `parse_for_cpu` and `drain_cpu`.
const ringside_consumer& cpu_no_last_look();
const ringside_consumer& cpu_forgets_rest();
const ringside_consumer& cpu_by_index();
const ringside_consumer& cpu_no_last_drain();
const ringside_consumer& cpu_ignores_stop();
const ringside_consumer& cpu_hands_back_first();
const ringside_consumer& cpu_shows_wrapped();
// `read_into`.
const ringside_consumer& read_deadline_first();
const ringside_consumer& read_loss_as_sample();
const ringside_consumer& read_loss_of_nothing();
const ringside_consumer& read_ends_at_interrupt();
const ringside_consumer& read_spins_on_hangup();
const ringside_consumer& read_tail_by_halves();
const ringside_consumer& read_cuts_padding();
const ringside_consumer& read_knows_no_time();
// `session` and `session_merge`.
const ringside_consumer& session_oversleeps();
const ringside_consumer& session_claims_order();
const ringside_consumer& session_by_arrival();
const ringside_consumer& session_no_hold();
const ringside_consumer& session_makes_times_up();

}  // namespace ringside::consumers::mutant
