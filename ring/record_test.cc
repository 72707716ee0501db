// SPDX-License-Identifier: Apache-2.0
#include "ring/record.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "ring/judge_test_support.h"

namespace ringside::ring {
namespace {

using Kind = RecordReading::Kind;

RecordReading read(const std::vector<std::byte>& bytes, std::size_t padding = 0, std::uint64_t near = 0) {
  return read_record(bytes, padding, [near](std::uint16_t, RecordState) { return near; });
}

template <class T>
std::string text_of(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

constexpr RecordIdentity sample{.source = 3, .state = RecordState::committed, .length = 64, .sequence = 77};

TEST(RecordFormat, BytesOfA27ByteRecordAreAsTheFormatSays) {
  const RecordIdentity identity{
      .source = 0x0102, .state = RecordState::doomed, .length = 27, .sequence = 0x1122334455667788};
  const std::uint64_t key = ringside_record_key(0x0102, RINGSIDE_STATE_DOOMED, 27, 0x1122334455667788);
  const auto byte = [](std::uint64_t value, unsigned index) { return static_cast<std::byte>(value >> (8 * index)); };
  std::vector<std::byte> expected = {
      std::byte{27},   std::byte{0},    std::byte{0},    std::byte{0xc0}, std::byte{0x02}, std::byte{0x01},
      byte(key, 0),    byte(key, 1),    std::byte{0x88}, std::byte{0x77}, std::byte{0x66}, std::byte{0x55},
      std::byte{0x44}, std::byte{0x33}, std::byte{0x22}, std::byte{0x11},
  };
  for (unsigned i = 0; i < 11; ++i) expected.push_back(byte(key + (i / 8 + 1) * RINGSIDE_RECORD_STRIDE, i % 8));
  EXPECT_EQ(test::bytes_of(identity), expected);
}

TEST(RecordFormat, BytesOfA15ByteRecordAreAsTheFormatSays) {
  const RecordIdentity identity{
      .source = 5, .state = RecordState::committed, .length = 15, .sequence = 0x7ffffffffdull};
  const std::uint64_t key = ringside_record_key(5, RINGSIDE_STATE_COMMITTED, 15, 0x7ffffffffdull);
  const auto byte = [](std::uint64_t value, unsigned index) { return static_cast<std::byte>(value >> (8 * index)); };
  // State 1, source 5, low bits 101; then 32 more bits of the sequence, all of them 1; then ten bytes of the key.
  std::vector<std::byte> expected = {std::byte{0x40 | 5 << 3 | 5}};
  for (unsigned i = 0; i < 4; ++i) expected.push_back(byte(0x7ffffffffdull >> 3, i));
  for (unsigned i = 0; i < 10; ++i) expected.push_back(byte(key, i % 8));
  EXPECT_EQ(test::bytes_of(identity), expected);
}

TEST(ReadRecord, ProvesARecordAsItWasWritten) {
  const RecordReading reading = read(test::bytes_of(sample));
  EXPECT_EQ(reading.kind, Kind::proven);
  EXPECT_EQ(reading.identity, sample);
}

TEST(ReadRecord, NamesTheFirstWrongByteAndWhatItShouldBe) {
  std::vector<std::byte> bytes = test::bytes_of(sample);
  const auto right = static_cast<std::uint8_t>(bytes[24]);
  bytes[24] ^= std::byte{0xff};
  bytes[60] ^= std::byte{0x01};
  const RecordReading reading = read(bytes);
  EXPECT_EQ(reading.kind, Kind::torn);
  EXPECT_EQ(reading.identity, sample);
  EXPECT_EQ(reading.first_wrong, 24u);
  EXPECT_EQ(reading.found, right ^ 0xff);
  EXPECT_EQ(reading.expected, right);
}

TEST(ReadRecord, AWrongByteInTheLastPartialWordIsTorn) {
  std::vector<std::byte> bytes = test::record(5, 29);
  bytes[28] ^= std::byte{0x80};
  const RecordReading reading = read(bytes);
  EXPECT_EQ(reading.kind, Kind::torn);
  EXPECT_EQ(reading.first_wrong, 28u);
}

TEST(ReadRecord, ARecordCutShortIsTornWhereItEnds) {
  std::vector<std::byte> bytes = test::bytes_of(sample);
  bytes.resize(40);
  const RecordReading reading = read(bytes);
  EXPECT_EQ(reading.kind, Kind::torn);
  EXPECT_EQ(reading.first_wrong, 40u);
}

TEST(ReadRecord, ARecordMadeLongerIsTornWhereItShouldEnd) {
  std::vector<std::byte> bytes = test::bytes_of(sample);
  bytes.resize(72);
  const RecordReading reading = read(bytes);
  EXPECT_EQ(reading.kind, Kind::torn);
  EXPECT_EQ(reading.first_wrong, 64u);
}

TEST(ReadRecord, PerfPaddingOfUpTo7BytesIsNoPartOfTheRecord) {
  std::vector<std::byte> bytes = test::bytes_of(sample);
  bytes.resize(64 + 7, std::byte{0xee});
  EXPECT_EQ(read(bytes, 7).kind, Kind::proven);
  bytes.resize(64 + 8, std::byte{0xee});
  EXPECT_EQ(read(bytes, 7).kind, Kind::torn);
}

TEST(ReadRecord, NothingIsAnEmptyRecordOfABpfRing) {
  EXPECT_EQ(read({}).kind, Kind::empty);
  EXPECT_EQ(read({}, 7).kind, Kind::alien);
}

TEST(ReadRecord, FourBytesAreAnEmptyRecordOfAPerfRing) {
  EXPECT_EQ(read(std::vector<std::byte>(4), 7).kind, Kind::empty);
  EXPECT_EQ(read(std::vector<std::byte>(4)).kind, Kind::alien);  // a BPF ring's: state 0
}

TEST(ReadRecord, PerfRecordsBelow16BytesCannotBeToldFromPadding) {
  EXPECT_EQ(read(test::padded(test::record(0, 9)), 7).kind, Kind::alien);
}

TEST(ReadRecord, BytesThatNobodyWroteAsARecordAreAlien) {
  EXPECT_EQ(read(std::vector<std::byte>(64)).kind, Kind::alien);
  EXPECT_EQ(read(std::vector<std::byte>(64, std::byte{0xff})).kind, Kind::alien);
  EXPECT_EQ(read(std::vector<std::byte>(64, std::byte{'x'})).kind, Kind::alien);
}

TEST(ReadRecord, ShortRecordsResolveTheirNumberNearTheOneExpected) {
  EXPECT_EQ(read(test::record(1003, 1), 0, 1001).identity.sequence, 1003u);
  EXPECT_EQ(read(test::record(998, 1), 0, 1001).identity.sequence, 998u);
  EXPECT_EQ(read(test::record(2'000'000, 3), 0, 1'900'000).identity.sequence, 2'000'000u);  // 19 bits: +- 262144
}

TEST(ReadRecord, AWrongKeyByteOfAShortRecordIsTorn) {
  std::vector<std::byte> bytes = test::record(9, 8);
  bytes[6] ^= std::byte{0x10};
  const RecordReading reading = read(bytes);
  EXPECT_EQ(reading.kind, Kind::torn);
  EXPECT_EQ(reading.first_wrong, 6u);
}

TEST(ResolveSequence, TakesTheNearestNumberWithThoseLowBits) {
  EXPECT_EQ(resolve_sequence({.low = 2, .bits = 3}, 17), 18u);
  EXPECT_EQ(resolve_sequence({.low = 7, .bits = 3}, 17), 15u);
  EXPECT_EQ(resolve_sequence({.low = 1, .bits = 3}, 17), 17u);
}

TEST(ResolveSequence, ATieGoesToTheNumberAhead) { EXPECT_EQ(resolve_sequence({.low = 5, .bits = 3}, 17), 21u); }

TEST(ResolveSequence, NeverGoesBelowZero) { EXPECT_EQ(resolve_sequence({.low = 7, .bits = 3}, 1), 7u); }

TEST(ResolveSequence, SixtyFourBitsNeedNoNeighbour) { EXPECT_EQ(resolve_sequence({.low = 9, .bits = 64}, 5), 9u); }

TEST(RecordText, SaysWhoWhichAndHowLong) {
  EXPECT_EQ(text_of(sample), "source 3 record 77 of 64 bytes");
  RecordIdentity draft = sample;
  draft.state = RecordState::draft;
  EXPECT_EQ(text_of(draft), "source 3 record 77 of 64 bytes (draft)");
}

TEST(RecordText, SaysHowARecordRead) {
  EXPECT_EQ(text_of(read(test::bytes_of(sample))), "proven source 3 record 77 of 64 bytes");
  EXPECT_EQ(text_of(read({})), "empty");
  EXPECT_EQ(text_of(read(std::vector<std::byte>(16))), "alien");
  EXPECT_EQ(
      text_of(RecordReading{.kind = Kind::torn, .identity = sample, .first_wrong = 24, .found = 0, .expected = 0x5c}),
      "torn source 3 record 77 of 64 bytes at byte 24: 0x00, should be 0x5c");
}

}  // namespace
}  // namespace ringside::ring
