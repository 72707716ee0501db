// SPDX-License-Identifier: Apache-2.0
//
// A BPF ring buffer of the running kernel: the map and its mappings, as the consumer contract wants them.
#pragma once

#include <cstdint>

#include "real/handle.h"
#include "ring/consumer.h"
#include "ring/result.h"

namespace ringside::real {

/// What a ring does when it is full: refuse, or (BPF_F_RB_OVERWRITE, kernel 6.19) give up its oldest records.
enum class RingbufMode : std::uint8_t { refuse, overwrite };
/// The map_flags of such a ring.
std::uint32_t map_flags_of(RingbufMode mode);

/// A BPF_MAP_TYPE_RINGBUF, mapped with the protections that the kernel allows: the consumer page writable, the producer
/// page and the data (twice) read-only. No pin: the ring ends with the last descriptor, mapping and loaded program.
/// Movable; rings() stays valid over a move as it points into the mappings, but the struct itself moves.
class RingbufMap {
 public:
  /// `size_bytes` must be a power of two and a multiple of the page size, at most 2^31 [KERNEL-RINGS 1.2]; anything
  /// else is the kernel's EINVAL, and so is an overwrite ring before 6.19. EPERM without CAP_BPF.
  static ring::Result<RingbufMap> create(std::uint64_t size_bytes, RingbufMode mode = RingbufMode::refuse);
  /// Maps a ring that exists: `map` is its descriptor, `size_bytes` its max_entries.
  static ring::Result<RingbufMap> of(Fd map, std::uint64_t size_bytes);

  /// The ring as consumers see it; kind, fd and mappings are filled in.
  const ringside_ring& ring() const { return ring_; }
  /// The set of this one ring. Points into this object: valid until it is moved or destroyed.
  ringside_ring_set ring_set() const;

  int map_fd() const { return map_.get(); }
  std::uint64_t size_bytes() const { return ring_.data_size; }

 private:
  RingbufMap() = default;

  Fd map_;
  Mapping consumer_page_;
  Mapping producer_page_and_data_;
  ringside_ring ring_{};
};

}  // namespace ringside::real
