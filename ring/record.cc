// SPDX-License-Identifier: Apache-2.0
//
// Writing and proving test records. Every byte of every delivery passes through here, so the loops over the payload
// have no branch and no early end: they are meant to be vectorised (this file is compiled with -O3), and the wrong byte
// is only looked for once it is known that there is one.
#include "ring/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "ring/wire.h"

namespace ringside::ring {

namespace {

constexpr std::size_t header_bytes = RINGSIDE_RECORD_HEADER_BYTES;
constexpr std::uint32_t length_mask = 0x3fffffffu;
constexpr std::uint32_t state_shift = 30;

using wire::load;
using wire::store;

std::uint64_t key_of(const RecordIdentity& identity) {
  return ringside_record_key(identity.source, static_cast<std::uint32_t>(identity.state), identity.length,
                             identity.sequence);
}

std::byte short_byte(const RecordIdentity& identity, std::uint64_t key, std::size_t offset) {
  return static_cast<std::byte>(ringside_record_short_byte(identity.source, static_cast<std::uint32_t>(identity.state),
                                                           identity.sequence, key, static_cast<std::uint32_t>(offset)));
}

std::byte payload_byte(std::uint64_t key, std::size_t payload_offset) {
  return static_cast<std::byte>(ringside_record_word(key, payload_offset / 8) >> (8 * (payload_offset % 8)));
}

/// Whether the `size` bytes at `payload` are those that follow from `key`.
bool payload_holds(const std::byte* payload, std::size_t size, std::uint64_t key) {
  const std::size_t words = size / 8;
  std::uint64_t difference = 0;
  std::uint64_t word = key;
  for (std::size_t i = 0; i < words; ++i) {
    word += RINGSIDE_RECORD_STRIDE;
    difference |= load<std::uint64_t>(payload + 8 * i) ^ word;
  }
  if (size % 8 != 0) {
    // The last bytes as the low end of a word, beside zeros.
    std::array<std::byte, 8> rest{};
    std::copy_n(payload + 8 * words, size % 8, rest.begin());
    const std::uint64_t mask = (std::uint64_t{1} << (8 * (size % 8))) - 1;
    difference |= load<std::uint64_t>(rest.data()) ^ ((word + RINGSIDE_RECORD_STRIDE) & mask);
  }
  return difference == 0;
}

/// Completes the reading of a record whose payload or length does not hold: finds the first wrong byte of the
/// `provable` ones, or says that the length alone is wrong.
RecordReading torn_reading(RecordReading reading, std::span<const std::byte> bytes, std::size_t provable) {
  reading.kind = RecordReading::Kind::torn;
  const std::uint64_t key = key_of(reading.identity);
  for (std::size_t at = header_bytes; at < provable; ++at) {
    const std::byte expected = payload_byte(key, at - header_bytes);
    if (bytes[at] == expected) continue;
    reading.first_wrong = at;
    reading.found = static_cast<std::uint8_t>(bytes[at]);
    reading.expected = static_cast<std::uint8_t>(expected);
    return reading;
  }
  reading.first_wrong = provable;
  return reading;
}

}  // namespace

void write_record(std::span<std::byte> bytes, const RecordIdentity& identity) {
  assert(bytes.size() == identity.length && identity.length <= length_mask);
  if (bytes.empty()) return;
  const std::uint64_t key = key_of(identity);
  if (bytes.size() < header_bytes) {
    assert(identity.source < RINGSIDE_RECORD_SHORT_SOURCES);
    for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = short_byte(identity, key, at);
    return;
  }
  std::byte* const to = bytes.data();
  store<std::uint32_t>(to, identity.length | static_cast<std::uint32_t>(identity.state) << state_shift);
  store<std::uint16_t>(to + 4, identity.source);
  store<std::uint16_t>(to + 6, static_cast<std::uint16_t>(key));
  store<std::uint64_t>(to + 8, identity.sequence);
  const std::size_t payload_size = bytes.size() - header_bytes;
  std::uint64_t word = key;
  for (std::size_t i = 0; i < payload_size / 8; ++i) {
    word += RINGSIDE_RECORD_STRIDE;
    store<std::uint64_t>(to + header_bytes + 8 * i, word);
  }
  for (std::size_t i = payload_size / 8 * 8; i < payload_size; ++i) to[header_bytes + i] = payload_byte(key, i);
}

std::uint64_t resolve_sequence(ShortSequence part, std::uint64_t near) {
  assert(part.bits >= 1 && part.bits <= 64);
  if (part.bits == 64) return part.low;
  const std::uint64_t period = std::uint64_t{1} << part.bits;
  const std::uint64_t ahead = (part.low - near) & (period - 1);
  // The candidates are near + ahead and one period below it. A tie goes to the one ahead: records are missed more often
  // than they come late.
  const std::uint64_t back = period - ahead;
  if (ahead <= back || back > near) return near + ahead;
  return near - back;
}

namespace detail {

RecordReading read_long_record(std::span<const std::byte> bytes, std::size_t padding) {
  const std::byte* const from = bytes.data();
  const auto length_and_state = load<std::uint32_t>(from);
  RecordReading reading;
  reading.identity.length = length_and_state & length_mask;
  reading.identity.state = static_cast<RecordState>(length_and_state >> state_shift);
  reading.identity.source = load<std::uint16_t>(from + 4);
  reading.identity.sequence = load<std::uint64_t>(from + 8);
  const std::uint64_t key = key_of(reading.identity);
  const std::uint64_t length = reading.identity.length;
  if (load<std::uint16_t>(from + 6) != static_cast<std::uint16_t>(key) || (length_and_state >> state_shift) == 0 ||
      length < header_bytes) {
    return RecordReading{};
  }
  const std::uint64_t provable = std::min<std::uint64_t>(length, bytes.size());
  const bool length_holds = length <= bytes.size() && bytes.size() - length <= padding;
  if (!length_holds || !payload_holds(from + header_bytes, provable - header_bytes, key)) {
    return torn_reading(reading, bytes, provable);
  }
  reading.kind = RecordReading::Kind::proven;
  return reading;
}

ShortHead short_head_of(std::byte first) {
  const auto value = static_cast<std::uint8_t>(first);
  return ShortHead{.source = static_cast<std::uint16_t>((value >> 3) & 7),
                   .state = static_cast<std::uint8_t>(value >> 6)};
}

RecordReading read_short_record(std::span<const std::byte> bytes, ShortHead head, std::uint64_t near) {
  ShortSequence part{.low = static_cast<std::uint64_t>(bytes[0]) & 7, .bits = 3};
  for (std::size_t at = 1; at < bytes.size() && at < 5; ++at, part.bits += 8) {
    part.low |= static_cast<std::uint64_t>(bytes[at]) << part.bits;
  }
  RecordReading reading;
  reading.identity = RecordIdentity{.source = head.source,
                                    .state = static_cast<RecordState>(head.state),
                                    .length = static_cast<std::uint32_t>(bytes.size()),
                                    .sequence = resolve_sequence(part, near)};
  const std::uint64_t key = key_of(reading.identity);
  reading.kind = RecordReading::Kind::proven;
  for (std::size_t at = 5; at < bytes.size(); ++at) {
    const std::byte expected = short_byte(reading.identity, key, at);
    if (bytes[at] == expected) continue;
    reading.kind = RecordReading::Kind::torn;
    reading.first_wrong = at;
    reading.found = static_cast<std::uint8_t>(bytes[at]);
    reading.expected = static_cast<std::uint8_t>(expected);
    break;
  }
  return reading;
}

}  // namespace detail

std::ostream& operator<<(std::ostream& out, const RecordIdentity& identity) {
  out << "source " << identity.source << " record " << identity.sequence << " of " << identity.length << " bytes";
  if (identity.state == RecordState::draft) out << " (draft)";
  if (identity.state == RecordState::doomed) out << " (doomed)";
  return out;
}

std::ostream& operator<<(std::ostream& out, const RecordReading& reading) {
  switch (reading.kind) {
    case RecordReading::Kind::proven:
      return out << "proven " << reading.identity;
    case RecordReading::Kind::empty:
      return out << "empty";
    case RecordReading::Kind::torn:
      return out << fmt::format("torn source {} record {} of {} bytes at byte {}: {:#04x}, should be {:#04x}",
                                reading.identity.source, reading.identity.sequence, reading.identity.length,
                                reading.first_wrong, reading.found, reading.expected);
    case RecordReading::Kind::alien:
      return out << "alien";
  }
  return out;
}

}  // namespace ringside::ring
