// SPDX-License-Identifier: Apache-2.0
//
// Two CPUs with a BPF ring each, filled by the model's own kernel side (sim/), and a clock that both read: each record
// begins with the time at which it was stamped. The rings are not instrumented; their reader is.
//
// The clock is a word that a thread of its own moves on, and reading it is a relaxed load: it orders nothing, and under
// tso it does not drain the store buffer of who reads it, as x86's rdtsc does not.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "explore/programs/bpf_ring.h"
#include "ring/stamp.h"

namespace ringside::explore::programs {

struct StampedPlan {
  ring::Stamp stamp = ring::Stamp::inside;
  bool barrier = true;        ///< a full one between the reservation and the reading of the clock
  std::uint32_t records = 1;  ///< of each CPU
  std::uint32_t ticks = 1;    ///< of the clock, which begins at 1
};

constexpr std::uint32_t stamped_size = 16;  ///< of a record's payload: its stamp, and its number

/// Of the program that is explored now.
std::array<RingView, 2> stamped_rings();

/// The reader hands a record on. Fails when it was written by nobody, out of its ring's order, or with another stamp;
/// and when one with a younger stamp was handed on before.
void deliver_stamped(std::uint64_t number, std::uint64_t stamp);

/// Both CPUs, the clock and this reader. In the end no record that was left in its ring may have a stamp that is older
/// than that of one that was handed on: whoever reads on would hand it on late.
Program stamped_program(const StampedPlan& plan, std::function<void()> reader);

}  // namespace ringside::explore::programs
