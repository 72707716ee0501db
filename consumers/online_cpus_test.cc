// SPDX-License-Identifier: Apache-2.0
#include "consumers/online_cpus.h"

#include <gtest/gtest.h>

namespace ringside::consumers {
namespace {

using Cpus = std::vector<int>;

TEST(CpuList, ReadsRangesAndSingleNumbersWithGaps) {
  EXPECT_EQ(parse_cpu_list("0\n"), Cpus({0}));
  EXPECT_EQ(parse_cpu_list("0-3"), Cpus({0, 1, 2, 3}));
  EXPECT_EQ(parse_cpu_list("1,3-4,7\n"), Cpus({1, 3, 4, 7}));
}

TEST(CpuList, RefusesWhatIsNoList) {
  for (const char* text : {"", "\n", "a", "0-", "-1", "3-1", "0,,1", "0-1,", "0 1", "99999999999", "0-65536"})
    EXPECT_EQ(parse_cpu_list(text), std::nullopt) << text;
}

TEST(CpuList, SomeCpuIsOnlineHere) {
  const std::optional<Cpus> cpus = online_cpus();
  ASSERT_TRUE(cpus.has_value());
  EXPECT_FALSE(cpus->empty());
}

}  // namespace
}  // namespace ringside::consumers
