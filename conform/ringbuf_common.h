// SPDX-License-Identifier: Apache-2.0
//
// What both sides of a BPF ring buffer do alike, because user space does it: the consumer, honest or not, the bytes of
// a payload, and what is shown. Internal to conform/.
//
// What the operations tell:
//   output    result: the helper's return value
//   reserve   result: 1 for a record, 0 for NULL
//   dynptr    result: the return value of bpf_ringbuf_reserve_dynptr
//   hold      result: the same; 1 when the slot holds a record already
//   settle    result: 0; 1 when the slot holds none
//   nested    result: as dynptr; details: the return values of the outputs in the interrupt
//   query     result: the value
//   consume   result: records delivered; details: length and hash of each
//   consumer  result: 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "conform/script.h"
#include "conform/side.h"

namespace ringside::conform {

inline constexpr std::int64_t nothing_done = 1;  ///< of hold and settle
/// Words of the argument `write` of reserve and dynptr.
enum class Write : std::uint8_t { nothing, half, all };

/// The user's mapping of a ring.
struct RingbufPages {
  std::byte* consumer = nullptr;
  const std::byte* producer = nullptr;
  const std::byte* data = nullptr;  ///< twice in a row
  std::uint64_t size = 0;           ///< bytes of data
  std::uint32_t page_size = 0;
  bool overwrite = false;

  std::uint64_t consumer_pos() const;
  std::uint64_t producer_pos() const;
  std::uint64_t pending_pos() const;
  std::uint64_t overwrite_pos() const;
};

/// The settings of a script on a BPF ring buffer.
struct RingbufSetup {
  std::uint64_t data_size = 0;
  bool overwrite = false;
};
RingbufSetup ringbuf_setup(const Script& script, std::uint32_t page_size);

/// The size that `reserve` asks for: the word of its argument as a number.
std::uint64_t constant_size_of(const Op& op);
/// How many bytes of a payload of `size` an operation writes.
std::uint64_t bytes_written(const Op& op, std::uint64_t size);
/// What distinguishes the payload of record `index` of a nested interrupt from that of its operation.
std::uint64_t nested_ordinal(std::uint64_t ordinal, std::uint64_t index);

/// The verbs `consumer` and `consume`.
Outcome move_consumer(const RingbufPages& pages, const Op& op);
Outcome consume(const RingbufPages& pages, const Op& op);

/// Everything that the mapping shows, and `poll`, the mask that the ring's poll method returned.
void show_ringbuf(const RingbufPages& pages, std::uint64_t poll, View& view);

/// Hash of bytes that were delivered.
std::uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace ringside::conform
