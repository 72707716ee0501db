// SPDX-License-Identifier: Apache-2.0
//
// Strategy `overwrite_snapshot`: reads a ring that gives up its oldest records when it is full (BPF_F_RB_OVERWRITE,
// KERNEL-RINGS 1.11), and any other BPF ring as well. Such a ring does not wait for its consumer, so nothing of it can
// be read where it lies: each record is copied, and the copy counts only if a second look at overwrite_pos says that
// the record was still there when the copy was done. What was overwritten is left to the ring's account; the reading
// goes on from the new overwrite_pos.
//
// Sleeping: a commit wakes only whoever has published the position of that record. A reader that has fallen behind is
// woken by accident, if at all, so this one does not go to sleep behind: it has caught up, published and looked once
// more. That is not enough. Between its stores of overwrite_pos and producer_pos a reservation may leave nothing to be
// read by poll's arithmetic, and an epoll_wait that was woken in time and polls just then sleeps on; meanwhile the ring
// laps the sleeper. So no sleep is longer than a slice, with a look at the end of each.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "consumers/consumer_table.h"
#include "consumers/ringbuf_view.h"
#include "consumers/wait.h"

namespace ringside::consumers {

/// The steps that a reader of overwrite rings may get wrong, each done right.
struct OverwriteSteps {
  static constexpr bool looks_before_sleep = true;
  static constexpr bool looks_at_timeout = true;
  /// Looks at overwrite_pos once more when a record was copied (O2).
  static constexpr bool looks_again = true;
  /// Whether there is an overwrite_pos at all. A reader that knows none has nothing but lengths to tell it that it was
  /// lapped, and starts over at producer_pos when one makes no sense.
  static constexpr bool knows_overwrite_pos = true;
};

/// Walks one ring as RingbufReader does, from the later of its own position and overwrite_pos. Whatever it has read of
/// a record it believes only after a second look.
template <class Steps>
class OverwriteReader {
 public:
  /// Begins where the last consumer stopped, or where the ring has overwritten up to. False if no consumer can have
  /// left that position.
  bool start(const ringside_ring& ring) {
    view_ = RingbufView(ring);
    position_ = published_ = limit_ = view_.load_consumer_pos();
    return position_ % 8 == 0 && refresh();
  }

  /// Takes a new snapshot of producer_pos. False if it does not fit to our position: somebody else moved consumer_pos.
  bool refresh() {
    take_snapshot();
    if (limit_ - position_ <= view_.size()) return true;
    return starts_over();
  }

  /// Goes to the next committed record below the snapshot, passing over discarded ones. `end` also for a ring that is
  /// overwritten faster than a header can be read.
  Found find() {
    for (int overruns = 0; position_ != limit_ && overruns < most_overruns;) {
      const std::uint32_t header = view_.load_header(position_);  // (C2)
      if (was_overrun()) {
        ++overruns;
        continue;
      }
      if (ring::ringbuf::is_busy(header)) return Found::busy;
      const std::uint64_t span = ring::ringbuf::span_of(header);
      if (span > limit_ - position_) return starts_over() ? Found::end : Found::broken;
      if (!ring::ringbuf::is_discarded(header)) {
        payload_bytes_ = ring::ringbuf::length_of(header);
        span_ = span;
        return Found::record;
      }
      position_ += span;
    }
    return Found::end;
  }

  std::uint64_t payload_bytes() const { return payload_bytes_; }

  /// Copies the payload of the record that find() stopped at, piece by piece, `between` running before each. `to` holds
  /// payload_bytes() rounded up to 8. False when the record was overwritten meanwhile: the copy is worth nothing, and
  /// the position is that of the next record.
  template <class Between>
  bool copy(std::uint64_t* to, Between&& between) {
    const std::uint64_t bytes = ring::round_up_8(payload_bytes_);
    const std::uint64_t piece = std::max<std::uint64_t>(64, ring::round_up_8(bytes / most_pieces));
    std::uint64_t done = 0;
    do {
      between();
      const std::uint64_t now = std::min(piece, bytes - done);
      view_.copy_words(position_, done, now, to + done / 8);  // (C3)
      done += now;
    } while (done < bytes);
    between();
    if (Steps::looks_again && was_overrun()) return false;
    position_ += span_;
    return true;
  }

