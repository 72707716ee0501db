// SPDX-License-Identifier: Apache-2.0
//
// A perf ring as perf_event_open(2) and mmap give it, filled by the model's own kernel side (sim/perf_output.h): a
// control page and a page of data, samples with raw data in it. The reader comes by it as by the kernel's, so a
// library's own set-up is explored as it stands. The ring is not instrumented; its reader is.
#pragma once

#include <cstdint>
#include <functional>

#include "explore/explored.h"

namespace ringside::explore::programs {

struct PerfEventPlan {
  std::uint32_t records = 1;
  std::uint64_t start = 0;       ///< of both positions; a multiple of 8
  std::uint32_t size = 4;        ///< of a record's raw data, bytes; 4 or more
  bool wakes = false;            ///< each record wakes the reader
  bool waits_for_space = false;  ///< the kernel stands still while the ring is full
};

/// The descriptor of a BPF_MAP_TYPE_PERF_EVENT_ARRAY of one CPU; the calls that open an event for it and map its ring
/// have answers from now on (answer_calls()). In begin or in a thread.
int open_perf_map();

/// The reader hands the first word of a sample's raw data on; fails when that is not the next one.
void deliver_sample(std::uint32_t word);
/// How many it has handed on.
std::uint32_t samples_delivered();
/// poll until the ring has something that data_tail has not passed. Orders nothing.
void wait_samples();

/// One CPU's kernel side and this reader.
Program perf_event_program(const PerfEventPlan& plan, std::function<void()> reader);

}  // namespace ringside::explore::programs
