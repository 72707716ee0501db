// SPDX-License-Identifier: Apache-2.0
#include "ring/damaged_header.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ring/judge_test_support.h"

namespace ringside::ring {
namespace {

/// Sources 0, 1 and 2 are expected to deliver records 10, 11 and 12 next.
std::optional<DamagedHeader> recognise(const std::vector<std::byte>& bytes, std::size_t padding = 0) {
  return recognise_damaged_header(bytes, padding, 3, [](std::uint32_t source) { return 10u + source; });
}

RecordIdentity expected_of_source_1(std::uint32_t length) {
  return {.source = 1, .state = RecordState::committed, .length = length, .sequence = 11};
}

TEST(DamagedHeader, EveryFlippedBitOfAHeaderIsFound) {
  for (const std::uint32_t length : {16u, 17u, 24u, 64u}) {
    const RecordIdentity identity = expected_of_source_1(length);
    for (unsigned bit = 0; bit < 128; ++bit) {
      std::vector<std::byte> bytes = test::bytes_of(identity);
      const auto right = static_cast<std::uint8_t>(bytes[bit / 8]);
      bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
      const auto damage = recognise(bytes);
      ASSERT_TRUE(damage) << "length " << length << " bit " << bit;
      EXPECT_EQ(damage->identity, identity) << "length " << length << " bit " << bit;
      EXPECT_EQ(damage->first_wrong, bit / 8);
      EXPECT_EQ(damage->found, right ^ (1u << (bit % 8)));
      EXPECT_EQ(damage->expected, right);
    }
  }
}

TEST(DamagedHeader, AWrongSourceIsNotTakenForTheRecordOfThatSource) {
  for (const std::uint32_t length : {16u, 64u}) {
    std::vector<std::byte> bytes = test::record(5, length, 0);
    bytes[4] = std::byte{1};
    const auto damage = recognise_damaged_header(bytes, 0, 2, [](std::uint32_t) { return 5u; });
    ASSERT_TRUE(damage);
    EXPECT_EQ(damage->identity.source, 0u);
    EXPECT_EQ(damage->first_wrong, 4u);
  }
}

TEST(DamagedHeader, PaddingDoesNotHideTheLength) {
  std::vector<std::byte> bytes = test::padded(test::bytes_of(expected_of_source_1(41)));
  bytes[0] ^= std::byte{0x20};
  const auto damage = recognise(bytes, 7);
  ASSERT_TRUE(damage);
  EXPECT_EQ(damage->identity, expected_of_source_1(41));
}

TEST(DamagedHeader, AWholePayloadProvesARecordWhoseHeaderIsGone) {
  std::vector<std::byte> bytes = test::bytes_of(expected_of_source_1(64));
  std::fill_n(bytes.begin(), RINGSIDE_RECORD_HEADER_BYTES, std::byte{0});
  const auto damage = recognise(bytes);
  ASSERT_TRUE(damage);
  EXPECT_EQ(damage->identity, expected_of_source_1(64));
  EXPECT_EQ(damage->first_wrong, 0u);
}

TEST(DamagedHeader, BytesOfNoRecordAreNotRecognised) {
  EXPECT_FALSE(recognise(std::vector<std::byte>(64)));
  EXPECT_FALSE(recognise(std::vector<std::byte>(64, std::byte{0xee})));
  EXPECT_FALSE(recognise(std::vector<std::byte>(17), 7));
}

TEST(DamagedHeader, ARecordThatIsNotDueIsNotRecognisedByItsHeaderAlone) {
  std::vector<std::byte> bytes = test::record(9, 64, 1);  // 11 is due
  bytes[6] ^= std::byte{1};
  EXPECT_FALSE(recognise(bytes));
}

}  // namespace
}  // namespace ringside::ring
