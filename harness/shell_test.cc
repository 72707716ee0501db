// SPDX-License-Identifier: Apache-2.0
#include "harness/shell.h"

#include <gtest/gtest.h>

namespace ringside::harness {
namespace {

TEST(ShellQuoted, LeavesHarmlessWordsAlone) {
  EXPECT_EQ(shell_quoted("scenarios/my_case-1.toml"), "scenarios/my_case-1.toml");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace ringside::harness
