// SPDX-License-Identifier: Apache-2.0
//
// Byte layouts of the kernel's rings, and the arithmetic on them. Numbers in brackets are sections of the specification
// of kernel ring semantics that the project follows (docs/kernel-rings.md says where it comes from).
#pragma once

#include <cstdint>

namespace ringside::ring {

constexpr std::uint64_t round_up_8(std::uint64_t value) { return (value + 7) & ~std::uint64_t{7}; }

/// BPF ring buffer [1].
namespace ringbuf {
inline constexpr std::uint32_t busy_bit = 0x80000000u;
inline constexpr std::uint32_t discard_bit = 0x40000000u;
inline constexpr std::uint32_t length_mask = 0x3fffffffu;
inline constexpr std::uint64_t header_bytes = 8;
inline constexpr std::uint64_t consumer_pos_offset = 0;    ///< in the consumer page
inline constexpr std::uint64_t producer_pos_offset = 0;    ///< in the producer page
inline constexpr std::uint64_t pending_pos_offset = 8;     ///< in the producer page
inline constexpr std::uint64_t overwrite_pos_offset = 16;  ///< in the producer page
/// Pages of the kernel's private object before the data: one private, the consumer page, the producer page [1.4].
inline constexpr std::uint32_t pages_before_data = 3;

constexpr std::uint32_t length_of(std::uint32_t header) { return header & length_mask; }
constexpr bool is_busy(std::uint32_t header) { return (header & busy_bit) != 0; }
constexpr bool is_discarded(std::uint32_t header) { return (header & discard_bit) != 0; }
/// Bytes a record takes in the ring: header, payload, padding [1.4].
constexpr std::uint64_t span_of(std::uint32_t header) {
  return round_up_8(std::uint64_t{length_of(header)} + header_bytes);
}
/// Largest payload that a ring of `size` bytes takes [1.5].
constexpr std::uint64_t max_payload(std::uint64_t size) { return size - 16; }
/// pg_off of a record at `position` [1.4].
constexpr std::uint32_t page_offset(std::uint64_t position, std::uint64_t size, std::uint32_t page_size) {
  return pages_before_data + static_cast<std::uint32_t>((position & (size - 1)) / page_size);
}
}  // namespace ringbuf

/// perf event ring [2].
namespace perf {
inline constexpr std::uint64_t data_head_offset = 1024;  ///< in the control page
inline constexpr std::uint64_t data_tail_offset = 1032;
inline constexpr std::uint64_t data_offset_offset = 1040;
inline constexpr std::uint64_t data_size_offset = 1048;
inline constexpr std::uint32_t type_lost = 2;
inline constexpr std::uint32_t type_comm = 3;
inline constexpr std::uint32_t type_sample = 9;
inline constexpr std::uint64_t sample_type_time = 1u << 2;  ///< bits of attr.sample_type
inline constexpr std::uint64_t sample_type_raw = 1u << 10;
inline constexpr std::uint64_t header_bytes = 8;  ///< u32 type, u16 misc, u16 size
inline constexpr std::uint64_t lost_bytes = 24;   ///< header, u64 id, u64 lost
/// Most payload bytes for which header.size is true, with sample_type RAW only [2.8].
inline constexpr std::uint64_t max_payload = 65516;

/// Bytes of a sample that carries `payload` raw bytes and no other field [2.8].
constexpr std::uint64_t sample_bytes(std::uint64_t payload) { return header_bytes + round_up_8(payload + 4); }
/// The u32 raw_size field: payload and padding [2.8].
constexpr std::uint64_t raw_size(std::uint64_t payload) { return round_up_8(payload + 4) - 4; }

struct RecordHeader {
  std::uint32_t type;
  std::uint16_t misc;
  std::uint16_t size;
};
static_assert(sizeof(RecordHeader) == header_bytes);
}  // namespace perf

}  // namespace ringside::ring
