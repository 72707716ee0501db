// SPDX-License-Identifier: Apache-2.0
//
// An A/B swap as programs carry it out (ringside_swap of ring/consumer.h): one CPU's program that reads the transfer
// count, counts itself on the side that its parity names, and puts a sample out to that side's perf ring, which is the
// model's own (sim/perf_output.h). Nothing here is instrumented; the reader is.
#pragma once

#include <cstdint>
#include <functional>

#include "explore/explored.h"
#include "explore/programs/perf_event.h"
#include "ring/consumer.h"

namespace ringside::explore::programs {

struct SwapPlan {
  std::uint32_t attempts = 1;  ///< one after the other; 32 at most
  std::uint32_t size = 4;      ///< of a sample's raw data, bytes; 4 or more
  /// Programs say where they begin and where they are over, as RCU knows it of them: wait_for_programs() has an answer.
  bool tell_when_over = false;
};

/// The two sides and the words, as the reader has them mapped.
struct SwapPages {
  ringside_swap* words = nullptr;
  PerfEventPages sides[2];
};
/// Of the program that is explored now.
SwapPages swap_pages();
const SwapPlan& swap_plan();

/// In the reader's thread: returns when every program is over that may have begun before.
void wait_for_programs();

/// The reader hands on the first word of a sample's raw data, the attempt's number. Fails when nobody put that out, or
/// it was delivered before.
void deliver_attempt(std::uint32_t number);
/// The reader is told that so many of the side that it froze last were lost.
void deliver_lost_attempts(std::uint64_t count);
/// The reader says that the side that it froze last is complete. Fails when a program has chosen that side whose sample
/// is neither delivered nor told as lost.
void end_batch_of_side();

/// Such a program and this reader. In the end every attempt must be accounted for: delivered or told as lost, or, by
/// the two counters, on its way.
Program swap_program(const SwapPlan& plan, std::function<void()> reader);

}  // namespace ringside::explore::programs
