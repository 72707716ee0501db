// SPDX-License-Identifier: Apache-2.0
//
// submit and discard, one step at a time (KERNEL-RINGS 1.6; orderings 5.1, P10 to P12). Takes no lock.
#pragma once

#include <cassert>
#include <cstdint>

#include "ring/layout.h"
#include "ring/operation.h"
#include "sim/memory.h"
#include "sim/ringbuf_state.h"

namespace ringside::sim {

enum class Fate : std::uint8_t { submit, discard };

template <class Memory>
class RingbufCommit {
 public:
  /// `position`: of the header of a BUSY record. Unknown bits of `flags` are ignored [1.6.5].
  RingbufCommit(RingbufState& ring, std::uint64_t position, Fate fate, std::uint64_t flags)
      : ring_(&ring), position_(position), flags_(flags), fate_(fate) {}

  StepResult step() {
    switch (phase_) {
      case Phase::read_length:
        return read_length();
      case Phase::exchange:
        return exchange();
      case Phase::read_consumer:
        return read_consumer();
      case Phase::done:
        break;
    }
    assert(false && "a step after the last one");
    return StepResult::done;
  }

  /// Takes all remaining steps.
  void run() {
    if (phase_ == Phase::read_length) read_length();
    if (phase_ == Phase::exchange) exchange();
    if (phase_ == Phase::read_consumer) read_consumer();
  }

  /// Whether the next step is the one that makes the record visible.
  bool about_to_publish() const { return phase_ == Phase::exchange; }
  /// After the last step: the ring's irq-work is to be queued (P12).
  bool wants_wakeup() const { return wants_wakeup_; }

 private:
  enum class Phase : std::uint8_t { read_length, exchange, read_consumer, done };
  static constexpr std::uint64_t known_flags = ring::flag_no_wakeup | ring::flag_force_wakeup;

  StepResult read_length() {
    // 1.6.1. Relaxed: our own header, written by this CPU.
    length_ = Memory::load_relaxed(ring_->length_word(position_));
    phase_ = Phase::exchange;
    return StepResult::more;
  }

  StepResult exchange() {
    // 1.6.2: the length stays what it was.
    std::uint32_t committed = length_ ^ ring::ringbuf::busy_bit;
    if (fate_ == Fate::discard && !Memory::breaks(Rule::ringbuf_discard_bit)) {
      committed |= ring::ringbuf::discard_bit;
    }
    // (P10) full: releases the payload to the consumer's acquire of len (C2), and orders itself before (P11), as the
    // consumer's fence (C5) orders its release of consumer_pos before its last look at this header.
    Memory::exchange_full(ring_->length_word(position_), committed);
    phase_ = Phase::read_consumer;
    return StepResult::more;
  }

  StepResult read_consumer() {
    // (P11) 1.6.4: acquire; after (P10) by its full barrier.
    // 1.6.5: the comparison is modulo the ring, so that a position wrong by laps matches too.
    const std::uint64_t mask = Memory::breaks(Rule::ringbuf_wakeup_modulo) ? ~std::uint64_t{0} : ring_->mask();
    wants_wakeup_ = wakes(Memory::points_at(ring_->consumer_pos, mask, position_ & mask));
    phase_ = Phase::done;
    return StepResult::done;
  }

  // 1.6.5: FORCE wins over NO.
  bool wakes(bool caught_up) const {
    const bool forced = (flags_ & ring::flag_force_wakeup) != 0;
    const bool silenced = (flags_ & ring::flag_no_wakeup) != 0;
    if (Memory::breaks(Rule::ringbuf_discard_wakes) && fate_ == Fate::discard) return false;
    if (Memory::breaks(Rule::ringbuf_force_wins) && silenced) return false;
    if (Memory::breaks(Rule::ringbuf_submit_flags) && (flags_ & ~known_flags) != 0) return false;
    return forced || (caught_up && !silenced);
  }

  RingbufState* ring_;
  std::uint64_t position_;
  std::uint64_t flags_;
  std::uint32_t length_ = 0;
  Fate fate_;
  Phase phase_ = Phase::read_length;
  bool wants_wakeup_ = false;
};

}  // namespace ringside::sim