  /// Hands all space below our position back, and tells the next consumer and the kernel's wake-up test where we are.
  void publish() {
    if (position_ == published_) return;
    view_.store_consumer_pos(position_);  // (C4)
    published_ = position_;
  }

  /// The last look before sleeping (KERNEL-RINGS 4.4): true if drain would find something. False only when the ring was
  /// empty or BUSY at a position that was published before a full fence: then the commit there wakes us. Three rounds
  /// at most: whoever is overtaken in each gets a spurious true.
  bool look() {
    for (int round = 0; round < 3; ++round) {
      publish();
      RingbufView::fence_before_last_look();  // (C5)
      if (!refresh()) return true;            // drain tells the error
      const Found found = find();
      if (found == Found::record || found == Found::broken) return true;
      if (position_ == published_) return false;
    }
    return true;
  }

 private:
  // Records that are overwritten under our eyes, one after the other, before we turn to something else.
  static constexpr int most_overruns = 64;
  static constexpr std::uint64_t most_pieces = 4;

  /// A pair of positions that belong together: overwrite_pos is read behind producer_pos, so it is never too old for
  /// it, and one that is ahead of it says that producer_pos has moved on.
  void take_snapshot() {
    std::uint64_t overwrite_pos = 0;
    for (int looks = 0; looks < most_overruns; ++looks) {
      limit_ = view_.load_producer_pos();          // (C1)
      overwrite_pos = view_.load_overwrite_pos();  // (O1)
      pass_to(overwrite_pos);
      if (!overwrites_ || !is_ahead(position_, limit_)) return;
    }
    // Overtaken at each look. What else puts us ahead of producer_pos is no doing of the ring's.
    if (position_ == overwrite_pos) limit_ = position_;
  }

  static bool is_ahead(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b) > 0; }

  /// Moves our position to `overwrite_pos` when the ring has overwritten what lay there; returns whether it had. In a
  /// ring that overwrites nothing the word is 0 for ever, which says nothing of a position near 2^64: it counts from
  /// the first value on that is not 0.
  bool pass_to(std::uint64_t overwrite_pos) {
    if (!Steps::knows_overwrite_pos) return false;
    overwrites_ |= overwrite_pos != 0;
    if (!overwrites_ || !is_ahead(overwrite_pos, position_)) return false;
    position_ = overwrite_pos;
    return true;
  }

  /// The second look: true when what we have read is not to be believed, and our position has moved on.
  bool was_overrun() {
    if (!pass_to(view_.look_again_at_overwrite_pos())) return false;  // (O2)
    if (is_ahead(position_, limit_)) take_snapshot();
    return true;
  }

  bool starts_over() {
    if (Steps::knows_overwrite_pos) return false;
    position_ = limit_;
    return true;
  }

  RingbufView view_;
  std::uint64_t position_ = 0;   // the next record to read
  std::uint64_t published_ = 0;  // what consumer_pos says
  std::uint64_t limit_ = 0;      // the snapshot of producer_pos
  std::uint64_t span_ = 0;       // of the record at position_
  std::uint64_t payload_bytes_ = 0;
  bool overwrites_ = false;  // the ring is known to overwrite
};

