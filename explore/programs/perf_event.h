// SPDX-License-Identifier: Apache-2.0
//
// A perf ring as perf_event_open(2) and mmap give it, filled by the model's own kernel side (sim/perf_output.h): a
// control page and a page of data, samples with raw data in it. The reader comes by it as by the kernel's, so a
// library's own set-up is explored as it stands. The ring is not instrumented; its reader is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "explore/explored.h"

namespace ringside::explore::programs {

struct PerfEventPlan {
  std::uint32_t records = 1;     ///< that are tried, the interrupt's among them; 32 at most
  std::uint64_t start = 0;       ///< of both positions; a multiple of 8
  std::uint32_t size = 4;        ///< of a record's raw data, bytes; 4 or more
  bool wakes = false;            ///< each record wakes the reader
  bool waits_for_space = false;  ///< the kernel stands still while the ring is full
  bool loses = false;            ///< it goes on, and tells of what was lost by LOST records
  /// The kernel stores data_head and then its poll flag, with no barrier in between: on a weak machine whoever takes
  /// the flag may see the older head, and the wake-up is gone (KERNEL-RINGS 5.2). This one has the barrier.
  bool flag_behind_head = false;
  bool interrupt = false;  ///< the last record is an interrupt's, which comes wherever it likes
};

/// The ring as its reader has it mapped.
struct PerfEventPages {
  void* control = nullptr;  ///< data_head and data_tail (ring/layout.h)
  std::byte* data = nullptr;
  std::uint64_t size = 0;  ///< of the data, bytes
};
/// Of the program that is explored now.
PerfEventPages perf_event_pages();
const PerfEventPlan& perf_event_plan();
/// The event's descriptor, which is readable once after each wake-up. In begin or in a thread.
int open_perf_event();

/// The descriptor of a BPF_MAP_TYPE_PERF_EVENT_ARRAY of one CPU; the calls that open an event for it and map its ring
/// have answers from now on (answer_calls()). In begin or in a thread.
int open_perf_map();

/// The reader hands the first word of a sample's raw data on, which is the record's number (and the last word, too).
/// Fails when that record is none, was delivered before, or comes after a later one that is not the interrupt's.
void deliver_sample(std::uint32_t word);
/// The reader is told that so many were lost.
void deliver_lost(std::uint64_t count);
/// The reader begins a batch, by a look at data_head that orders nothing.
void begin_batch();
/// It ends one, of which it says that all from before it is in it. Fails when it is not.
void end_batch_of_before();
/// It ends one, of which it says that it leaves the ring empty. Fails when there is something in it.
void end_batch_of_all();
/// How many it has handed on.
std::uint32_t samples_delivered();
/// poll until the ring has something that data_tail has not passed. Orders nothing.
void wait_samples();

/// One CPU's kernel side and this reader. In the end each record must have been delivered; or, where it may be lost, be
/// told as lost, lie in the ring, or be lost without a record having come since.
Program perf_event_program(const PerfEventPlan& plan, std::function<void()> reader);

}  // namespace ringside::explore::programs
