// SPDX-License-Identifier: Apache-2.0
//
// The template part of ring/record.h: it only chooses the form of a record and asks the caller what is expected next;
// the proof itself is compiled once, in record.cc.
#pragma once

#include "ring/record.h"

namespace ringside::ring {

namespace detail {

/// Proves a record of RINGSIDE_RECORD_HEADER_BYTES bytes and more.
RecordReading read_long_record(std::span<const std::byte> bytes, std::size_t padding);

/// What the first byte of a short record says. A state of 0 is the state of no record.
struct ShortHead {
  std::uint16_t source = 0;
  std::uint8_t state = 0;
};
ShortHead short_head_of(std::byte first);

/// Proves a record of 1 to 15 bytes whose sequence is the one nearest to `near` that its low bits allow.
RecordReading read_short_record(std::span<const std::byte> bytes, ShortHead head, std::uint64_t near);

}  // namespace detail

template <class Expected>
RecordReading read_record(std::span<const std::byte> bytes, std::size_t padding, Expected&& expected) {
  if (bytes.size() >= RINGSIDE_RECORD_HEADER_BYTES) return detail::read_long_record(bytes, padding);
  // A perf sample without payload has four bytes of padding [2.8]; its payloads of 1 to 15 bytes cannot be told from
  // their padding, so no source writes them.
  const std::size_t empty_size = padding == 0 ? 0 : 4;
  if (bytes.size() == empty_size) {
    RecordReading empty;
    empty.kind = RecordReading::Kind::empty;
    return empty;
  }
  if (padding != 0 || bytes.empty()) return RecordReading{};
  const detail::ShortHead head = detail::short_head_of(bytes[0]);
  if (head.state == 0) return RecordReading{};
  return detail::read_short_record(bytes, head, expected(head.source, static_cast<RecordState>(head.state)));
}

}  // namespace ringside::ring
