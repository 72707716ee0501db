// SPDX-License-Identifier: Apache-2.0
//
// A perf ring that is written backward over its oldest records (KERNEL-RINGS 2.10), filled by the model's own kernel
// side (sim/perf_output.h) while its reader pauses it, dumps it and lets it go on. The ring is not instrumented; its
// reader is.
#pragma once

#include <cstdint>
#include <functional>

#include "explore/explored.h"
#include "explore/programs/perf_event.h"

namespace ringside::explore::programs {

struct BackwardPlan {
  std::uint32_t records = 1;  ///< 32 at most
  std::uint32_t size = 1004;  ///< of a record's raw data, bytes; 8 or more. Of 1004 bytes four lie in the ring whole
};

/// The ring of the program that is explored now, as its reader has it mapped.
PerfEventPages backward_ring_pages();
const BackwardPlan& backward_plan();

/// PERF_EVENT_IOC_PAUSE_OUTPUT.
void pause_backward_ring(bool on);
/// Returns when no output is under way. In a paused ring: what it holds whole now must be delivered in the end.
void quiesce_backward_ring();

/// The reader hands on the number of a record. Fails as deliver_sample() does.
void deliver_backward(std::uint32_t number);
/// It is told that so many were lost.
void deliver_backward_lost(std::uint64_t count);

/// One CPU's kernel side and this reader.
Program backward_program(const BackwardPlan& plan, std::function<void()> reader);

}  // namespace ringside::explore::programs
