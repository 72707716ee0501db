// SPDX-License-Identifier: Apache-2.0
//
// A perf event ring as its consumer sees it: every access of shared memory that a strategy makes is in this file, with
// the reason of its ordering. The kernel's side has A (data_tail before the stores of data) and B (data before
// data_head), the consumer's side C and D, as in KERNEL-RINGS 5.2. No further fence is needed before sleeping: the
// kernel's wake-up never looks at data_tail, and its poll flag waits for whoever polls next (KERNEL-RINGS 2.9, 4.1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "consumers/drain.h"
#include "consumers/perf_record.h"
#include "consumers/wait.h"
#include "ring/consumer.h"
#include "ring/layout.h"

namespace ringside::consumers {

/// The mapped pages of one ring. Cheap to copy; owns nothing. One thread at a time, as the contract has it.
class PerfView {
 public:
  PerfView() = default;
  explicit PerfView(const ringside_ring& ring)
      : head_(reinterpret_cast<const std::uint64_t*>(static_cast<const std::byte*>(ring.consumer_page) +
                                                     ring::perf::data_head_offset)),
        tail_(reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(ring.consumer_page) +
                                               ring::perf::data_tail_offset)),
        data_(static_cast<const std::byte*>(ring.data)),
        size_(ring.data_size) {}

  /// (C) Acquire, pairs with the write barrier B before the kernel's store: all records below the head are whole.
  template <int order = __ATOMIC_ACQUIRE>
  std::uint64_t load_head() const {
    return __atomic_load_n(head_, order);
  }

  /// The tail that the last consumer left. Relaxed: nobody but the consumer writes it, and it is us.
  std::uint64_t load_tail() const { return __atomic_load_n(tail_, __ATOMIC_RELAXED); }

  /// (D) Release, pairs with the control dependency A from the kernel's load to its stores: the kernel writes into the
  /// space only after our reads of it are done.
  template <int order = __ATOMIC_RELEASE>
  void store_tail(std::uint64_t tail) {
    __atomic_store_n(tail_, tail, order);
  }

  /// A header, or another field of T's size; `position` must be a multiple of 8, so that the ring's end splits none.
  /// Plain: ordered by C before and D after.
  template <class T>
  T load(std::uint64_t position) const {
    static_assert(sizeof(T) <= 8);
    T value;
    std::memcpy(&value, data_ + offset_of(position), sizeof(T));
    return value;
  }

  /// True if those bytes lie before the ring's end, which is mapped once.
  bool contiguous(std::uint64_t position, std::uint64_t size) const { return offset_of(position) + size <= size_; }
  const std::byte* bytes_at(std::uint64_t position) const { return data_ + offset_of(position); }

  /// Copies bytes that may run over the ring's end, however often.
  void copy_out(std::byte* to, std::uint64_t position, std::uint64_t size) const {
    while (size > 0) {
      const std::uint64_t part = std::min(size, size_ - offset_of(position));
      std::memcpy(to, bytes_at(position), part);
      to += part;
      position += part;
      size -= part;
    }
  }

  std::uint64_t size() const { return size_; }

 private:
  std::uint64_t offset_of(std::uint64_t position) const { return position & (size_ - 1); }

  const std::uint64_t* head_ = nullptr;
  std::uint64_t* tail_ = nullptr;
  const std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

/// Bytes of a sample before its raw payload: header and the u32 raw_size, and between them its time if it carries one
/// (KERNEL-RINGS 2.8).
inline constexpr std::uint64_t sample_prefix_bytes = ring::perf::header_bytes + 4;
inline constexpr std::uint64_t sample_time_bytes = 8;
constexpr bool carries_time(const ringside_ring_set& rings) {
  return (rings.sample_type & ring::perf::sample_type_time) != 0;
}
/// More than the raw payload of any record can have: header.size is 16 bits.
inline constexpr std::uint64_t sample_buffer_bytes = 65536;

/// The steps that a perf ring reader may get wrong, each done right. A mutant derives from this and redefines exactly
/// one of them.
struct PerfSteps {
  static constexpr bool looks_before_sleep = true;
  static constexpr bool looks_at_timeout = true;
  static constexpr int most_wakeups = most_fruitless_wakeups;  ///< for nothing, within one wait
  static constexpr bool remembers_the_rest = true;             ///< of a ring that it did not read to its end
  static constexpr bool reads_all_at_the_end = true;           ///< and not what is due alone
  static constexpr bool numbers_rings_by_cpu = false;  ///< takes a CPU's number for its ring's place in the list
  static constexpr int head_order = __ATOMIC_ACQUIRE;  // (C)
  static constexpr int tail_order = __ATOMIC_RELEASE;  // (D)

