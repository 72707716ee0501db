// SPDX-License-Identifier: Apache-2.0
//
// Two CPUs' perf rings, filled by the model's own kernel side (sim/perf_output.h), and one reader of both. Samples may
// carry the time at which they were taken, by one clock. The rings are not instrumented; their reader is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "explore/explored.h"
#include "explore/programs/perf_event.h"

namespace ringside::explore::programs {

struct PerfPairPlan {
  std::uint32_t records = 1;  ///< of each CPU; 16 at most
  bool stamped = false;       ///< samples carry their time
  bool in_full = true;        ///< each must have been delivered in the end
};

inline constexpr std::uint32_t pair_raw_bytes = 4;  ///< of each sample: its number

/// The rings of the program that is explored now, as their reader has them mapped.
std::array<PerfEventPages, 2> perf_pair_pages();
const PerfPairPlan& perf_pair_plan();
/// The events' descriptors. In begin.
std::array<int, 2> open_perf_pair();

/// The reader hands on the number of a sample. Fails when it is none, was delivered before, or comes after a later one
/// of its CPU.
void deliver_of_pair(std::uint64_t number);
/// The same of a reader that claims the order of time, before: fails when it tells a time that is not that of the
/// sample, or when one of a later time was delivered.
void check_time_of_pair(std::uint64_t number, std::uint64_t time_ns);
/// The reader begins a batch, by looks at both heads that order nothing; and ends one that has all from before it.
void begin_batch_of_pair();
void end_batch_of_pair();

/// What the reader lets pass when it yields, ns. No output takes longer: those under way when a yield begins have ended
/// when it ends. That is the condition of the order of time that is held back (consumers/perf_session.h).
inline constexpr std::int64_t pair_yield_ns = 20'000;
void yield_to_pair();
/// Moved on by yields alone.
std::int64_t pair_now_ns();

/// Two CPUs' kernel side and this reader.
Program perf_pair_program(const PerfPairPlan& plan, std::function<void()> reader);

}  // namespace ringside::explore::programs
