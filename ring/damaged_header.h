// SPDX-License-Identifier: Apache-2.0
//
// Bytes that read as no record may still be the record that was due, with damage in its header. Told apart, a flipped
// bit is `torn` and not a `phantom` and a loss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "ring/record.h"

namespace ringside::ring {

/// A record whose header is damaged, and where.
struct DamagedHeader {
  RecordIdentity identity;      ///< what the record should say of itself
  std::size_t first_wrong = 0;  ///< offset of the first wrong header byte
  std::uint8_t found = 0;
  std::uint8_t expected = 0;

  friend bool operator==(const DamagedHeader&, const DamagedHeader&) = default;
};

/// Recognises the committed record that some source is expected to deliver next, when either just one of the four
/// header fields (length and state, source, check, sequence) is wrong, or the whole payload is that record's.
///
/// \param bytes         what was delivered, read as alien; 16 bytes or more
/// \param padding       how many bytes the ring may have added at the end
/// \param source_count  the sources are 0 ... source_count - 1
/// \param next_of       the sequence that a source is expected to deliver next
std::optional<DamagedHeader> recognise_damaged_header(std::span<const std::byte> bytes, std::size_t padding,
                                                      std::uint32_t source_count,
                                                      const std::function<std::uint64_t(std::uint32_t)>& next_of);

}  // namespace ringside::ring
