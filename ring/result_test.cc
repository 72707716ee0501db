// SPDX-License-Identifier: Apache-2.0
#include "ring/result.h"

#include <gtest/gtest.h>

#include <sstream>

namespace ringside::ring {
namespace {

TEST(Result, AnErrnoErrorNamesItsErrno) {
  const Result<int> result = errno_error("map consumer page of ring \"events\"", EPERM, "run it as root");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, EPERM);
  EXPECT_EQ(to_string(result.error()), "map consumer page of ring \"events\": EPERM; run it as root");
}

TEST(Result, AnErrorWithoutARemedyEndsAfterItsReason) {
  const Result<int> result = error("read scenario", "unknown key \"sise\"");
  EXPECT_EQ(to_string(result.error()), "read scenario: unknown key \"sise\"");
  EXPECT_EQ(result.error().code, 0);
}

TEST(Result, AnErrorIsOneLineWhateverItsReasonHolds) {
  const Result<int> result = error("load program", "first\nsecond");
  EXPECT_EQ(to_string(result.error()), "load program: first second");
}

TEST(Result, AnErrorPrintsAsItsText) {
  std::ostringstream out;
  out << Error{"open ring", "ENOENT", "create it", ENOENT};
  EXPECT_EQ(out.str(), "open ring: ENOENT; create it");
}

TEST(Result, AnErrnoWithoutANameShowsItsDigits) {
  EXPECT_EQ(errno_name(EINVAL), "EINVAL");
  EXPECT_EQ(errno_name(524), "524");  // ENOTSUPP lives in the kernel only
}

}  // namespace
}  // namespace ringside::ring
