// SPDX-License-Identifier: Apache-2.0
//
// reserve, one step at a time (KERNEL-RINGS 1.5; orderings 5.1, P1 to P8). Every step is one access of shared memory
// that another CPU, an interrupt or the consumer can see; what is read under the lock and written by nobody else is
// read in one step.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>

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
      case Phase::oldest:
        return pass_oldest();
      case Phase::overwrite:
        return store_overwrite();
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
    while (phase_ == Phase::oldest) pass_oldest();
    if (phase_ == Phase::overwrite) store_overwrite();
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
  enum class Phase : std::uint8_t {
    check,
    lock,
    positions,
    walk,
    pending,
    oldest,
    overwrite,
    length,
    page_offset,
    publish,
    unlock,
    done
  };

  StepResult check() {
    // 1.5.1: the helper's limit. 1.5.2: a span that no ring of this size can hold; the u32 cut is the kernel's.
    span_ = static_cast<std::uint32_t>(rounded(size_ + ring::ringbuf::header_bytes));
    if (size_ > ring::ringbuf::length_mask || (ring_->rules.refuses_oversize && span_ > ring_->size)) {
      return fail(ReserveFailure::too_large);
    }
    // 1.5.3: before the lock, and never read again.
    // (P1) acquire, pairs with the consumer's release of consumer_pos (C4): what we store into the freed space comes
    // after what the consumer read there.
    consumer_ = Memory::load_position(ring_->consumer_pos);
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
    return go(after_the_test());
  }

  StepResult walk() {
    // 1.5.6: passes every record that is no longer BUSY.
    // (P4) relaxed: another CPU clears BUSY without the lock (P10). That our later stores (P6) come after is the
    // control dependency on this load.
    const std::uint32_t header = Memory::load_relaxed(ring_->length_word(pending_));
    if (ring::ringbuf::is_busy(header)) return go(Phase::pending);
    if (Memory::breaks(Rule::ringbuf_pending_over_discard) && ring::ringbuf::is_discarded(header)) {
      return go(Phase::pending);
    }
    // Only DISCARD is cleared for the length; BUSY is not set here, so that length_of is the same.
    pending_ += span_of(header);
    if (Memory::breaks(Rule::ringbuf_pending_walk)) return go(Phase::pending);
    return go(walk_goes_on() ? Phase::walk : Phase::pending);
  }

  StepResult store_pending() {
    // (P5) relaxed: ordered by the lock, but user space may read the word at any time [1.1]. 1.5.6: stored even when
    // the reservation fails afterwards.
    const Phase next = after_the_test();
    const bool only_on_success = Memory::breaks(Rule::ringbuf_pending_on_failure);
    if (next != Phase::unlock || !only_on_success) Memory::store_relaxed(ring_->pending_pos, pending_);
    return go(next);
  }

  StepResult pass_oldest() {
    // 1.11: gives up the oldest record. Relaxed, as (P4): its header was stored long ago; the walk never reaches
    // pending_pos, because the span from there to the end of the new record fits.
    const std::uint32_t header = Memory::load_relaxed(ring_->length_word(overwrite_));
    if (ring_->observer != nullptr) ring_->observer->given_up(overwrite_, header);
    overwrite_ += span_of(header);
    if (Memory::breaks(Rule::ringbuf_overwrite_walk)) return go(Phase::overwrite);
    return go(must_give_up_more() ? Phase::oldest : Phase::overwrite);
  }

  StepResult store_overwrite() {
    // 1.11: relaxed, ordered by the lock among producers; a consumer that acquires producer_pos (P7) sees it.
    Memory::store_relaxed(ring_->overwrite_pos, overwrite_);
    return go(Phase::length);
  }

  StepResult store_length() {
    // (P6) 1.5.8: plain, after the branches on (P1) and (P4); seen by the consumer through (P7).
    Memory::store_plain(ring_->length_word(producer_), static_cast<std::uint32_t>(size_) | ring::ringbuf::busy_bit);
    return go(Phase::page_offset);
  }

  StepResult store_page_offset() {
    std::uint32_t page_offset = ring::ringbuf::page_offset(producer_, ring_->size, ring_->page_size);
    if (Memory::breaks(Rule::ringbuf_page_offset)) page_offset -= ring::ringbuf::pages_before_data;
    Memory::store_plain(ring_->page_offset_word(producer_), page_offset);
    if (Memory::breaks(Rule::ringbuf_stale_payload)) {
      std::memset(ring_->payload(producer_), 0, static_cast<std::size_t>(size_));
    }
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

  static std::uint64_t rounded(std::uint64_t size) {
    return Memory::breaks(Rule::ringbuf_span_rounding) ? (size + 15) & ~std::uint64_t{15} : ring::round_up_8(size);
  }
  static std::uint64_t span_of(std::uint32_t header) {
    return rounded(std::uint64_t{ring::ringbuf::length_of(header)} + ring::ringbuf::header_bytes);
  }

  bool walk_goes_on() const {
    // A ring that does not protect BUSY records may walk over anything: it must not miss the end.
    const bool unequal = ring_->rules.walks_while_unequal && !Memory::breaks(Rule::ringbuf_pending_limits);
    return unequal ? pending_ != producer_ : pending_ < producer_;
  }

  // 1.5.7: u64 differences that wrap, compared unsigned. 1.11: consumer_pos is no limit of an overwrite ring.
  bool fits() {
    const bool full = (counts_consumer() && consumer_is_full()) || (counts_pending() && pending_is_full());
    if (full) failure_ = ReserveFailure::full;
    return !full;
  }
  bool counts_consumer() const { return !ring_->overwrite || Memory::breaks(Rule::ringbuf_overwrite_consumer); }
  bool counts_pending() const { return ring_->rules.has_pending_pos && !Memory::breaks(Rule::ringbuf_pending_limits); }
  bool consumer_is_full() const {
    const std::uint64_t most = ring_->mask() - (Memory::breaks(Rule::ringbuf_full_compare) ? 1 : 0);
    if (!Memory::is_further(consumer_, next_producer_, most)) return false;
    // Used is the whole ring, or more.
    return !may_fill_the_ring() || Memory::is_further(consumer_, next_producer_, ring_->size);
  }
  bool pending_is_full() const {
    const std::uint64_t used = next_producer_ - pending_;
    return used > ring_->mask() && !(may_fill_the_ring() && used == ring_->size);
  }
  // One record that takes the whole ring, which only a model that breaks the rule admits.
  bool may_fill_the_ring() const { return Memory::breaks(Rule::ringbuf_largest_span) && span_ == ring_->size; }

  // Where a reservation goes that has read the positions.
  Phase after_the_test() {
    if (!fits()) return Phase::unlock;
    if (!ring_->overwrite) return Phase::length;
    overwrite_ = Memory::load_plain(ring_->overwrite_pos);  // only a holder of the lock writes it
    return must_give_up_more() ? Phase::oldest : Phase::overwrite;
  }
  // Signed: what only a broken model meets, a walk that a torn length leads past the end, ends there.
  bool must_give_up_more() const {
    return static_cast<std::int64_t>(next_producer_ - overwrite_) > static_cast<std::int64_t>(ring_->mask());
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
  typename Memory::Position consumer_{};
  std::uint64_t pending_ = 0;
  std::uint64_t producer_ = 0;
  std::uint64_t next_producer_ = 0;
  std::uint64_t overwrite_ = 0;
  std::uint32_t span_ = 0;
  LockAttempt attempt_;
  Phase phase_ = Phase::check;
  ReserveFailure failure_ = ReserveFailure::none;
};

}  // namespace ringside::sim
