// SPDX-License-Identifier: Apache-2.0
//
// The self-proving test record: writing one and reading one. The bytes are defined in ring/record_format.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>

#include "ring/record_format.h"

namespace ringside::ring {

enum class RecordState : std::uint8_t {
  committed = RINGSIDE_STATE_COMMITTED,
  draft = RINGSIDE_STATE_DRAFT,
  doomed = RINGSIDE_STATE_DOOMED,
};

/// What a record says of itself.
struct RecordIdentity {
  std::uint16_t source = 0;
  RecordState state = RecordState::committed;
  std::uint32_t length = 0;    ///< bytes of the whole record, below 2^30
  std::uint64_t sequence = 0;  ///< counts per (source, state) from 0

  friend bool operator==(const RecordIdentity&, const RecordIdentity&) = default;
};
std::ostream& operator<<(std::ostream& out, const RecordIdentity& identity);

/// Writes the record into `bytes`, whose size must be identity.length. Source must be below
/// RINGSIDE_RECORD_SHORT_SOURCES when the length is 1 to 15. Thread-safe: touches nothing else.
void write_record(std::span<std::byte> bytes, const RecordIdentity& identity);

/// How the bytes of a delivered record read.
struct RecordReading {
  enum class Kind : std::uint8_t {
    proven,  ///< every byte is the identity's
    empty,   ///< zero length: nothing to prove
    torn,    ///< the header is that of a record, but byte `first_wrong` (or the length) is not
    alien,   ///< the header is that of no record: nobody wrote these bytes as a record
  };
  Kind kind = Kind::alien;
  RecordIdentity identity;        ///< of proven and torn records; a short record's sequence is resolved (see below)
  std::uint64_t first_wrong = 0;  ///< torn: offset of the first wrong byte
  std::uint8_t found = 0;         ///< torn: the byte there
  std::uint8_t expected = 0;      ///< torn: what it should be

  friend bool operator==(const RecordReading&, const RecordReading&) = default;
};
std::ostream& operator<<(std::ostream& out, const RecordReading& reading);

/// Low bits of a short record's sequence and how many there are: the caller knows the neighbourhood and completes it.
struct ShortSequence {
  std::uint64_t low = 0;
  unsigned bits = 64;
};

/// Completes a short record's sequence: the value nearest to `near` that has those low bits.
std::uint64_t resolve_sequence(ShortSequence part, std::uint64_t near);

/// Reads and proves one record.
///
/// \param bytes     what was delivered
/// \param padding   how many bytes the ring may have added at the end (ringbuf 0, perf 7)
/// \param expected  gives, for (source, state), the sequence expected next: resolves short records; called at most once
template <class Expected>
RecordReading read_record(std::span<const std::byte> bytes, std::size_t padding, Expected&& expected);

}  // namespace ringside::ring

#include "ring/record_impl.h"
