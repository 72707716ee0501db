// SPDX-License-Identifier: Apache-2.0
//
// A BPF ring buffer as its consumer sees it: every access of shared memory that a strategy makes is in this file, with
// the reason of its ordering; a mutant that gets one wrong names another. The numbers P1 to P12 are the producer's
// operations and C1 to C5 the consumer's, as in KERNEL-RINGS 5.1; O1 and O2 are the consumer's two looks at
// overwrite_pos (KERNEL-RINGS 1.11).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "consumers/drain.h"
#include "consumers/wait.h"
#include "ring/consumer.h"
#include "ring/layout.h"

namespace ringside::consumers {

/// The mapped pages of one ring. Cheap to copy; owns nothing. One thread at a time, as the contract has it.
class RingbufView {
 public:
  RingbufView() = default;
  explicit RingbufView(const ringside_ring& ring)
      : consumer_pos_(reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(ring.consumer_page) +
                                                       ring::ringbuf::consumer_pos_offset)),
        producer_pos_(reinterpret_cast<const std::uint64_t*>(static_cast<const std::byte*>(ring.producer_page) +
                                                             ring::ringbuf::producer_pos_offset)),
        overwrite_pos_(reinterpret_cast<const std::uint64_t*>(static_cast<const std::byte*>(ring.producer_page) +
                                                              ring::ringbuf::overwrite_pos_offset)),
        data_(static_cast<const std::byte*>(ring.data)),
        size_(ring.data_size) {}

  /// The position that the last consumer left. Relaxed: nobody but the consumer writes it, and it is us.
  std::uint64_t load_consumer_pos() const { return __atomic_load_n(consumer_pos_, __ATOMIC_RELAXED); }

  /// Bytes that lie between the two positions, for any thread. Acquire on the first, pairs with C4: what the consumer
  /// had seen of producer_pos when it stored its own is the least that the second load, relaxed, may see. So the
  /// difference is never negative; the producer may have gone on since, by more than a ring.
  std::uint64_t unread() const {
    const std::uint64_t consumed = __atomic_load_n(consumer_pos_, __ATOMIC_ACQUIRE);
    const std::uint64_t produced = __atomic_load_n(producer_pos_, __ATOMIC_RELAXED);
    return produced - consumed < size_ ? produced - consumed : size_;
  }

  /// (C1) Acquire, pairs with the release P7: every header below the position is this lap's, BUSY or not, and never the
  /// stale one of a lap before.
  template <int order = __ATOMIC_ACQUIRE>
  std::uint64_t load_producer_pos() const {
    return __atomic_load_n(producer_pos_, order);
  }

  /// (C2) Acquire, pairs with the full exchange P10: whoever sees BUSY cleared sees the whole payload. `position` must
  /// be a multiple of 8, so that a header never crosses the end of the data.
  template <int order = __ATOMIC_ACQUIRE>
  std::uint32_t load_header(std::uint64_t position) const {
    return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(data_ + offset_of(position)), order);
  }

  /// Where a header lies or may come to lie.
  const std::byte* header_at(std::uint64_t position) const { return data_ + offset_of(position); }

  /// (C3) The payload behind a header: plain bytes, ordered by C2 before and C4 after. Contiguous through the second
  /// mapping.
  const std::byte* payload_at(std::uint64_t position) const {
    return data_ + offset_of(position) + ring::ringbuf::header_bytes;
  }

  /// (C4) Release, pairs with the acquire P1: a producer that finds the space free stores into it only after our reads
  /// of it (C3) are done.
  template <int order = __ATOMIC_RELEASE>
  void store_consumer_pos(std::uint64_t position) {
    __atomic_store_n(consumer_pos_, position, order);
  }

  /// (C5) Full fence between C4 and the last C1 and C2 before sleeping, pairs with P10 and P11: either the producer
  /// sees our position and wakes us, or we see its record. Release and acquire alone lose the wake-up, on x86 too.
  static void fence_before_last_look() { std::atomic_thread_fence(std::memory_order_seq_cst); }

  /// (O1) Relaxed, after C1: the kernel stores overwrite_pos before it publishes producer_pos (P7), so whoever has seen
  /// the one sees the other. It is a place to begin at, no more: what is read there counts only after O2.
  std::uint64_t load_overwrite_pos() const { return __atomic_load_n(overwrite_pos_, __ATOMIC_RELAXED); }

  /// (O2) The second look, behind everything that was read of a record. The acquire fence keeps those reads before the
  /// load: if one of them met a byte of a newer record, the load meets the overwrite_pos that was stored before that
  /// byte. It pairs with the order of the kernel's stores: overwrite_pos and the header (P6), then P7, then the payload
  /// (P9). P7 is a release, which holds no later store back: stores stay in order on x86 by themselves, and nothing
  /// that the kernel promises keeps them so on machines of weaker order.
  std::uint64_t look_again_at_overwrite_pos() const {
    std::atomic_thread_fence(std::memory_order_acquire);
    return __atomic_load_n(overwrite_pos_, __ATOMIC_RELAXED);
  }

  /// (C3) of an overwrite ring: `bytes` of a payload from `offset` on, both multiples of 8, as relaxed loads of whole
  /// words, because a producer may store there meanwhile; ordered by C2 before and O2 after. Read up to the record's
  /// padding, which is part of its span.
  void copy_words(std::uint64_t position, std::uint64_t offset, std::uint64_t bytes, std::uint64_t* to) const {
    const auto* from = reinterpret_cast<const std::uint64_t*>(payload_at(position) + offset);
    for (std::uint64_t word = 0; word < bytes / 8; ++word) to[word] = __atomic_load_n(from + word, __ATOMIC_RELAXED);
  }

  std::uint64_t size() const { return size_; }
  std::uint64_t offset_of(std::uint64_t position) const { return position & (size_ - 1); }

 private:
  std::uint64_t* consumer_pos_ = nullptr;
  const std::uint64_t* producer_pos_ = nullptr;
  const std::uint64_t* overwrite_pos_ = nullptr;
  const std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

