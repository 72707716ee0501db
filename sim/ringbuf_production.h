// SPDX-License-Identifier: Apache-2.0
//
// One ring::Operation on a BPF ring buffer, one step at a time: reserve, draft, record, commit, and the source's books.
#pragma once

#include <cstdint>
#include <optional>

#include "ring/operation.h"
#include "ring/record.h"
#include "ring/stamp.h"
#include "sim/clock.h"
#include "sim/ringbuf.h"
#include "sim/ringbuf_commit.h"
#include "sim/ringbuf_reserve.h"
#include "sim/source.h"

namespace ringside::sim {

/// When a record takes its stamp, and from which clock.
struct Stamping {
  ring::Stamp when = ring::Stamp::none;
  VirtualClock* clock = nullptr;
};

class RingbufProduction {
 public:
  /// `stepped`: writes a draft as soon as it has the space and the record in two pieces, so that whoever looks too
  /// early finds something to be convicted of; otherwise only held records get a draft.
  RingbufProduction(RingbufModel& ring, SourceJournal& journal, SourceState& source, const ring::Operation& operation,
                    LockAttempt attempt, bool stepped, Scratch& scratch, const Stamping& stamping = {});

  StepResult step();
  /// Takes all remaining steps. Not once the record is visible.
  void run();

  bool interrupts_off() const { return phase_ == Phase::reserve && reserve_.holds_lock(); }
  /// Whether the record is written and the next step makes it visible.
  bool about_to_publish() const { return phase_ == Phase::commit && commit_ && commit_->about_to_publish(); }
  /// Where a stalled producer stands: with its record BUSY or, if it was stamped before, between the two.
  bool may_stall() const {
    return stamping_.when == ring::Stamp::before ? phase_ == Phase::reserve && !reserve_begun_ : about_to_publish();
  }
  /// After the last step.
  bool wants_wakeup() const { return commit_ && commit_->wants_wakeup(); }
  int result() const { return result_; }

 private:
  enum class Phase : std::uint8_t {
    refuse,
    nothing,
    take_stamp,
    reserve,
    stamp,
    draft,
    first_half,
    second_half,
    whole,
    commit,
    done
  };

  bool discards() const;
  StepResult reserve();
  StepResult end_reserve();
  void write_stamp();
  void begin_record();
  StepResult draft();
  StepResult write_half(bool first);
  StepResult commit();
  void count_commit();
  void start_commit();
  void close_books();
  ring::RecordIdentity identity() const;
  std::span<std::byte> payload() const;
  StepResult finish();

  RingbufModel* ring_;
  SourceJournal* journal_;
  SourceState* source_;
  Scratch* scratch_;
  ring::Operation operation_;
  RingbufReserve<PlainMemory> reserve_;
  std::optional<RingbufCommit<PlainMemory>> commit_;
  std::uint64_t position_ = 0;
  std::uint32_t size_;  ///< behind its stamp
  Stamping stamping_;
  std::uint64_t stamp_ns_ = 0;
  Phase phase_ = Phase::reserve;
  bool reserve_begun_ = false;
  bool stepped_;
  int result_ = 0;
};

}  // namespace ringside::sim
