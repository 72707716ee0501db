// SPDX-License-Identifier: Apache-2.0
//
// One ring::Operation on a perf ring, one step at a time: what bpf_perf_event_output does, and the source's books.
#pragma once

#include <cstdint>
#include <optional>

#include "ring/operation.h"
#include "sim/perf_output.h"
#include "sim/perf_ring.h"
#include "sim/source.h"

namespace ringside::sim {

/// Outputs that may be under way on one CPU, one within the other, before the helper says -EBUSY [2.12].
inline constexpr std::uint32_t perf_output_levels = 3;

class PerfProduction {
 public:
  /// `level`: outputs under way on this CPU already. `false_size`: what the header shall say instead of the truth.
  PerfProduction(PerfRingModel& ring, SourceJournal& journal, SourceState& source, const ring::Operation& operation,
                 std::uint32_t level, std::optional<std::uint16_t> false_size, const PerfSampleValues& values,
                 Scratch& scratch);
  PerfProduction(const PerfProduction&) = delete;
  PerfProduction& operator=(const PerfProduction&) = delete;

  StepResult step();
  /// Takes all remaining steps.
  void run();

  bool interrupts_off() const { return false; }
  /// Whether the record is written and the next steps make it visible.
  bool about_to_publish() const { return output_.about_to_publish(); }
  /// Where a stalled producer stands.
  bool may_stall() const { return about_to_publish(); }
  /// After the last step.
  bool wants_wakeup() const { return !busy_ && output_.wants_wakeup(); }
  int result() const { return result_; }

 private:
  StepResult refuse();
  void begin_commit();
  void close_books();

  SourceJournal* journal_;
  SourceState* source_;
  ring::Operation operation_;
  bool busy_;
  bool malformed_;
  PerfRecord record_;
  PerfOutput<PlainMemory> output_;
  int result_ = 0;
};

}  // namespace ringside::sim