/// The steps that a BPF ring reader may get wrong, each done right. A mutant derives from this and redefines exactly
/// one of them.
struct RingbufSteps {
  static constexpr bool looks_before_sleep = true;
  static constexpr bool looks_at_timeout = true;
  /// Wake-ups for nothing that one wait sleeps through.
  static constexpr int most_wakeups = most_fruitless_wakeups;
  /// Publish at each record and after each pass; else only when about to sleep.
  static constexpr bool publishes_in_drain = true;
  /// Views: their space stays reserved until they are released.
  static constexpr bool keeps_views_reserved = true;
  static constexpr int producer_pos_order = __ATOMIC_ACQUIRE;  // (C1)
  static constexpr int header_order = __ATOMIC_ACQUIRE;        // (C2)
  static constexpr int consumer_pos_order = __ATOMIC_RELEASE;  // (C4)
  static constexpr bool fences_before_look = true;             // (C5)
  /// Readers with views: sleep though views are out that keep the published position back.
  static constexpr bool sleeps_uncommitted = false;
  /// Leases: what is left is committed when a lease ends.
  static constexpr bool commits_at_the_end = true;
  /// Tokens: up to where to publish when the oldest view out is at `oldest` and the record at `committed` was
  /// committed.
  static constexpr std::uint64_t frontier(std::uint64_t oldest, std::uint64_t /*committed*/) { return oldest; }

  /// Loads producer_pos at each refresh; else only where what was known of it is used up.
  static constexpr bool loads_each_time = true;
  /// Hands back, at the end of a pass and before it sleeps, what was passed over since the last record.
  static constexpr bool publishes_passed = true;
  /// What a reader that begins there takes for producer_pos before it has looked.
  static constexpr std::uint64_t first_limit(std::uint64_t position) { return position; }
  /// Where a reader begins in a ring whose last consumer left that position.
  static constexpr std::uint64_t begins_at(std::uint64_t consumer_pos) { return consumer_pos; }
  /// What a reader keeps of a position.
  static constexpr std::uint64_t kept(std::uint64_t position) { return position; }
  /// Up to where a reader at `position` may read when producer_pos is `produced`.
  static constexpr std::uint64_t limit(std::uint64_t produced, std::uint64_t /*position*/, std::uint64_t /*size*/) {
    return produced;
  }
  /// The length that is told of a record.
  static constexpr std::uint64_t payload_bytes(std::uint32_t header) { return ring::ringbuf::length_of(header); }

  static constexpr bool stops_at(std::uint32_t header) { return ring::ringbuf::is_busy(header); }
  static constexpr bool passes_over(std::uint32_t header) { return ring::ringbuf::is_discarded(header); }
  static constexpr std::uint64_t span_of(std::uint32_t header) { return ring::ringbuf::span_of(header); }
  /// Whether a record ends where the snapshot does, or before.
  static constexpr bool ends_below(std::uint64_t span, std::uint64_t left) { return span <= left; }
  /// How many of a record's bytes to copy from offset `offset` of a ring of `ring_size` bytes, mapped twice.
  static constexpr std::uint64_t contiguous(std::uint64_t size, std::uint64_t /*offset*/, std::uint64_t /*ring_size*/) {
    return size;
  }
};

/// Walks one ring from record to record against a snapshot of producer_pos. Its own position may run ahead of the
/// published one. The walk itself is what KERNEL-RINGS 1.8 asks, with every length held against the snapshot.
template <class Steps>
class RingbufReader {
 public:
  /// Begins where the last consumer stopped, which need not be 0. False if no consumer can have left that position.
  bool start(const ringside_ring& ring) {
    view_ = RingbufView(ring);
    position_ = published_ = Steps::begins_at(view_.load_consumer_pos());
    limit_ = Steps::first_limit(position_);
    return position_ % 8 == 0 && refresh();
  }

