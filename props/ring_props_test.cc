// SPDX-License-Identifier: Apache-2.0
//
// Properties of the ground floor's arithmetic: layouts, records, sequence numbers.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

#include "ring/layout.h"
#include "ring/record.h"
#include "ring/sequence_set.h"

namespace ringside::ring {
namespace {

using Kind = RecordReading::Kind;

constexpr RecordState all_states[] = {RecordState::committed, RecordState::draft, RecordState::doomed};

RecordReading read(std::span<const std::byte> bytes, std::size_t padding, std::uint64_t near) {
  return read_record(bytes, padding, [near](std::uint16_t, RecordState) { return near; });
}

/// Any record that a source may write, of `shortest` to 4096 bytes.
RecordIdentity any_identity(std::uint32_t shortest) {
  RecordIdentity identity;
  identity.length = *rc::gen::inRange<std::uint32_t>(shortest, 4097);
  const int sources = identity.length < RINGSIDE_RECORD_HEADER_BYTES ? int{RINGSIDE_RECORD_SHORT_SOURCES} : 65536;
  identity.source = static_cast<std::uint16_t>(*rc::gen::inRange(0, sources));
  identity.state = *rc::gen::elementOf(std::vector<RecordState>(std::begin(all_states), std::end(all_states)));
  identity.sequence = *rc::gen::arbitrary<std::uint64_t>();
  return identity;
}

RC_GTEST_PROP(RingbufLayoutProps, ASpanHoldsHeaderAndPayloadInTheFewest8ByteUnits, ()) {
  const auto length = *rc::gen::inRange<std::uint32_t>(0, ringbuf::length_mask + 1);
  const auto flags =
      *rc::gen::element(0u, ringbuf::busy_bit, ringbuf::discard_bit, ringbuf::busy_bit | ringbuf::discard_bit);
  const std::uint64_t span = ringbuf::span_of(length | flags);
  RC_ASSERT(span % 8 == 0);
  RC_ASSERT(span >= std::uint64_t{length} + 8);
  RC_ASSERT(span < std::uint64_t{length} + 16);
}

RC_GTEST_PROP(RingbufLayoutProps, PageOffsetsRepeatWithEveryLap, (std::uint64_t anywhere)) {
  const std::uint64_t size = std::uint64_t{4096} << *rc::gen::inRange(0, 20);
  const std::uint64_t position = anywhere & ~std::uint64_t{7};
  const std::uint32_t offset = ringbuf::page_offset(position, size, 4096);
  RC_ASSERT(offset >= ringbuf::pages_before_data);
  RC_ASSERT(offset < ringbuf::pages_before_data + size / 4096);
  RC_ASSERT(offset == ringbuf::page_offset(position + size, size, 4096));
  RC_ASSERT((offset - ringbuf::pages_before_data) * std::uint64_t{4096} <= (position & (size - 1)));
}

RC_GTEST_PROP(PerfLayoutProps, PaddingIsAtMost7BytesAndEndsARecordOnA8ByteBoundary, ()) {
  const auto payload = *rc::gen::inRange<std::uint64_t>(0, perf::max_payload + 1);
  RC_ASSERT(perf::raw_size(payload) >= payload);
  RC_ASSERT(perf::raw_size(payload) - payload <= 7);
  RC_ASSERT(perf::sample_bytes(payload) % 8 == 0);
  RC_ASSERT(perf::sample_bytes(payload) == perf::header_bytes + 4 + perf::raw_size(payload));
}

TEST(RecordProps, EveryLengthAndStateReadsBackAsItWasWritten) {
  for (std::uint32_t length = 1; length <= 4096; ++length) {
    for (const RecordState state : all_states) {
      const RecordIdentity identity{.source = static_cast<std::uint16_t>(length % 8),
                                    .state = state,
                                    .length = length,
                                    .sequence = length * 7919u};
      std::vector<std::byte> bytes(length);
      write_record(bytes, identity);
      const RecordReading reading = read(bytes, 0, identity.sequence);
      ASSERT_EQ(reading.kind, Kind::proven) << identity;
      ASSERT_EQ(reading.identity, identity);
    }
  }
  EXPECT_EQ(read({}, 0, 0).kind, Kind::empty);
}

RC_GTEST_PROP(RecordProps, AnyRecordReadsBackAsItWasWritten, ()) {
  const RecordIdentity identity = any_identity(1);
  std::vector<std::byte> bytes(identity.length);
  write_record(bytes, identity);
  const RecordReading reading = read(bytes, 0, identity.sequence);
  RC_ASSERT(reading.kind == Kind::proven);
  RC_ASSERT(reading.identity == identity);
}

RC_GTEST_PROP(RecordProps, PaddingOfAPerfRingChangesNothing, ()) {
  const RecordIdentity identity = any_identity(RINGSIDE_RECORD_HEADER_BYTES);
  std::vector<std::byte> bytes(identity.length);
  write_record(bytes, identity);
  bytes.resize(perf::raw_size(bytes.size()), std::byte{*rc::gen::arbitrary<std::uint8_t>()});
  const RecordReading reading = read(bytes, 7, 0);
  RC_ASSERT(reading.kind == Kind::proven);
  RC_ASSERT(reading.identity == identity);
}

RC_GTEST_PROP(RecordProps, NoChangedByteIsProvenAsTheSameRecord, ()) {
  const RecordIdentity identity = any_identity(RINGSIDE_RECORD_HEADER_BYTES);
  std::vector<std::byte> bytes(identity.length);
  write_record(bytes, identity);
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[at] ^= static_cast<std::byte>(*rc::gen::inRange(1, 256));
  const RecordReading reading = read(bytes, 0, identity.sequence);
  RC_ASSERT(!(reading.kind == Kind::proven && reading.identity == identity));
  if (at >= RINGSIDE_RECORD_HEADER_BYTES) {
    RC_ASSERT(reading.kind == Kind::torn);
    RC_ASSERT(reading.first_wrong == at);
  }
}

TEST(RecordProps, NoChangedByteOfASmallRecordIsProvenAsTheSameRecord) {
  for (std::uint32_t length = RINGSIDE_RECORD_HEADER_BYTES; length <= 80; ++length) {
    const RecordIdentity identity{.source = 1, .state = RecordState::committed, .length = length, .sequence = 5};
    std::vector<std::byte> bytes(length);
    write_record(bytes, identity);
    for (std::byte& byte : bytes) {
      byte ^= std::byte{0x10};
      const RecordReading reading = read(bytes, 0, identity.sequence);
      EXPECT_FALSE(reading.kind == Kind::proven && reading.identity == identity) << identity;
      byte ^= std::byte{0x10};
    }
    EXPECT_EQ(read(bytes, 0, identity.sequence).kind, Kind::proven);
  }
}

RC_GTEST_PROP(SequenceProps, AShortNumberIsCompletedFromAnyNeighbourWithinHalfItsPeriod, ()) {
  const auto bits = *rc::gen::inRange(1u, 36u);
  const std::uint64_t half = std::uint64_t{1} << (bits - 1);
  const auto near = *rc::gen::inRange<std::uint64_t>(half, std::uint64_t{1} << 60);
  const auto sequence = *rc::gen::inRange<std::uint64_t>(near - half + 1, near + half + 1);
  const std::uint64_t low = sequence & (2 * half - 1);
  RC_ASSERT(resolve_sequence({.low = low, .bits = bits}, near) == sequence);
}

RC_GTEST_PROP(SequenceSetProps, AgreesWithASetOfNumbers, ()) {
  constexpr std::uint64_t edge = SequenceSet::chunk_numbers;
  const auto full_below = *rc::gen::element<std::uint64_t>(0, 3, edge - 1, edge, edge + 70);
  // Few different numbers on both sides of two chunk boundaries, so that they meet.
  const auto number = rc::gen::apply([](std::uint64_t chunk, std::uint64_t offset) { return chunk * edge + offset; },
                                     rc::gen::inRange<std::uint64_t>(0, 3), rc::gen::inRange<std::uint64_t>(0, 140));
  SequenceSet set(full_below);
  std::set<std::uint64_t> model;
  for (const std::uint64_t n : *rc::gen::container<std::vector<std::uint64_t>>(number)) {
    RC_ASSERT(set.insert(n) == (n >= full_below && model.insert(n).second));
  }
  const std::uint64_t limit = *number;
  const auto above = [&](std::uint64_t end) {
    return static_cast<std::uint64_t>(std::distance(model.begin(), model.lower_bound(end)));
  };
  RC_ASSERT(set.contains(limit) == (limit < full_below || model.contains(limit)));
  RC_ASSERT(set.count_below(limit) == (limit <= full_below ? limit : full_below + above(limit)));
  std::uint64_t missing = full_below;
  while (model.contains(missing)) ++missing;
  RC_ASSERT(set.first_missing() == missing);
}

}  // namespace
}  // namespace ringside::ring
