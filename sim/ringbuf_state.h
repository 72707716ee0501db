// SPDX-License-Identifier: Apache-2.0
//
// What the kernel's side knows of one BPF ring buffer: where its shared words lie, and its lock (KERNEL-RINGS 1.1).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ring/layout.h"
#include "sim/kernel_version.h"

namespace ringside::sim {

/// Told of each record that an overwrite ring gives up, in order, under the ring's lock and before its bytes are taken.
class GiveUpObserver {
 public:
  virtual void given_up(std::uint64_t position, std::uint32_t header) = 0;

 protected:
  ~GiveUpObserver() = default;
};

/// Plain data. The pointers lead into the kernel's own mapping.
struct RingbufState {
  std::uint64_t* consumer_pos = nullptr;
  std::uint64_t* producer_pos = nullptr;
  std::uint64_t* pending_pos = nullptr;
  std::uint64_t* overwrite_pos = nullptr;
  std::byte* data = nullptr;    ///< mapped twice in a row
  std::uint64_t size = 0;       ///< bytes of the data area, a power of two
  std::uint32_t page_size = 0;  ///< bytes
  RingbufRules rules;
  bool overwrite = false;              ///< made with BPF_F_RB_OVERWRITE [1.11]
  std::uint32_t lock = 0;              ///< the reserve lock: 0 free, 1 taken
  GiveUpObserver* observer = nullptr;  ///< of an overwrite ring; may be null

  std::uint64_t mask() const { return size - 1; }
  std::byte* at(std::uint64_t position) const { return data + (position & mask()); }
  /// The len word of the record at `position`.
  std::uint32_t* length_word(std::uint64_t position) const { return reinterpret_cast<std::uint32_t*>(at(position)); }
  std::uint32_t* page_offset_word(std::uint64_t position) const { return length_word(position) + 1; }
  std::byte* payload(std::uint64_t position) const { return at(position) + ring::ringbuf::header_bytes; }
};

}  // namespace ringside::sim
