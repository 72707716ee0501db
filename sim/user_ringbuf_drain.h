// SPDX-License-Identifier: Apache-2.0
//
// bpf_user_ringbuf_drain, one step at a time (KERNEL-RINGS 3.1, 3.2; orderings 5.4). Every step is one access of shared
// memory that the user, or another drain, can see. Between two steps the program's callback runs: has_sample() says so,
// and the drain goes on once the callback's answer is in.
//
//   UserRingbufDrain<PlainMemory> drain(state, flags);
//   drain.run([](std::span<const std::byte> sample) { return 0; });
//   drain.result(); drain.wants_wakeup();
#pragma once

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <span>

#include "ring/layout.h"
#include "ring/operation.h"
#include "sim/memory.h"
#include "sim/user_ringbuf_state.h"

namespace ringside::sim {

/// Samples, skipped ones included, of one drain at most [3.1.3].
inline constexpr std::uint32_t most_drained_samples = 128 * 1024;

template <class Memory>
class UserRingbufDrain {
 public:
  UserRingbufDrain(UserRingbufState& ring, std::uint64_t flags) : ring_(&ring), flags_(flags) {}

  /// Takes the next step. Not to be called after `done`, nor while has_sample().
  StepResult step() {
    switch (phase_) {
      case Phase::flags:
        return check_flags();
      case Phase::take_busy:
        return take_busy();
      case Phase::producer:
        return read_producer();
      case Phase::consumer:
        return read_consumer();
      case Phase::header:
        return read_header();
      case Phase::skip:
        return skip();
      case Phase::consume:
        return consume();
      case Phase::release:
        return release();
      case Phase::sample:
      case Phase::done:
        break;
    }
    assert(false && "a step after the last one, or while the callback runs");
    return StepResult::done;
  }

  /// Takes all remaining steps; `callback` gets each sample and returns 0 (go on) or 1 (stop).
  template <class Callback>
  void run(Callback&& callback) {
    while (phase_ != Phase::done) {
      if (has_sample()) {
        answer(callback(sample()));
      } else {
        step();
      }
    }
  }

  /// Whether the callback is to run now.
  bool has_sample() const { return phase_ == Phase::sample; }
  /// The sample that the callback gets: bytes of the ring itself, which the user can still write.
  std::span<const std::byte> sample() const {
    return {ring_->at(consumer_ + ring::ringbuf::header_bytes), ring::ringbuf::length_of(header_)};
  }
  /// What the callback returned.
  void answer(int stop) {
    assert(has_sample() && (stop == 0 || stop == 1));
    stopped_ = stop != 0;
    phase_ = Phase::consume;
  }

  /// After the last step: what the helper returns.
  std::int64_t result() const { return result_; }
  /// After the last step: the ring's irq-work is to be queued.
  bool wants_wakeup() const { return wants_wakeup_; }

 private:
  enum class Phase : std::uint8_t {
    flags,
    take_busy,
    producer,
    consumer,
    header,
    skip,
    sample,
    consume,
    release,
    done
  };

  bool forces() const { return (flags_ & ring::flag_force_wakeup) != 0; }

  StepResult check_flags() {
    // 3.1.1
    const bool unknown = (flags_ & ~std::uint64_t{ring::flag_no_wakeup | ring::flag_force_wakeup}) != 0;
    if (unknown && !Memory::breaks(Rule::user_drain_flags)) return refuse(-EINVAL);
    return go(Phase::take_busy);
  }

  StepResult take_busy() {
    // 3.1.2: full, pairs with the release at the end of the last drain: its consumer_pos is ours to read.
    if (Memory::exchange_full(&ring_->busy, std::uint32_t{1}) == 0) return go(Phase::producer);
    wants_wakeup_ = Memory::breaks(Rule::user_busy_suppresses_wakeup) && forces();
    return refuse(-EBUSY);
  }

  StepResult read_producer() {
    // 3.2.1: acquire, pairs with the release of producer_pos by the user: headers below it are this lap's.
    producer_ = Memory::load_acquire(ring_->producer_pos);
    if (producer_ % 8 != 0) {
      if (!Memory::breaks(Rule::user_alignment)) return fail(-EINVAL);
      producer_ &= ~std::uint64_t{7};
    }
    return go(Phase::consumer);
  }

