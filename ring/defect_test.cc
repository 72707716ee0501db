// SPDX-License-Identifier: Apache-2.0
#include "ring/defect.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace ringside::ring {
namespace {

std::string text_of(const Defect& defect) {
  std::ostringstream out;
  out << defect;
  return out.str();
}

TEST(Defect, EveryKindHasItsOwnNameThatLeadsBackToIt) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < defect_kind_count; ++i) {
    const auto kind = static_cast<DefectKind>(i);
    EXPECT_EQ(defect_kind_of(name_of(kind)), kind);
    names.insert(name_of(kind));
  }
  EXPECT_EQ(names.size(), defect_kind_count);
}

TEST(Defect, NamesAreStable) {
  EXPECT_EQ(name_of(DefectKind::lost), "lost");
  EXPECT_EQ(name_of(DefectKind::position_overrun), "position_overrun");
  EXPECT_EQ(name_of(DefectKind::missed_wakeup), "missed_wakeup");
  EXPECT_EQ(name_of(DefectKind::protocol), "protocol");
}

TEST(Defect, AnUnknownNameIsNoKind) {
  EXPECT_EQ(defect_kind_of("losst"), std::nullopt);
  EXPECT_EQ(defect_kind_of(""), std::nullopt);
}

TEST(Defect, PrintsItsKindItsCountAndItsFirstOccurrence) {
  const Defect defect{
      .kind = DefectKind::torn, .source = 1, .sequence = 77, .count = 3, .detail = "source 1 record 77: byte 24"};
  EXPECT_EQ(text_of(defect), "torn x3: source 1 record 77: byte 24");
}

TEST(Defect, ASingleOccurrencePrintsNoCount) {
  EXPECT_EQ(text_of({.kind = DefectKind::hang, .detail = "drain did not return"}), "hang: drain did not return");
}

TEST(Defect, IsEqualOnlyWhenAllOfItIs) {
  const Defect defect{.kind = DefectKind::lost, .sequence = 5, .detail = "gone"};
  Defect other = defect;
  EXPECT_EQ(defect, other);
  other.sequence = 6;
  EXPECT_NE(defect, other);
}

}  // namespace
}  // namespace ringside::ring
