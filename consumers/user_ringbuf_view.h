// SPDX-License-Identifier: Apache-2.0
//
// A user ring buffer as its producer sees it: every access of shared memory that a producer of ours makes is in this
// file, with the reason of its ordering (KERNEL-RINGS 3.4, 5.4). U1 to U5 are the producer's operations; D1 to D4 those
// of the kernel's drain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ring/layout.h"
#include "ring/producer.h"

namespace ringside::consumers {

/// The mapped pages. Cheap to copy; owns nothing. One thread at a time, as the contract has it.
class UserRingbufView {
 public:
  explicit UserRingbufView(const ringside_user_ring& ring)
      : consumer_pos_(reinterpret_cast<const std::uint64_t*>(static_cast<const std::byte*>(ring.consumer_page) +
                                                             ring::ringbuf::consumer_pos_offset)),
        producer_pos_(reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(ring.producer_page) +
                                                       ring::ringbuf::producer_pos_offset)),
        data_(static_cast<std::byte*>(ring.data)),
        size_(ring.data_size) {}

  /// (U1) Acquire, pairs with the drain's release of consumer_pos (D4): what we store into the space that it freed
  /// comes after what the kernel read there.
  template <int order = __ATOMIC_ACQUIRE>
  std::uint64_t load_consumer_pos() const {
    return __atomic_load_n(consumer_pos_, order);
  }

  /// Relaxed: nobody but the producer writes it, and it is us.
  std::uint64_t load_producer_pos() const { return __atomic_load_n(producer_pos_, __ATOMIC_RELAXED); }

  /// (U2) Plain: published by (U3). `position` must be a multiple of 8, so that a header never crosses the end.
  void store_new_header(std::uint64_t position, std::uint32_t word) {
    const std::uint32_t words[2] = {word, 0};
    std::memcpy(data_ + offset_of(position), words, sizeof(words));
  }

  /// (U3) Release, pairs with the drain's acquire of producer_pos (D1): who sees the new position sees the BUSY header,
  /// never what an earlier lap left there.
  template <int order = __ATOMIC_RELEASE>
  void store_producer_pos(std::uint64_t position) {
    __atomic_store_n(producer_pos_, position, order);
  }

  /// (U4) The payload: plain bytes, published by (U5). Contiguous through the second mapping.
  std::byte* payload_at(std::uint64_t position) const {
    return data_ + offset_of(position + ring::ringbuf::header_bytes);
  }

  // A mutant strays from the multiples of 8: a machine that takes such accesses takes them here, too.

  /// (U5) Release, pairs with the drain's acquire of the header (D3): who sees BUSY cleared sees the whole payload.
  template <int order = __ATOMIC_RELEASE>
  __attribute__((no_sanitize("alignment"))) void store_header(std::uint64_t position, std::uint32_t word) {
    __atomic_store_n(header_at(position), word, order);
  }
  /// Relaxed: our own header, which only we write.
  __attribute__((no_sanitize("alignment"))) std::uint32_t load_header(std::uint64_t position) const {
    return __atomic_load_n(header_at(position), __ATOMIC_RELAXED);
  }

  /// The position, modulo the ring, of the header of a payload that payload_at handed out.
  std::uint64_t position_of(const std::byte* payload) const {
    return offset_of(static_cast<std::uint64_t>(payload - data_) - ring::ringbuf::header_bytes);
  }

  std::uint64_t size() const { return size_; }

 private:
  std::uint64_t offset_of(std::uint64_t position) const { return position & (size_ - 1); }
  std::uint32_t* header_at(std::uint64_t position) const {
    return reinterpret_cast<std::uint32_t*>(data_ + offset_of(position));
  }

  const std::uint64_t* consumer_pos_;
  std::uint64_t* producer_pos_;
  std::byte* data_;
  std::uint64_t size_;
};

}  // namespace ringside::consumers
