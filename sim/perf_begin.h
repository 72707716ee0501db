// SPDX-License-Identifier: Apache-2.0
//
// The start of a perf output, one step at a time: counting itself in, finding the space, moving head
// (KERNEL-RINGS 2.4).
//
// Only interrupts of the same CPU are concurrent with these steps, and each of them ends before the interrupted one
// goes on; so the ring's private words are plain, and only data_tail, which the user writes, is an atomic access.
#pragma once

#include <cassert>
#include <cstdint>

#include "sim/memory.h"
#include "sim/perf_state.h"

namespace ringside::sim {

enum class PerfBegin : std::uint8_t {
  reserved,  ///< the space is there; end with PerfOutputEnd
  refused,   ///< -ENOSPC before anything was touched (paused): nothing to end
  lost,      ///< -ENOSPC for want of space, counted: end with PerfOutputEnd all the same
};

template <class Memory>
class PerfOutputBegin {
 public:
  /// `size`: bytes of the record as its header will say them.
  PerfOutputBegin(PerfRingState& ring, PerfEventState& event, std::uint64_t size)
      : ring_(&ring), event_(&event), size_(size) {}

  StepResult step() {
    switch (phase_) {
      case Phase::enter:
        return enter();
      case Phase::nest:
        return nest();
      case Phase::stamp:
        return stamp();
      case Phase::head:
        return read_head();
      case Phase::tail:
        return read_tail();
      case Phase::claim:
        return claim();
      case Phase::lose:
        return lose();
      case Phase::watermark:
        return test_watermark();
      case Phase::done:
        break;
    }
    assert(false && "a step after the last one");
    return StepResult::done;
  }

  /// Takes all remaining steps. They stand in a row, so that the compiler makes one function of them.
  void run() {
    if (phase_ == Phase::enter) enter();
    if (phase_ == Phase::nest) nest();
    if (phase_ == Phase::stamp) stamp();
    while (phase_ == Phase::head || phase_ == Phase::tail || phase_ == Phase::claim) {
      if (phase_ == Phase::head) read_head();
      if (phase_ == Phase::tail) read_tail();
      if (phase_ == Phase::claim) claim();
    }
    if (phase_ == Phase::lose) lose();
    if (phase_ == Phase::watermark) test_watermark();
  }

  PerfBegin result() const { return result_; }
  /// 2.4.7: where the first byte goes.
  std::uint64_t position() const { return ring_->backward ? next_head_ : head_; }
  /// A LOST record is to be written first.
  bool announces_loss() const { return announces_loss_; }
  /// Where it stands after the step that was taken last.
  PerfPoint point() const {
    if (phase_ == Phase::stamp) return PerfPoint::entered;
    return phase_ == Phase::watermark ? PerfPoint::reserved : PerfPoint::none;
  }
  /// The wake-up counter as it stood at the start, for the end (2.6.3).
  std::uint64_t wakeup_before() const { return wakeup_before_; }

 private:
  enum class Phase : std::uint8_t { enter, nest, stamp, head, tail, claim, lose, watermark, done };

  StepResult enter() {
    if (ring_->paused) {  // 2.4.2; a ring without data pages is paused for ever and counts nothing [2.1]
      if (ring_->size != 0 && !Memory::breaks(Rule::perf_paused_counts)) count_loss();
      result_ = PerfBegin::refused;
      return finish();
    }
    announces_loss_ = ring_->lost != 0;  // 2.4.3: sampled here, whatever an interrupt does to it until it is written
    if (announces_loss_) size_ += lost_record_bytes<Memory>(*event_);
    return go(Phase::nest);
  }

  StepResult nest() {
    ring_->nest += 1;  // 2.4.4
    return go(Phase::stamp);
  }

  // 2.4.4: after nest. An interrupt in between writes as an inner writer, and what it adds to wakeup is no news to this
  // output: if this one then fails, the interrupt's record is published without a wake-up.
  StepResult stamp() {
    wakeup_before_ = ring_->wakeup;
    return go(Phase::head);
  }

  StepResult read_head() {
    head_ = ring_->head;
    return go(Phase::tail);
  }

  StepResult read_tail() {
    // 5.2 A: relaxed; that the stores of the data come after is the control dependency on the space test. Pairs with
    // the consumer's release of data_tail (D).
    tail_ = Memory::load_relaxed(ring_->data_tail);
    std::uint64_t free = (ring_->backward ? head_ - tail_ - 1 : tail_ - head_ - 1) & ring_->mask();
    if (Memory::breaks(Rule::perf_space)) free += 1;
    if (Memory::breaks(Rule::perf_lost_space) && announces_loss_) free += lost_record_bytes<Memory>(*event_);
    return go(!ring_->overwrite && free < size_ ? Phase::lose : Phase::claim);
  }

  StepResult claim() {
    // 2.4.5: a compare-and-swap that fails only when an interrupt of this CPU moved head since it was read.
    if (ring_->head != head_) return go(Phase::head);
    next_head_ = ring_->backward ? head_ - size_ : head_ + size_;
    ring_->head = next_head_;
    return go(Phase::watermark);
  }

  StepResult lose() {
    count_loss();
    result_ = PerfBegin::lost;
    return finish();
  }

  StepResult test_watermark() {
    // 2.4.6: strict, unsigned, and one watermark a record however large the record is.
    const bool negated = ring_->backward && !Memory::breaks(Rule::perf_backward_watermark);
    const std::uint64_t produced = negated ? 0 - next_head_ : next_head_;
    const std::uint64_t watermark =
        Memory::breaks(Rule::perf_redirect_watermark) ? initial_watermark(event_->attr, ring_->size) : ring_->watermark;
    if (Memory::breaks(Rule::perf_half_buffer) && event_->attr.counts_events()) return finish();
    if (Memory::breaks(Rule::perf_watermark_once)) {
      const std::uint64_t ahead = produced - ring_->wakeup;
      if (ahead > watermark) ring_->wakeup += (ahead - 1) / watermark * watermark;
      return finish();
    }
    const bool as_much = Memory::breaks(Rule::perf_watermark_compare) && produced - ring_->wakeup == watermark;
    if (produced - ring_->wakeup > watermark || as_much) ring_->wakeup += watermark;
    return finish();
  }

  void count_loss() {
    ring_->lost += 1;
    event_->lost_samples += 1;
  }

  StepResult go(Phase phase) {
    phase_ = phase;
    return StepResult::more;
  }
  StepResult finish() {
    phase_ = Phase::done;
    return StepResult::done;
  }

  PerfRingState* ring_;
  PerfEventState* event_;
  std::uint64_t size_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t next_head_ = 0;
  std::uint64_t wakeup_before_ = 0;
  Phase phase_ = Phase::enter;
  PerfBegin result_ = PerfBegin::reserved;
  bool announces_loss_ = false;
};

}  // namespace ringside::sim
