// SPDX-License-Identifier: Apache-2.0
//
// Strategy `ab_swap`: batches by a protocol between programs and reader instead of by one call. There are two sides,
// each with a ring a CPU and a counter; the parity of a transfer count names the side that programs write to
// (ringside_swap has their half). A drain moves the count on, so that the side that was named stands still but for
// programs that have read the count before; drains that side until all that its counter says has come, or a look finds
// nothing; looks a few times more when it is short; and takes what has come from the counter. A drain that is cut short
// goes on with the same side when it is called again.
//
// What it does not claim: that the side is complete. A program that stands between its look at the count and its output
// writes into a side that was drained already; its record comes two flips later. And the counter counts attempts: what
// found the ring full is in it, and is told as lost only with the next record that fits.
#pragma once

#include "consumers/batch.h"
#include "consumers/perf_consumer.h"

namespace ringside::consumers {

/// What else such a reader may get wrong.
struct SwapSteps : PerfSteps {
  static constexpr int repolls = 8;                 ///< looks more at a side that is short
  static constexpr bool waits_for_count = false;    ///< looks until it is short no more
  static constexpr bool takes_from_count = true;    ///< or sets the counter to 0
  static constexpr bool claims_side = false;        ///< when all that the counter says has come
  static constexpr bool claims_when_short = false;  ///< or in any case

  /// Runs when the side was frozen.
  static void frozen() {}
};

template <class Steps>
class AbSwap : public PerfConsumer<AbSwap<Steps>, Steps> {
  using Base = PerfConsumer<AbSwap, Steps>;

 public:
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<AbSwap>::make({.name = name,
                                  .summary = summary,
                                  .ring_kind = RINGSIDE_PERF,
                                  .claims = RINGSIDE_CLAIM_REPORTS_LOSS | RINGSIDE_CLAIM_READS_SIDES});
  }

  using Base::Base;

  int start() {
    // A host that is older than batches has no swap in its set.
    if (!knows_batches(this->host()) || this->rings().swap == nullptr) return -EINVAL;
    return this->rings().ring_count % 2 == 0 ? Base::start() : -EINVAL;
  }

  std::int64_t drain(std::uint64_t max_records) {
    if (!frozen_) flip();
    stopped_ = false;
    std::uint64_t delivered = 0;
    for (int looks_left = Steps::repolls;;) {
      const std::int64_t more = drain_side(max_records - delivered);
      if (more < 0) return delivered > 0 ? static_cast<std::int64_t>(delivered) : more;
      delivered += static_cast<std::uint64_t>(more);
      if (stopped_ || delivered == max_records) break;
      const bool complete = accounted_ >= counted();
      if (complete || (!Steps::waits_for_count && looks_left-- == 0)) {
        end_side(complete);
        break;
      }
      this->host().yield(this->host().context);
    }
    return static_cast<std::int64_t>(delivered);
  }

  int hand_over(PerfReader<Steps>& reader, std::uint32_t ring) {
    const std::uint64_t size = reader.copy_raw(this->buffer(), sample_buffer_bytes);
    reader.advance();
    ++accounted_;
    const int answer = this->deliver(ring, this->buffer(), size);
    stopped_ |= answer != 0;
    return answer;
  }

  void report_lost(std::uint32_t ring, std::uint64_t count) {
    accounted_ += count;
    Base::report_lost(ring, count);
  }

 private:
  // All accesses of the swap's words are relaxed: a program reads the count, counts and puts out without an order that
  // could tell us when it has ended, so none of ours closes the window. That a record's count is seen no later than the
  // record is the doing of data_head: (C) acquires what the program did before it.

  void flip() {
    if (Steps::claims_side) begin_batch(this->host());
    std::uint64_t* const count = &this->rings().swap->transfer_count;
    const std::uint64_t now = __atomic_load_n(count, __ATOMIC_RELAXED);  // nobody but us stores it
    __atomic_store_n(count, now + 1, __ATOMIC_RELAXED);
    side_ = static_cast<std::uint32_t>(now % 2);
    frozen_ = true;
    accounted_ = 0;
    Steps::frozen();
  }

  std::uint64_t counted() const { return __atomic_load_n(&this->rings().swap->samples[side_], __ATOMIC_RELAXED); }

  /// One pass over the rings of the side, up to their heads of now.
  std::int64_t drain_side(std::uint64_t max_records) {
    const std::uint32_t rings = this->rings().ring_count / 2;
    const std::uint32_t first = side_ * rings;
    int error = 0;
    for (std::uint32_t ring = first; ring < first + rings; ++ring) {
      if (!this->reader(ring).refresh()) error = -EBADMSG;
    }
    std::uint32_t next = next_;
    const std::int64_t delivered = drain_in_turn(
        rings, next, max_records,
        [this, first](std::uint32_t ring, std::uint64_t most) { return this->drain_ring(first + ring, most); });
    if (next != next_) next_ = next;  // a look in vain changes nothing
    return delivered == 0 ? error : delivered;
  }

  void end_side(bool complete) {
    std::uint64_t* const samples = &this->rings().swap->samples[side_];
    if (Steps::takes_from_count) {
      __atomic_fetch_sub(samples, accounted_, __ATOMIC_RELAXED);
    } else {
      __atomic_store_n(samples, 0, __ATOMIC_RELAXED);
    }
    frozen_ = false;
    if (Steps::claims_side && (complete || Steps::claims_when_short)) end_batch(this->host(), RINGSIDE_BATCH_SIDE);
  }

  std::uint32_t side_ = 0;
  bool frozen_ = false;
  bool stopped_ = false;         // the host has said so in this drain
  std::uint32_t next_ = 0;       // the ring of a side whose turn it is
  std::uint64_t accounted_ = 0;  // delivered or told as lost since the side was frozen
};

}  // namespace ringside::consumers
