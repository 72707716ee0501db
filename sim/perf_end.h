// SPDX-License-Identifier: Apache-2.0
//
// The end of a perf output, one step at a time: only the outermost writer of the CPU publishes, for all nested ones,
// and looks again after it has left, so that data_head never goes backwards (KERNEL-RINGS 2.6, 5.2).
#pragma once

#include <cassert>
#include <cstdint>

#include "sim/memory.h"
#include "sim/perf_state.h"
#include "sim/readiness.h"

namespace ringside::sim {

template <class Memory>
class PerfOutputEnd {
 public:
  /// `wakeup_before`: the wake-up counter when this output began.
  PerfOutputEnd(PerfRingState& ring, std::uint64_t wakeup_before) : ring_(&ring), wakeup_before_(wakeup_before) {}

  StepResult step() {
    switch (phase_) {
      case Phase::leave:
        return leave();
      case Phase::read_head:
        return read_head();
      case Phase::publish:
        return publish();
      case Phase::reset_nest:
        return reset_nest();
      case Phase::look_again:
        return look_again();
      case Phase::reenter:
        return reenter();
      case Phase::flag:
        return raise_flag();
      case Phase::done:
        break;
    }
    assert(false && "a step after the last one");
    return StepResult::done;
  }

  /// Takes all remaining steps. They stand in a row, so that the compiler makes one function of them.
  void run() {
    if (phase_ == Phase::leave) leave();
    while (phase_ != Phase::flag && phase_ != Phase::done) {
      if (phase_ == Phase::reenter) reenter();
      if (phase_ == Phase::read_head) read_head();
      if (phase_ == Phase::publish) publish();
      if (phase_ == Phase::reset_nest) reset_nest();
      if (phase_ == Phase::look_again) look_again();
    }
    if (phase_ == Phase::flag) raise_flag();
  }

  /// Where it stands after the step that was taken last.
  PerfPoint point() const {
    if (phase_ == Phase::reset_nest) return PerfPoint::published;
    return phase_ == Phase::look_again ? PerfPoint::left : PerfPoint::none;
  }
  /// After the last step: the event's irq-work is to be queued.
  bool wants_wakeup() const { return wants_wakeup_; }

 private:
  enum class Phase : std::uint8_t { leave, read_head, publish, reset_nest, look_again, reenter, flag, done };

  StepResult leave() {
    if (ring_->nest > 1) {  // 2.6.1: an inner writer never publishes, nor wakes
      ring_->nest -= 1;
      phase_ = Phase::done;
      return StepResult::done;
    }
    return go(Phase::read_head);
  }

  StepResult read_head() {
    published_ = ring_->head;
    return go(Phase::publish);
  }

  StepResult publish() {
    // 5.2 B: barrier and relaxed store, pairs with the consumer's acquire of data_head (C): whoever sees the head sees
    // the data before it.
    Memory::write_barrier();
    Memory::store_relaxed(ring_->data_head, published_);
    return go(Phase::reset_nest);
  }

  StepResult reset_nest() {
    // Before head is looked at again: an interrupt from here on is outermost and publishes itself.
    ring_->nest = 0;
    return go(Phase::look_again);
  }

  StepResult look_again() { return go(ring_->head != published_ ? Phase::reenter : Phase::flag); }

  StepResult reenter() {
    ring_->nest = 1;
    return go(Phase::read_head);
  }

  StepResult raise_flag() {
    // 2.6.3. Relaxed: taken by an exchange of any poller [4.1]; the queueing that follows is a full barrier.
    wants_wakeup_ = ring_->wakeup != wakeup_before_;
    if (wants_wakeup_) Memory::store_relaxed(&ring_->poll, poll_readable);
    phase_ = Phase::done;
    return StepResult::done;
  }

  StepResult go(Phase phase) {
    phase_ = phase;
    return StepResult::more;
  }

  PerfRingState* ring_;
  std::uint64_t wakeup_before_;
  std::uint64_t published_ = 0;
  Phase phase_ = Phase::leave;
  bool wants_wakeup_ = false;
};

}  // namespace ringside::sim