template <class Steps>
class OverwriteSnapshot {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_RINGBUF;
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<OverwriteSnapshot>::make({.name = name,
                                             .summary = summary,
                                             .ring_kind = ring_kind,
                                             .claims = RINGSIDE_CLAIM_SLEEPS_ON_BUSY | RINGSIDE_CLAIM_READS_OVERWRITE});
  }

  OverwriteSnapshot(const ringside_ring_set& rings, const ringside_host& host) : rings_(rings), host_(host) {}

  int start() {
    if (rings_.ring_count == 0) return -EINVAL;
    readers_ = allocate<OverwriteReader<Steps>>(rings_.ring_count);
    if (readers_ == nullptr || !grow(4096)) return -ENOMEM;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      if (!readers_[ring].start(rings_.rings[ring])) return -EBADMSG;
    }
    return 0;
  }

  std::int64_t drain(std::uint64_t max_records) {
    return drain_in_turn(rings_.ring_count, next_ring_, max_records, [this](std::uint32_t ring, std::uint64_t most) {
      const Drained drained = drain_one(ring, most);
      readers_[ring].publish();  // what was passed over behind the last record
      return drained;
    });
  }

  int wait(std::int64_t timeout_ns) {
    return wait_until<Steps>(
        Deadline(host_, timeout_ns), [this] { return look(); },
        [this](const Deadline& deadline) { return sleep(deadline); });
  }

 private:
  // Copies in a row that were overwritten, before a drain ends without more: whoever is lapped each time is told so by
  // its next look.
  static constexpr int most_lost_copies = 256;
  static constexpr std::int64_t slice_ns = 10'000'000;
  static constexpr int most_slices = 6000;

  Drained drain_one(std::uint32_t ring, std::uint64_t max_records) {
    OverwriteReader<Steps>& reader = readers_[ring];
    Drained drained;
    if (!reader.refresh()) return {.error = -EBADMSG};
    for (int lost = 0; drained.delivered < max_records && lost < most_lost_copies;) {
      const Found found = reader.find();
      if (found == Found::broken) drained.error = -EBADMSG;
      if (found != Found::record) break;
      if (reader.payload_bytes() > buffer_bytes_ && !grow(reader.payload_bytes())) {
        drained.error = -ENOMEM;
        break;
      }
      // Where another CPU does most harm: between the header, the pieces of the copy, and the second look.
      if (!reader.copy(buffer_.get(), [this] { host_.yield(host_.context); })) {
        ++lost;
        continue;
      }
      lost = 0;
      ++drained.delivered;
      const std::uint64_t size = reader.payload_bytes();
      reader.publish();  // (C4): the bytes are ours
      const ringside_record record{
          .ring = ring, .reserved = 0, .data = buffer_.get(), .size = size, .token = 0, .time_ns = 0};
      if (host_.deliver(host_.context, &record) <= 0) continue;
      drained.stopped = true;
      break;
    }
    return drained;
  }

  /// Sleeps in slices, as host->wait without them: more than 0 also when a slice has ended and something lies there.
  int sleep(const Deadline& deadline) {
    for (int slice = 0; slice < most_slices; ++slice) {
      const std::int64_t left_ns = deadline.remaining_ns();
      const bool last = left_ns >= 0 && left_ns <= slice_ns;
      ringside_ready ready[8];  // which rings they are does not matter
      const int woken = host_.wait(host_.context, ready, 8, last ? left_ns : slice_ns);
      if (woken != 0 || last) return woken;
      if (look()) return 1;
    }
    return 1;  // a minute for nothing: the host may look, too
  }

  bool look() {
    bool found = false;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) found |= readers_[ring].look();
    return found;
  }

  /// Makes the buffer hold `bytes`; on failure the old one stays.
  bool grow(std::uint64_t bytes) {
    const std::uint64_t rounded = std::bit_ceil(bytes);
    std::unique_ptr<std::uint64_t[]> larger = allocate<std::uint64_t>(rounded / 8);
    if (larger == nullptr) return false;
    buffer_ = std::move(larger);
    buffer_bytes_ = rounded;
    return true;
  }

  const ringside_ring_set& rings_;
  const ringside_host& host_;
  std::unique_ptr<OverwriteReader<Steps>[]> readers_;
  std::unique_ptr<std::uint64_t[]> buffer_;
  std::uint64_t buffer_bytes_ = 0;
  std::uint32_t next_ring_ = 0;
};

}  // namespace ringside::consumers
