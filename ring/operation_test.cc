// SPDX-License-Identifier: Apache-2.0
#include "ring/operation.h"

#include <gtest/gtest.h>

#include <sstream>

namespace ringside::ring {
namespace {

std::string text_of(const Operation& operation) {
  std::ostringstream out;
  out << operation;
  return out.str();
}

TEST(Operation, PrintsWhoDoesWhatAndWhere) {
  EXPECT_EQ(text_of({.action = Action::submit, .source = 1, .cpu = 3, .size = 64}),
            "submit 64 bytes by source 1 on cpu 3");
}

TEST(Operation, PrintsItsWakeupFlags) {
  EXPECT_EQ(text_of({.action = Action::output, .flags = flag_no_wakeup | flag_force_wakeup, .size = 8}),
            "output 8 bytes by source 0 on cpu 0, no wakeup, forced wakeup");
}

TEST(Operation, ASettlementHasNoSizeOfItsOwn) {
  EXPECT_EQ(text_of({.action = Action::settle_discard, .source = 2}), "settle_discard by source 2 on cpu 0");
}

TEST(Operation, PrintsTheRecordsThatInterruptIt) {
  EXPECT_EQ(text_of({.action = Action::hold, .nested_source = 4, .size = 16, .nested = 2, .nested_size = 24}),
            "hold 16 bytes by source 0 on cpu 0, interrupted by 2 records of 24 bytes by source 4");
}

}  // namespace
}  // namespace ringside::ring
