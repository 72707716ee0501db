// SPDX-License-Identifier: Apache-2.0
//
// Strategy `zero_copy`, peek and consume: the host gets views into the ring and keeps them as long as it likes. Our own
// position runs ahead; the published one stays at the oldest view still held, so that no producer writes under it.
// Views may be released in any order; the published position moves over the released prefix, and discarded records are
// handed back together with what follows them.
//
// A held view also holds back the kernel's wake-up, which compares the published position with the record being
// committed (KERNEL-RINGS 4.4). While views are held, wait therefore sleeps in slices and looks between them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "consumers/consumer_table.h"
#include "consumers/ringbuf_view.h"
#include "consumers/wait.h"

namespace ringside::consumers {

/// The views of one ring that the host holds, oldest first. Bounded.
class HeldViews {
 public:
  /// At most `capacity` views, a power of two. False when there is no memory.
  bool start(std::uint64_t capacity) {
    views_ = allocate<View>(capacity);
    capacity_ = capacity;
    return views_ != nullptr;
  }

  bool empty() const { return oldest_ == next_; }
  bool full() const { return next_ - oldest_ == capacity_; }
  /// Position of the oldest record still held; there must be one.
  std::uint64_t oldest_position() const { return at(oldest_).position; }

  /// Adds the record at `position` and returns its number; there must be room.
  std::uint64_t add(std::uint64_t position) {
    at(next_) = {position, false};
    return next_++;
  }

  /// Whether a view of that number is held.
  bool holds(std::uint64_t number) const { return number - oldest_ < next_ - oldest_ && !at(number).released; }
  /// Position of a record that is held.
  std::uint64_t position_of(std::uint64_t number) const { return at(number).position; }

  /// Releases one view, and drops the released prefix. False if no such view is held.
  bool release(std::uint64_t number) {
    if (!holds(number)) return false;
    at(number).released = true;
    while (!empty() && at(oldest_).released) ++oldest_;
    return true;
  }

 private:
  struct View {
    std::uint64_t position = 0;
    bool released = false;
  };
  View& at(std::uint64_t number) { return views_[number & (capacity_ - 1)]; }
  const View& at(std::uint64_t number) const { return views_[number & (capacity_ - 1)]; }

  std::unique_ptr<View[]> views_;
  std::uint64_t capacity_ = 0;
  std::uint64_t oldest_ = 0;  // numbers count views from the first one on
  std::uint64_t next_ = 0;
};

template <class Steps>
class ZeroCopy {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_RINGBUF;
  /// Views of one ring that the host may hold at a time; a ring with room for fewer records has no more.
  static constexpr std::uint64_t most_views = 4096;
  /// How long wait sleeps between two looks while views are held.
  static constexpr std::int64_t slice_ns = 1'000'000;

  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<ZeroCopy>::make(
        {.name = name, .summary = summary, .ring_kind = ring_kind, .claims = RINGSIDE_CLAIM_SLEEPS_ON_BUSY});
  }

  ZeroCopy(const ringside_ring_set& rings, const ringside_host& host)
      : rings_(rings), host_(host), ring_bits_(static_cast<unsigned>(std::bit_width(rings.ring_count - 1))) {}

  int start() {
    if (rings_.ring_count == 0) return -EINVAL;
    lanes_ = allocate<Lane>(rings_.ring_count);
    if (lanes_ == nullptr) return -ENOMEM;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      const ringside_ring& mapped = rings_.rings[ring];
      if (!lanes_[ring].reader.start(mapped)) return -EBADMSG;
      if (!lanes_[ring].held.start(std::min(most_views, mapped.data_size / ring::ringbuf::header_bytes)))
        return -ENOMEM;
    }
    return 0;
  }

  std::int64_t drain(std::uint64_t max_records) {
    return drain_in_turn(rings_.ring_count, next_ring_, max_records, [this](std::uint32_t ring, std::uint64_t most) {
      Lane& lane = lanes_[ring];
      Drained drained =
          drain_ringbuf(lane.reader, most, [this, &lane, ring](auto& /*reader*/) { return hand_over(lane, ring); });
      if (drained.error == -ENOBUFS) drained.error = 0;  // the host's own views are in the way: no fault of the ring
      lane.publish();                                    // discarded records, when no view is held
      return drained;
    });
  }

  int wait(std::int64_t timeout_ns) {
    return wait_until<Steps>(
        Deadline(host_, timeout_ns), [this] { return look(); },
        [this](const Deadline& deadline) { return sleep(deadline); });
  }

  int release(std::uint64_t token) {
    const std::uint64_t number = (token - 1) >> ring_bits_;
    const std::uint64_t ring = (token - 1) & ((std::uint64_t{1} << ring_bits_) - 1);
    if (token == 0 || ring >= rings_.ring_count || !lanes_[ring].held.release(number)) return -EINVAL;
    if constexpr (Steps::keeps_views_reserved) lanes_[ring].publish();
    return 0;
  }

 private:
  struct Lane {
    RingbufReader<Steps> reader;
    HeldViews held;

    /// (C4) Hands back all that no view holds.
    void publish() {
      const bool keep = Steps::keeps_views_reserved && !held.empty();
      reader.publish_to(keep ? held.oldest_position() : reader.position());
    }
  };

  /// -ENOBUFS: the host holds as many views as there may be; the record stays.
  int hand_over(Lane& lane, std::uint32_t ring) {
    if (lane.held.full()) return -ENOBUFS;
    const std::uint64_t number = lane.held.add(lane.reader.position());
    const ringside_record record{.ring = ring,
                                 .reserved = 0,
                                 .data = lane.reader.payload(),
                                 .size = lane.reader.payload_bytes(),
                                 .token = ((number << ring_bits_) | ring) + 1,
                                 .time_ns = 0};
    lane.reader.advance();
    if constexpr (!Steps::keeps_views_reserved) lane.publish();
    return host_.deliver(host_.context, &record) > 0 ? 1 : 0;
  }

  bool look() {
    bool found = false;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      Lane& lane = lanes_[ring];
      found |= lane.reader.look([&lane] { lane.publish(); });
    }
    return found;
  }

  bool holds_views() const {
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      if (!lanes_[ring].held.empty()) return true;
    }
    return false;
  }

  /// As host->wait; with views held, in slices with a look between them.
  int sleep(const Deadline& deadline) {
    if (!holds_views()) return sleep_on_rings(host_, deadline);
    for (;;) {
      const std::int64_t left = deadline.remaining_ns();
      ringside_ready ready[8];
      const int woken = host_.wait(host_.context, ready, 8, left < 0 ? slice_ns : std::min(left, slice_ns));
      if (woken != 0) return woken;
      if (left >= 0 && left <= slice_ns) return 0;
      if (look()) return 1;
    }
  }

  const ringside_ring_set& rings_;
  const ringside_host& host_;
  unsigned ring_bits_;
  std::unique_ptr<Lane[]> lanes_;
  std::uint32_t next_ring_ = 0;
};

}  // namespace ringside::consumers