  /// Takes a new snapshot of producer_pos. False, and broken from here on, if it lies behind our position or more than
  /// a ring ahead of it: somebody else moved consumer_pos, and no record can be told from garbage.
  bool refresh() {
    if (!Steps::loads_each_time && position_ != limit_) return true;
    const std::uint64_t produced = view_.template load_producer_pos<Steps::producer_pos_order>();  // (C1)
    limit_ = Steps::limit(produced, position_, view_.size());
    sound_ = limit_ - position_ <= view_.size();
    return sound_;
  }

  /// Goes to the next committed record below the snapshot, passing over discarded ones.
  Found find() {
    if (!sound_) return Found::broken;
    while (position_ != limit_) {
      const std::uint32_t header = view_.template load_header<Steps::header_order>(position_);  // (C2)
      if (Steps::stops_at(header)) return Found::busy;
      const std::uint64_t span = Steps::span_of(header);
      if (!Steps::ends_below(span, limit_ - position_)) return Found::broken;
      if (!Steps::passes_over(header)) {
        payload_bytes_ = Steps::payload_bytes(header);
        span_ = span;
        return Found::record;
      }
      position_ += span;
    }
    return Found::end;
  }

  /// The record that find() stopped at.
  const std::byte* payload() const { return view_.payload_at(position_); }
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  std::uint64_t payload_offset() const { return view_.offset_of(position_ + ring::ringbuf::header_bytes); }
  std::uint64_t ring_bytes() const { return view_.size(); }
  std::uint64_t position() const { return position_; }
  /// As RingbufView's.
  std::uint64_t unread_bytes() const { return view_.unread(); }
  /// Up to where records are looked for.
  std::uint64_t snapshot() const { return limit_; }
  /// Bytes from the record's end to the snapshot that it was found under.
  std::uint64_t behind_record() const { return limit_ - position_ - span_; }
  /// Bytes that were read or passed over and are not handed back.
  std::uint64_t unpublished_bytes() const { return position_ - published_; }
  /// Asks for the header that lies so many records ahead if all are as long as this one.
  void prefetch(std::uint64_t records) const { __builtin_prefetch(view_.header_at(position_ + records * span_)); }

  /// Steps behind the record that find() stopped at.
  void advance() { position_ = Steps::kept(position_ + span_); }

  /// Hands all space below our own position back.
  void publish() { publish_to(position_); }
  /// Hands the space below `position` back; nothing is stored when it is handed back already.
  void publish_to(std::uint64_t position) {
    if (position == published_) return;
    view_.template store_consumer_pos<Steps::consumer_pos_order>(position);  // (C4)
    published_ = position;
  }

  /// The last look before sleeping (KERNEL-RINGS 4.4): true if drain would find something. False only when, after our
  /// position was published and a full fence, the ring was empty or BUSY at that position: then the commit of that
  /// record wakes us. `hand_back` publishes what was passed over. Two rounds at most: whoever discards without end
  /// gets a spurious true instead of an endless look.
  template <class HandBack>
  bool look(HandBack&& hand_back) {
    for (int round = 0; round < 2; ++round) {
      if constexpr (Steps::fences_before_look) RingbufView::fence_before_last_look();  // (C5)
      if (!refresh()) return true;                                                     // drain tells the error
      const std::uint64_t before = position_;
      const Found found = find();
      if constexpr (Steps::publishes_passed) hand_back();
      if (found == Found::record || found == Found::broken) return true;
      if (position_ == before) return false;
    }
    return true;
  }

 private:
  RingbufView view_;
  std::uint64_t position_ = 0;   // the next record to read
  std::uint64_t published_ = 0;  // what consumer_pos says
  std::uint64_t limit_ = 0;      // the snapshot of producer_pos
  bool sound_ = true;            // the snapshot can be true
  std::uint64_t span_ = 0;       // of the record at position_
  std::uint64_t payload_bytes_ = 0;
};

/// One pass over a ring: hands each record to `hand_over(reader)`, which steps behind it, publishes as its strategy
/// has it, and returns what deliver returned (or a negative errno, with the record not consumed). A length that does
/// not fit is -EBADMSG once the records before it are delivered.
template <class Steps, class HandOver>
Drained drain_ringbuf(RingbufReader<Steps>& reader, std::uint64_t max_records, HandOver&& hand_over) {
  Drained drained;
  if (!reader.refresh()) return {.error = -EBADMSG};
  while (drained.delivered < max_records) {
    const Found found = reader.find();
    if (found != Found::record) {
      if (found == Found::broken) drained.error = -EBADMSG;
      break;
    }
    const int answer = hand_over(reader);
    if (answer < 0) {
      drained.error = answer;
      break;
    }
    ++drained.delivered;
    if (answer > 0) {
      drained.stopped = true;
      break;
    }
  }
  return drained;
}

}  // namespace ringside::consumers