  static constexpr bool rereads_head = false;     // at each end of a snapshot
  static constexpr bool reads_every_head = true;  // or that of the ring whose turn it is, alone
  static constexpr bool begins_batch_before_heads = true;
  static constexpr std::uint32_t batch_claim = RINGSIDE_BATCH_BEFORE;

  /// How many records one drain delivers of the most that it may.
  static constexpr std::uint64_t most(std::uint64_t max_records) { return max_records; }
  /// Whether a session lets time pass between its two looks.
  static constexpr bool holds_back = true;
  /// What a session takes for older, and how long it sleeps when so much time is left (< 0: no deadline).
  static constexpr bool is_older(std::uint64_t time_ns, std::uint64_t than_ns) { return time_ns < than_ns; }
  /// The time that a session tells of a sample when that of the last one was `last_ns`.
  static constexpr std::uint64_t told(std::uint64_t time_ns, std::uint64_t /*last_ns*/) { return time_ns; }
  static constexpr std::int64_t sleep_ns(std::int64_t wanted_ns, std::int64_t left_ns) {
    return left_ns < 0 ? wanted_ns : std::min(wanted_ns, left_ns);
  }

  /// How many lost records to report for one PERF_RECORD_LOST that accounts for `count`; 0 reports nothing.
  static constexpr std::uint64_t report(std::uint64_t count) { return count; }
  /// Whether a loss is told as one, and not as a sample of no bytes.
  static constexpr bool tells_loss_apart = true;
  /// Whether a report of nothing is made, too.
  static constexpr bool reports_nothing = false;
  /// What is delivered of a raw payload of so many bytes.
  static constexpr std::uint64_t delivered_of(std::uint64_t raw_bytes) { return raw_bytes; }
  /// Whether a sample can be shown where it lies, given whether it lies in one piece.
  static constexpr bool in_place(bool contiguous) { return contiguous; }
  /// Whether space is handed back, given how much of the ring there is to be.
  static constexpr bool hands_back(std::uint64_t /*bytes*/, std::uint64_t /*ring_bytes*/) { return true; }
  static constexpr bool keeps_shown = true;  ///< space of what it shows, until that is over
  static constexpr bool heeds_stop = true;   ///< that its callback says
  static constexpr bool knows_time = true;   ///< that samples may carry their time
  /// Whether `bytes` of a sample, counted from its start, lie within its `record_bytes`.
  static constexpr bool fits(std::uint64_t bytes, std::uint64_t record_bytes) { return bytes <= record_bytes; }
};

/// Walks one ring from record to record against a snapshot of data_head. Its own position may run ahead of the
/// published tail. Samples are found, PERF_RECORD_LOST is reported, every other type is passed over.
///
/// Two kinds of lies are told apart. A header.size that cannot be true leaves nothing to be found behind it: `broken`.
/// A raw_size that its record has no room for is what the kernel itself leaves of an output of more than 65516 bytes
/// (KERNEL-RINGS 2.8): the record is passed over, for its payload lies outside the reservation and may be gone.
template <class Steps>
class PerfReader {
 public:
  /// Begins where the last consumer stopped, which need not be 0. False if no consumer can have left that position.
  bool start(const ringside_ring& ring, const ringside_ring_set& set) {
    view_ = PerfView(ring);
    time_bytes_ = Steps::knows_time && carries_time(set) ? sample_time_bytes : 0;
    position_ = published_ = limit_ = view_.load_tail();
    return position_ % 8 == 0 && refresh();
  }

  /// Takes a new snapshot of data_head. A head behind our position is an old kernel's step backwards and reads as
  /// nothing new. False, and nothing to find, if the head is more than a ring ahead.
  bool refresh() {
    const std::uint64_t head = view_.template load_head<Steps::head_order>();  // (C)
    const auto ahead = static_cast<std::int64_t>(head - position_);
    const bool sound = ahead <= static_cast<std::int64_t>(view_.size());
    const std::uint64_t limit = !sound || ahead < 0 ? position_ : head;
    if (sound != sound_) sound_ = sound;  // a look in vain changes nothing
    if (limit != limit_) limit_ = limit;
    return sound;
  }

  /// True if something lies below the head, if only an error.
  bool look() { return !refresh() || position_ != limit_; }

  /// Goes to the next sample below the snapshot. `on_lost(count)` is called for each PERF_RECORD_LOST on the way.
  template <class OnLost>
  Found find(OnLost&& on_lost) {
    while (true) {
      const Found found = find_either();
      if (found != Found::record || !is_loss()) return found;
      on_lost(lost_);
      advance();
    }
  }

