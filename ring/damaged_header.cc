// SPDX-License-Identifier: Apache-2.0
#include "ring/damaged_header.h"

#include <array>
#include <cassert>

#include "ring/wire.h"

namespace ringside::ring {

namespace {

constexpr std::size_t header_bytes = RINGSIDE_RECORD_HEADER_BYTES;
constexpr std::uint32_t committed = RINGSIDE_STATE_COMMITTED;

/// The four fields of a header, as they were found or as they should be.
struct Header {
  std::uint32_t length_and_state = 0;
  std::uint16_t source = 0;
  std::uint16_t check = 0;
  std::uint64_t sequence = 0;
};

Header header_in(const std::byte* from) {
  return Header{.length_and_state = wire::load<std::uint32_t>(from),
                .source = wire::load<std::uint16_t>(from + 4),
                .check = wire::load<std::uint16_t>(from + 6),
                .sequence = wire::load<std::uint64_t>(from + 8)};
}

/// One record that might have been delivered.
struct Candidate {
  std::uint32_t source;
  std::uint32_t length;
  std::uint64_t sequence;

  std::uint64_t key() const { return ringside_record_key(source, committed, length, sequence); }
  std::uint32_t length_and_state() const { return length | committed << 30; }
};

int fields_right(const Header& found, const Candidate& candidate) {
  return int{found.length_and_state == candidate.length_and_state()} + int{found.source == candidate.source} +
         int{found.sequence == candidate.sequence};
}

/// One field is wrong and the check, which mixes all of them, says so. It is computed last: it costs the most, and
/// garbage seldom comes this far.
bool check_holds_but_one_field(const Header& found, const Candidate& candidate) {
  return fields_right(found, candidate) == 2 && found.check == static_cast<std::uint16_t>(candidate.key());
}

/// Whether all that follows the header is the candidate's, eight bytes of it at least.
bool payload_is_of(std::span<const std::byte> bytes, const Candidate& candidate) {
  if (candidate.length < header_bytes + 8) return false;
  const std::uint64_t key = candidate.key();
  const std::size_t size = candidate.length - header_bytes;
  for (std::size_t at = 0; at < size; ++at) {
    const std::uint64_t expected = ringside_record_word(key, at / 8) >> (8 * (at % 8));
    if (bytes[header_bytes + at] != static_cast<std::byte>(expected)) return false;
  }
  return true;
}

DamagedHeader describe(std::span<const std::byte> bytes, const Candidate& candidate) {
  std::array<std::byte, header_bytes> right;
  wire::store<std::uint32_t>(right.data(), candidate.length_and_state());
  wire::store<std::uint16_t>(right.data() + 4, static_cast<std::uint16_t>(candidate.source));
  wire::store<std::uint16_t>(right.data() + 6, static_cast<std::uint16_t>(candidate.key()));
  wire::store<std::uint64_t>(right.data() + 8, candidate.sequence);
  DamagedHeader damage{.identity = {.source = static_cast<std::uint16_t>(candidate.source),
                                    .state = RecordState::committed,
                                    .length = candidate.length,
                                    .sequence = candidate.sequence}};
  while (damage.first_wrong + 1 < header_bytes && bytes[damage.first_wrong] == right[damage.first_wrong]) {
    ++damage.first_wrong;
  }
  damage.found = static_cast<std::uint8_t>(bytes[damage.first_wrong]);
  damage.expected = static_cast<std::uint8_t>(right[damage.first_wrong]);
  return damage;
}

/// Calls `accept` with each record that may be due and gives the first that it accepts.
template <class Accept>
std::optional<Candidate> find_candidate(std::size_t shortest, std::size_t longest, std::uint32_t source_count,
                                        const std::function<std::uint64_t(std::uint32_t)>& next_of, Accept&& accept) {
  for (std::uint32_t source = 0; source < source_count; ++source) {
    const std::uint64_t sequence = next_of(source);
    for (std::size_t length = shortest; length <= longest; ++length) {
      const Candidate candidate{.source = source, .length = static_cast<std::uint32_t>(length), .sequence = sequence};
      if (accept(candidate)) return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<DamagedHeader> recognise_damaged_header(std::span<const std::byte> bytes, std::size_t padding,
                                                      std::uint32_t source_count,
                                                      const std::function<std::uint64_t(std::uint32_t)>& next_of) {
  assert(bytes.size() >= header_bytes);
  if (bytes.size() >= std::size_t{1} << 30) return std::nullopt;
  const Header found = header_in(bytes.data());
  const std::size_t shortest = bytes.size() < header_bytes + padding ? header_bytes : bytes.size() - padding;
  // The stronger evidence first: when two sources are due with the same number and length, a wrong source makes three
  // fields of the other one right.
  auto due = find_candidate(shortest, bytes.size(), source_count, next_of, [&](const Candidate& candidate) {
    return check_holds_but_one_field(found, candidate) || payload_is_of(bytes, candidate);
  });
  if (!due) {
    due = find_candidate(shortest, bytes.size(), source_count, next_of,
                         [&](const Candidate& candidate) { return fields_right(found, candidate) == 3; });
  }
  if (!due) return std::nullopt;
  return describe(bytes, *due);
}

}  // namespace ringside::ring
