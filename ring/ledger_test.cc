// SPDX-License-Identifier: Apache-2.0
#include "ring/ledger.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <sstream>

namespace ringside::ring {
namespace {

TEST(SourceLedger, SumsFailuresOverAllErrnos) {
  SourceLedger ledger;
  EXPECT_EQ(ledger.failed_total(), 0u);
  ledger.failed = {{ENOSPC, 40}, {EBUSY, 2}};
  EXPECT_EQ(ledger.failed_total(), 42u);
}

TEST(SourceLedger, ZeroLengthRecordsCarryNoNumber) {
  SourceLedger ledger;
  ledger.committed = 10;
  ledger.empty = 3;
  EXPECT_EQ(ledger.numbered(), 7u);
}

TEST(SourceLedger, PrintsEveryOutcome) {
  const SourceLedger ledger{.ring = 2,
                            .attempts = 15,
                            .committed = 9,
                            .empty = 1,
                            .discarded = 2,
                            .malformed = 1,
                            .open = 1,
                            .failed = {{EBUSY, 1}, {ENOSPC, 1}}};
  std::ostringstream out;
  out << ledger;
  EXPECT_EQ(out.str(),
            "ring 2: 15 attempts, 9 committed (1 empty), 2 discarded, 1 malformed, 1 open, 2 failed (EBUSY 1, ENOSPC "
            "1)");
}

}  // namespace
}  // namespace ringside::ring