  StepResult read_consumer() {
    // 3.2.2: acquire, though only drains write it and the busy flag has ordered them.
    consumer_ = Memory::load_acquire(ring_->consumer_pos);
    return go(consumer_ >= producer_ ? Phase::release : Phase::header);
  }

  StepResult read_header() {
    // 3.2.3: acquire, pairs with the exchange by which the user clears BUSY: the payload is written.
    header_ = Memory::load_acquire(ring_->length_word(consumer_));
    const std::uint32_t length = ring::ringbuf::length_of(header_);
    span_ = static_cast<std::uint32_t>(ring::ringbuf::span_of(header_));
    const bool busy = ring::ringbuf::is_busy(header_);
    const bool discarded = ring::ringbuf::is_discarded(header_);
    if (Memory::breaks(Rule::user_size_before_busy) && busy && !discarded) return go(Phase::release);
    if (span_ > producer_ - consumer_) return fail(-EINVAL);                  // 3.2.4
    if (span_ > ring_->size || length > largest_dynptr) return fail(-E2BIG);  // 3.2.5, 3.2.6
    if (Memory::breaks(Rule::user_busy_discard) && busy) return go(Phase::release);
    if (discarded) return go(Phase::skip);             // 3.2.7
    return go(busy ? Phase::release : Phase::sample);  // 3.2.8, 3.2.9
  }

  StepResult skip() {
    // 3.2.7: release, pairs with the user's acquire of consumer_pos.
    Memory::store_release(ring_->consumer_pos, consumer_ + span_);
    ++dropped_;
    return next();
  }

  StepResult consume() {
    // 3.1.3c: release, pairs with the user's acquire of consumer_pos: what the callback read is read before the space
    // is given back.
    if (!(stopped_ && Memory::breaks(Rule::user_stop_consumes))) {
      Memory::store_release(ring_->consumer_pos, consumer_ + span_);
    }
    return next();
  }

  StepResult next() {
    ++samples_;
    return go(stopped_ || samples_ == most_drained_samples ? Phase::release : Phase::producer);
  }

  // 3.1.3b: an error hides the samples before it.
  StepResult fail(int code) {
    error_ = code;
    return go(Phase::release);
  }

  StepResult release() {
    const std::uint32_t counted = samples_ - (Memory::breaks(Rule::user_skipped_counts) ? 0 : dropped_);
    const bool hides = !(Memory::breaks(Rule::user_error_hides_count) && counted > 0);
    result_ = error_ != 0 && hides ? error_ : std::int64_t{counted};  // 3.1.4
    const std::uint32_t waking = Memory::breaks(Rule::user_skipped_wakes) ? samples_ - dropped_ : samples_;
    wants_wakeup_ = forces() || (waking > 0 && (flags_ & ring::flag_no_wakeup) == 0);  // 3.1.5
    // Release, pairs with the full exchange of the next drain.
    Memory::store_release(&ring_->busy, std::uint32_t{0});
    phase_ = Phase::done;
    return StepResult::done;
  }

  // Before the ring is ours: nothing to give back, nobody to wake.
  StepResult refuse(int code) {
    result_ = code;
    phase_ = Phase::done;
    return StepResult::done;
  }

  StepResult go(Phase phase) {
    phase_ = phase;
    return StepResult::more;
  }

  static constexpr std::uint32_t largest_dynptr = 0xffffff;

  UserRingbufState* ring_;
  std::uint64_t flags_;
  std::uint64_t producer_ = 0;
  std::uint64_t consumer_ = 0;
  std::int64_t result_ = 0;
  std::uint32_t header_ = 0;
  std::uint32_t span_ = 0;
  std::uint32_t samples_ = 0;
  std::uint32_t dropped_ = 0;
  int error_ = 0;
  bool stopped_ = false;
  bool wants_wakeup_ = false;
  Phase phase_ = Phase::flags;
};

}  // namespace ringside::sim
