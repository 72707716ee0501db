// SPDX-License-Identifier: Apache-2.0
//
// reserve, one step at a time (KERNEL-RINGS 1.5; orderings 5.1, P1 to P8). Every step is one access of shared memory
// that another CPU, an interrupt or the consumer can see; what is read under the lock and written by nobody else is
// read in one step.
#pragma once

#include <cassert>
#include <cstdint>

#include "ring/layout.h"
#include "sim/memory.h"
#include "sim/ringbuf_state.h"

namespace ringside::sim {

/// How one reservation goes about the lock (KERNEL-RINGS 5.5).
enum class LockAttempt : std::uint8_t {
  spin,  ///< waits for it: the step is `blocked` while another holds it
  once,  ///< one try: an NMI before 6.16
  fail,  ///< does not get it: a resilient lock that found a deadlock or timed out
};

enum class ReserveFailure : std::uint8_t { none, too_large, lock, full };

template <class Memory>
class RingbufReserve {
 public:
  /// `size`: bytes of payload, as the helper's u64 argument.
  RingbufReserve(RingbufState& ring, std::uint64_t size, LockAttempt attempt = LockAttempt::spin)
      : ring_(&ring), size_(size), attempt_(attempt) {}

  /// Takes the next step. Not to be called after `done`.
  StepResult step() {
    switch (phase_) {
      case Phase::check:
        return check();
      case Phase::lock:
        return lock();
      case Phase::positions:
        return read_positions();
      case Phase::walk:
        return walk();
      case Phase::pending:
        return store_pending();
      case Phase::length:
        return store_length();
      case Phase::page_offset:
        return store_page_offset();
      case Phase::publish:
        return publish();
      case Phase::unlock:
        return unlock();
      case Phase::done:
        break;
    }
    assert(false && "a step after the last one");
    return StepResult::done;
  }

  /// Takes all remaining steps; spins while another holds the lock. The steps stand in a row, so that the compiler
  /// makes one function of them.
  void run() {
    if (phase_ == Phase::check) check();
    for (unsigned tries = 0; phase_ == Phase::lock; ++tries) {
      if (lock() == StepResult::blocked) Memory::relax(tries);
    }
    if (phase_ == Phase::positions) read_positions();
    while (phase_ == Phase::walk) walk();
    if (phase_ == Phase::pending) store_pending();
    if (phase_ == Phase::length) store_length();
    if (phase_ == Phase::page_offset) store_page_offset();
    if (phase_ == Phase::publish) publish();
    if (phase_ == Phase::unlock) unlock();
  }

  /// Whether this reservation holds the lock: interrupts are off on its CPU.
  bool holds_lock() const { return phase_ > Phase::lock && phase_ != Phase::done; }
  ReserveFailure failure() const { return failure_; }
  /// After success: the position of the record's header.
  std::uint64_t position() const { return producer_; }

 private:
  enum class Phase : std::uint8_t { check, lock, positions, walk, pending, length, page_offset, publish, unlock, done };

  StepResult check() {
    // 1.5.1: the helper's limit. 1.5.2: a span that no ring of this size can hold; the u32 cut is the kernel's.
    span_ = static_cast<std::uint32_t>(ring::round_up_8(size_ + ring::ringbuf::header_bytes));
    if (size_ > ring::ringbuf::length_mask || (ring_->rules.refuses_oversize && span_ > ring_->size)) {
      return fail(ReserveFailure::too_large);
    }
    // 1.5.3: before the lock, and never read again.
    // (P1) acquire, pairs with the consumer's release of consumer_pos (C4): what we store into the freed space comes
    // after what the consumer read there.
    consumer_ = Memory::load_acquire(ring_->consumer_pos);
    return go(Phase::lock);
  }

