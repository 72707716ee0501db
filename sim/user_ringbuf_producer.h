// SPDX-License-Identifier: Apache-2.0
//
// The user's side of a user ring buffer as libbpf's user_ring_buffer has it (KERNEL-RINGS 3.4, 5.4): what a producer
// does that believes what it reads, and does not look after itself.
#pragma once

#include <bit>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "ring/layout.h"
#include "sim/memory.h"

namespace ringside::sim {

/// Plain pointers into a mapping of the ring; cheap to copy. One thread at a time: there is no lock.
class UserRingbufProducer {
 public:
  /// `data`: `size` bytes, a power of two, mapped twice in a row.
  UserRingbufProducer(const std::uint64_t* consumer_pos, std::uint64_t* producer_pos, std::byte* data,
                      std::uint64_t size)
      : consumer_pos_(consumer_pos), producer_pos_(producer_pos), data_(data), size_(size) {
    assert(std::has_single_bit(size));
  }

  /// user_ring_buffer__reserve: 0 and the sample's payload, `size` bytes; or E2BIG, ENOSPC. producer_pos must be a
  /// multiple of 8.
  int reserve(std::uint32_t size, std::byte*& payload) {
    if ((size & ~ring::ringbuf::length_mask) != 0) return E2BIG;
    // Acquire, pairs with the kernel's release of consumer_pos: the space was read before it is written again.
    const std::uint64_t consumer = PlainMemory::load_acquire(consumer_pos_);
    // Acquire: libbpf's; nobody else writes it.
    const std::uint64_t producer = PlainMemory::load_acquire(producer_pos_);
    assert(producer % 8 == 0);
    // libbpf cuts the free space to 32 bits: it shows when producer_pos is not where it belongs.
    const auto free = static_cast<std::uint32_t>(size_ - (producer - consumer));
    const auto span = static_cast<std::uint32_t>(ring::ringbuf::span_of(size));
    if (span > size_) return E2BIG;
    if (free < span) return ENOSPC;
    // Plain: published by the release of producer_pos.
    auto* const header = reinterpret_cast<std::uint32_t*>(data_ + offset_of(producer));
    PlainMemory::store_plain(header, size | ring::ringbuf::busy_bit);
    PlainMemory::store_plain(header + 1, std::uint32_t{0});
    // Release, pairs with the kernel's acquire of producer_pos: whoever sees it sees the BUSY header.
    PlainMemory::store_release(producer_pos_, producer + span);
    payload = data_ + offset_of(producer + ring::ringbuf::header_bytes);
    return 0;
  }

  /// user_ring_buffer__submit. The header is read again: whatever lies there now is what is committed.
  void submit(std::byte* payload) { commit(payload, 0); }
  /// user_ring_buffer__discard.
  void discard(std::byte* payload) { commit(payload, ring::ringbuf::discard_bit); }

 private:
  std::uint64_t offset_of(std::uint64_t position) const { return position & (size_ - 1); }

  void commit(const std::byte* payload, std::uint32_t bits) {
    const std::uint64_t at = offset_of(static_cast<std::uint64_t>(payload - data_) - ring::ringbuf::header_bytes);
    auto* const header = reinterpret_cast<std::uint32_t*>(data_ + at);
    const std::uint32_t length = PlainMemory::load_relaxed(header) & ~ring::ringbuf::busy_bit;
    // Full (libbpf: acquire and release), pairs with the kernel's acquire of the header: the payload is written.
    PlainMemory::exchange_full(header, length | bits);
  }

  const std::uint64_t* consumer_pos_;
  std::uint64_t* producer_pos_;
  std::byte* data_;
  std::uint64_t size_;
};

}  // namespace ringside::sim
