// SPDX-License-Identifier: Apache-2.0
//
// The tables of the mutants in backward.cc, of `overwritable`.
#pragma once

#include "ring/consumer.h"

namespace ringside::consumers::mutant {

const ringside_consumer& backward_unpaused();
const ringside_consumer& backward_not_quiet();
const ringside_consumer& backward_quiet_first();
const ringside_consumer& backward_goes_on_first();
const ringside_consumer& backward_stays_paused();
const ringside_consumer& backward_half_record();
const ringside_consumer& backward_two_laps();
const ringside_consumer& backward_again();
const ringside_consumer& backward_newest_first();
const ringside_consumer& backward_forgets_lost();
const ringside_consumer& backward_stores_tail();
const ringside_consumer& backward_sleeps_unlooked();

}  // namespace ringside::consumers::mutant
