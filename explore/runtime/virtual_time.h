// SPDX-License-Identifier: Apache-2.0
//
// Time in an execution. Each thread has a clock of its own, which begins at the same moment, moves on with each look at
// it, and is set on by what the thread sleeps, by deadlines that pass, and by joining a thread that is ahead. So the
// same execution has the same times, whatever the machine does.
#pragma once

#include <time.h>

#include <cstdint>

#include "explore/engine.h"

namespace ringside::explore::runtime {

/// What the running thread's clock shows, in nanoseconds since the execution began. A thread that looks again and again
/// and does nothing else finds time to pass ever faster, so that a loop that waits for a moment ends.
std::uint64_t look_at_clock(Engine& engine);

/// That much time passes for the running thread.
void pass_time(Engine& engine, std::uint64_t nanoseconds);

/// The running thread's clock shows the deadline, or more.
void pass_deadline(Engine& engine, clockid_t clock, const timespec& deadline);

/// Whose the deadline must be: the clocks' times are far from each other.
clockid_t clock_of(const timespec& deadline);

std::uint64_t nanoseconds_of(const timespec& time);

}  // namespace ringside::explore::runtime