  StepResult lock() {
    if (attempt_ == LockAttempt::fail) return fail(ReserveFailure::lock);
    // (P2) acquire, pairs with the release of the last holder's unlock (P8): its positions and headers are ours to
    // read.
    if (Memory::try_lock(&ring_->lock)) return go(Phase::positions);
    return attempt_ == LockAttempt::once ? fail(ReserveFailure::lock) : StepResult::blocked;
  }

  StepResult read_positions() {
    // (P3) plain: only a holder of the lock writes these two.
    pending_ = Memory::load_plain(ring_->pending_pos);
    producer_ = Memory::load_plain(ring_->producer_pos);
    next_producer_ = producer_ + span_;
    if (ring_->rules.has_pending_pos) return go(walk_goes_on() ? Phase::walk : Phase::pending);
    return go(fits() ? Phase::length : Phase::unlock);
  }

  StepResult walk() {
    // 1.5.6: passes every record that is no longer BUSY.
    // (P4) relaxed: another CPU clears BUSY without the lock (P10). That our later stores (P6) come after is the
    // control dependency on this load.
    const std::uint32_t header = Memory::load_relaxed(ring_->length_word(pending_));
    if (ring::ringbuf::is_busy(header)) return go(Phase::pending);
    // Only DISCARD is cleared for the length; BUSY is not set here, so that length_of is the same.
    pending_ += ring::ringbuf::span_of(header);
    return go(walk_goes_on() ? Phase::walk : Phase::pending);
  }

  StepResult store_pending() {
    // (P5) relaxed: ordered by the lock, but user space may read the word at any time [1.1]. 1.5.6: stored even when
    // the reservation fails afterwards.
    Memory::store_relaxed(ring_->pending_pos, pending_);
    return go(fits() ? Phase::length : Phase::unlock);
  }

  StepResult store_length() {
    // (P6) 1.5.8: plain, after the branches on (P1) and (P4); seen by the consumer through (P7).
    Memory::store_plain(ring_->length_word(producer_), static_cast<std::uint32_t>(size_) | ring::ringbuf::busy_bit);
    return go(Phase::page_offset);
  }

  StepResult store_page_offset() {
    Memory::store_plain(ring_->page_offset_word(producer_),
                        ring::ringbuf::page_offset(producer_, ring_->size, ring_->page_size));
    return go(Phase::publish);
  }

  StepResult publish() {
    // (P7) 1.5.9: release, pairs with the consumer's acquire of producer_pos (C1): whoever sees the new position sees
    // the BUSY header, never what an earlier lap left there.
    Memory::store_release(ring_->producer_pos, next_producer_);
    return go(Phase::unlock);
  }

  StepResult unlock() {
    // (P8) release, pairs with the acquire of the next holder (P2).
    Memory::unlock(&ring_->lock);
    phase_ = Phase::done;
    return StepResult::done;
  }

  bool walk_goes_on() const { return ring_->rules.walks_while_unequal ? pending_ != producer_ : pending_ < producer_; }

  // 1.5.7: u64 differences that wrap, compared unsigned.
  bool fits() {
    const std::uint64_t mask = ring_->mask();
    const bool full =
        next_producer_ - consumer_ > mask || (ring_->rules.has_pending_pos && next_producer_ - pending_ > mask);
    if (full) failure_ = ReserveFailure::full;
    return !full;
  }

  StepResult go(Phase phase) {
    phase_ = phase;
    return StepResult::more;
  }

  // 1.5.4: without the lock, so that nothing has changed.
  StepResult fail(ReserveFailure failure) {
    failure_ = failure;
    phase_ = Phase::done;
    return StepResult::done;
  }

  RingbufState* ring_;
  std::uint64_t size_;
  std::uint64_t consumer_ = 0;
  std::uint64_t pending_ = 0;
  std::uint64_t producer_ = 0;
  std::uint64_t next_producer_ = 0;
  std::uint32_t span_ = 0;
  LockAttempt attempt_;
  Phase phase_ = Phase::check;
  ReserveFailure failure_ = ReserveFailure::none;
};

}  // namespace ringside::sim