  /// Goes to the next sample or PERF_RECORD_LOST below the snapshot; is_loss() says which it is. One that accounts for
  /// nothing is none.
  Found find_either() {
    while (position_ != limit_) {
      const auto header = view_.template load<ring::perf::RecordHeader>(position_);
      if (header.size < ring::perf::header_bytes || header.size % 8 != 0 || header.size > limit_ - position_)
        return Found::broken;
      record_bytes_ = header.size;
      is_loss_ = header.type == ring::perf::type_lost;
      if (is_loss_) {
        if (header.size < ring::perf::lost_bytes) return Found::broken;
        lost_ = Steps::report(view_.template load<std::uint64_t>(position_ + 16));
        if (lost_ != 0 || Steps::reports_nothing) return Found::record;
      } else if (header.type == ring::perf::type_sample && find_raw()) {
        return Found::record;
      }
      position_ += header.size;
    }
    return Found::end;
  }
  /// The same for RingsInTurn, to which a head that cannot be is a record that cannot be.
  Found find() { return sound_ ? find_either() : Found::broken; }

  /// Of what find_either() stopped at: whether it is a PERF_RECORD_LOST, and what that accounts for.
  bool is_loss() const { return is_loss_; }
  std::uint64_t lost() const { return lost_; }
  /// Bytes from our position to the snapshot.
  std::uint64_t unread() const { return limit_ - position_; }
  /// Bytes from the record's end to the snapshot that it was found under.
  std::uint64_t behind_record() const { return limit_ - position_ - record_bytes_; }
  /// True where the snapshot has nothing left.
  bool at_snapshot() const { return position_ == limit_; }

  /// When the sample that find() stopped at was taken; 0 if it does not carry that.
  std::uint64_t time_ns() const {
    return time_bytes_ == 0 ? 0 : view_.template load<std::uint64_t>(position_ + ring::perf::header_bytes);
  }
  /// The raw payload of the sample that find() stopped at, padding included.
  std::uint64_t raw_bytes() const { return raw_bytes_; }
  /// Its place in the ring, or null if it runs over the ring's end.
  const std::byte* raw_in_place() const {
    const std::uint64_t raw = position_ + prefix_bytes();
    return Steps::in_place(view_.contiguous(raw, raw_bytes_)) ? view_.bytes_at(raw) : nullptr;
  }
  /// Copies it to `to`, at most `capacity` bytes; returns how many.
  std::uint64_t copy_raw(std::byte* to, std::uint64_t capacity) const {
    const std::uint64_t size = std::min(raw_bytes_, capacity);
    view_.copy_out(to, position_ + prefix_bytes(), size);
    return size;
  }

  /// The sample, where it lies or, if it runs over the ring's end, in `buffer`, which has room for sample_buffer_bytes.
  PerfSample sample(std::byte* buffer) const {
    if (const std::byte* raw = raw_in_place()) return {.data = raw, .size = raw_bytes_};
    return {.data = buffer, .size = copy_raw(buffer, sample_buffer_bytes)};
  }

  /// Steps behind the record that find() stopped at.
  void advance() { position_ += record_bytes_; }

  /// Hands all space below our own position back; nothing is stored when it is handed back already.
  void publish() {
    if (position_ == published_ || !Steps::hands_back(position_ - published_, view_.size())) return;
    view_.template store_tail<Steps::tail_order>(position_);  // (D)
    published_ = position_;
  }

 private:
  /// Reads the raw_size of the sample at our position. False if the sample has no room for it or for what it says.
  bool find_raw() {
    if (!Steps::fits(prefix_bytes(), record_bytes_)) return false;
    raw_bytes_ = view_.template load<std::uint32_t>(position_ + ring::perf::header_bytes + time_bytes_);
    if (!Steps::fits(prefix_bytes() + raw_bytes_, record_bytes_)) return false;
    raw_bytes_ = Steps::delivered_of(raw_bytes_);
    return true;
  }
  std::uint64_t prefix_bytes() const { return sample_prefix_bytes + time_bytes_; }

  PerfView view_;
  std::uint64_t time_bytes_ = 0;  // of each sample, before its raw_size
  std::uint64_t position_ = 0;    // the next record to read
  std::uint64_t published_ = 0;   // what data_tail says
  std::uint64_t limit_ = 0;       // the snapshot of data_head
  bool sound_ = true;             // the snapshot can be true
  std::uint64_t record_bytes_ = 0;
  std::uint64_t raw_bytes_ = 0;
  bool is_loss_ = false;
  std::uint64_t lost_ = 0;
};

}  // namespace ringside::consumers
