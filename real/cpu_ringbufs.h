// SPDX-License-Identifier: Apache-2.0
//
// BPF ring buffers of the running kernel, one a CPU, in an ARRAY_OF_MAPS under the CPU's id: a program looks up the
// one of the CPU that it runs on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "real/ringbuf.h"

namespace ringside::real {

/// Movable; nothing is pinned: the rings end with the last descriptor, mapping and loaded program.
class CpuRingbufs {
 public:
  /// One ring of `size_bytes` for each CPU id, which must be ascending and not empty. Errors as RingbufMap::create; on
  /// an error nothing is left open or mapped.
  static ring::Result<CpuRingbufs> create(std::span<const std::uint32_t> cpus, std::uint64_t size_bytes);

  /// One for each CPU, in the order of their ids.
  std::span<const ringside_ring> rings() const { return rings_; }
  std::span<const std::uint32_t> cpus() const { return cpus_; }
  /// The set of them, with the ARRAY_OF_MAPS as its map. Points into this object: valid until it is destroyed.
  ringside_ring_set ring_set() const;

  int map_fd() const { return array_.get(); }
  std::uint64_t size_bytes() const { return rings_.front().data_size; }

 private:
  CpuRingbufs() = default;

  Fd array_;
  std::vector<std::uint32_t> cpus_;
  std::vector<RingbufMap> maps_;
  std::vector<ringside_ring> rings_;
};

}  // namespace ringside::real
