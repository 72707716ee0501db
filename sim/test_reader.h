// SPDX-License-Identifier: Apache-2.0
//
// A faithful reader of one ring, as plain as it can be (KERNEL-RINGS 1.8, 2.14): what the model is held against in
// tests and measured with. It knows the user's view and nothing of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ring/consumer.h"
#include "ring/layout.h"

namespace ringside::sim::test {

class Reader {
 public:
  explicit Reader(const ringside_ring& ring) : ring_(ring), position_(*place(own_offset())) {}

  /// Delivers every committed record of the ring, publishing the position after each: deliver(span of bytes); for perf
  /// the raw payload with its padding. lost(count) for every LOST record. Stops at a header that cannot be one. Returns
  /// the number delivered.
  template <class Deliver, class LostRecord>
  std::uint64_t drain(Deliver&& deliver, LostRecord&& lost) {
    return ring_.kind == RINGSIDE_RINGBUF ? drain_ringbuf(deliver) : drain_perf(deliver, lost);
  }

  /// Where it stands; so far published.
  std::uint64_t position() const { return position_; }

 private:
  std::uint64_t own_offset() const { return ring_.kind == RINGSIDE_RINGBUF ? 0 : ring::perf::data_tail_offset; }
  std::uint64_t* place(std::uint64_t offset) const {
    return reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(ring_.consumer_page) + offset);
  }
  const std::byte* at(std::uint64_t position) const {
    return static_cast<const std::byte*>(ring_.data) + (position & (ring_.data_size - 1));
  }
  void publish() {
    // (C4, D) release, pairs with the producer's look at the position: what was read was read before.
    __atomic_store_n(place(own_offset()), position_, __ATOMIC_RELEASE);
  }

  template <class Deliver>
  std::uint64_t drain_ringbuf(Deliver&& deliver) {
    std::uint64_t delivered = 0;
    // (C1) acquire, pairs with the release of producer_pos (P7).
    const std::uint64_t end = __atomic_load_n(static_cast<const std::uint64_t*>(ring_.producer_page), __ATOMIC_ACQUIRE);
    while (position_ != end) {
      // (C2) acquire, pairs with the commit's exchange (P10).
      const std::uint32_t header =
          __atomic_load_n(reinterpret_cast<const std::uint32_t*>(at(position_)), __ATOMIC_ACQUIRE);
      if (ring::ringbuf::is_busy(header)) break;
      if (!ring::ringbuf::is_discarded(header)) {
        deliver(std::span(at(position_) + ring::ringbuf::header_bytes, ring::ringbuf::length_of(header)));
        ++delivered;
      }
      position_ += ring::ringbuf::span_of(header);
      publish();
    }
    return delivered;
  }

  // Bytes of a record, in one piece.
  std::span<const std::byte> whole(std::uint64_t position, std::size_t size) {
    const std::uint64_t offset = position & (ring_.data_size - 1);
    if (offset + size <= ring_.data_size) return {at(position), size};
    copy_.resize(size);
    const std::size_t before_end = ring_.data_size - offset;
    std::memcpy(copy_.data(), at(position), before_end);
    std::memcpy(copy_.data() + before_end, ring_.data, size - before_end);
    return copy_;
  }

  template <class Deliver, class LostRecord>
  std::uint64_t drain_perf(Deliver&& deliver, LostRecord&& lost) {
    std::uint64_t delivered = 0;
    // (C) acquire, pairs with the barrier before the store of data_head (B).
    const std::uint64_t end = __atomic_load_n(place(ring::perf::data_head_offset), __ATOMIC_ACQUIRE);
    while (position_ != end) {
      ring::perf::RecordHeader header;
      std::memcpy(&header, at(position_), sizeof(header));
      if (header.size < sizeof(header) || header.size > end - position_) break;
      const std::span<const std::byte> record = whole(position_, header.size);
      if (header.type == ring::perf::type_sample) {
        std::uint32_t raw_size = 0;
        std::memcpy(&raw_size, record.data() + sizeof(header), sizeof(raw_size));
        deliver(record.subspan(sizeof(header) + sizeof(raw_size), raw_size));
        ++delivered;
      } else if (header.type == ring::perf::type_lost) {
        std::uint64_t count = 0;
        std::memcpy(&count, record.data() + 16, sizeof(count));
        if (count != 0) lost(count);  // 0: an interrupt has told what this one was to tell [2.4.3]
      }
      position_ += header.size;
      publish();
    }
    return delivered;
  }

  ringside_ring ring_;
  std::uint64_t position_;
  std::vector<std::byte> copy_;
};

}  // namespace ringside::sim::test
