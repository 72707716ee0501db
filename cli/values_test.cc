// SPDX-License-Identifier: Apache-2.0
#include "cli/values.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace ringside::cli {
namespace {

template <class T>
std::string reason(const Value<T>& value) {
  return value ? "it was read" : value.error().reason;
}

TEST(Count, KnowsDecimalSuffixes) {
  EXPECT_EQ(parse_count("1"), 1u);
  EXPECT_EQ(parse_count("64K"), 64'000u);
  EXPECT_EQ(parse_count("100M"), 100'000'000u);
  EXPECT_EQ(parse_count("2g"), 2'000'000'000u);
}

TEST(Count, TakesTheLargestNumberAndNotOneMore) {
  EXPECT_EQ(parse_count("1000000000000"), 1'000'000'000'000u);
  EXPECT_EQ(parse_count("1000G"), 1'000'000'000'000u);
  EXPECT_EQ(parse_count("1000000000001").error(),
            (BadValue{"\"1000000000001\" is no count",
                      "write a number from 1 to 1000G (10^12), such as 5000, 64K, 100M or 2G"}));
  // 2^64 / 10^9 is 18446744073.7: the product of the second does not fit into 64 bits.
  for (const char* text : {"1001G", "18446744074G", "18446744073709551615", "18446744073709551616"}) {
    EXPECT_FALSE(parse_count(text).has_value()) << text;
  }
}

TEST(Count, RefusesWhatIsNoCount) {
  for (const char* text : {"", "0", "0K", "K", "-1", "+1", "1.5M", "10 ", " 10", "1KK", "0x10", "ten"}) {
    EXPECT_FALSE(parse_count(text).has_value()) << text;
  }
}

RC_GTEST_PROP(Seed, ReadsBackInBothBases, (std::uint64_t seed)) {
  RC_ASSERT(parse_seed(fmt::format("{}", seed)) == seed);
  RC_ASSERT(parse_seed(fmt::format("0x{:x}", seed)) == seed);
  RC_ASSERT(parse_seed(fmt::format("0X{:016X}", seed)) == seed);
}

TEST(Seed, RefusesWhatIsNoSeed) {
  for (const char* text : {"", "0x", "-1", "1e9", "0x1g", "0x10000000000000000", "18446744073709551616", "12 "}) {
    EXPECT_FALSE(parse_seed(text).has_value()) << text;
  }
}

TEST(Duration, KnowsItsUnits) {
  EXPECT_EQ(parse_duration_ms("500ms"), 500u);
  EXPECT_EQ(parse_duration_ms("10"), 10'000u);
  EXPECT_EQ(parse_duration_ms("10s"), 10'000u);
  EXPECT_EQ(parse_duration_ms("2m"), 120'000u);
  EXPECT_EQ(parse_duration_ms("1440m"), 86'400'000u);
}

TEST(Duration, RefusesNoneAndMoreThanADay) {
  for (const char* text : {"", "0", "0ms", "1441m", "1h", "s", "-5s", "1.5s", "99999999999999999999m"}) {
    EXPECT_FALSE(parse_duration_ms(text).has_value()) << text;
  }
}

TEST(Worlds, KnowsBoth) {
  using harness::WorldKind;
  EXPECT_EQ(parse_worlds("both"), (std::vector{WorldKind::model, WorldKind::kernel}));
  EXPECT_EQ(parse_worlds("kernel"), std::vector{WorldKind::kernel});
  EXPECT_EQ(parse_worlds("explored"), std::vector{WorldKind::explored});
}

TEST(Names, AnUnknownOneMeetsTheNearest) {
  EXPECT_EQ(parse_worlds("modle").error(), (BadValue{"\"modle\" is not known", "did you mean \"model\"?"}));
  EXPECT_EQ(parse_ring("queue").error(), (BadValue{"\"queue\" is not known", "valid: ringbuf, perf, user_ringbuf"}));
  EXPECT_EQ(parse_format("xml").error(), (BadValue{"\"xml\" is not known", "valid: table, json, junit"}));
}

TEST(Bytes, CountInPowersOfTwo) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("64K"), 65536u);
  EXPECT_EQ(parse_bytes("64MiB"), 64u << 20);
  EXPECT_EQ(parse_bytes("1g"), 1u << 30);
}

TEST(Bytes, RefuseNoneAndWhatNoMachineHas) {
  for (const char* text : {"", "0", "K", "64KB", "-1", "1.5M", "1025G", "99999999999999999999"}) {
    EXPECT_FALSE(parse_bytes(text).has_value()) << text;
  }
}

TEST(Touch, AnUnknownOneMeetsTheNearest) {
  EXPECT_EQ(parse_touch("copy"), harness::Touch::copy);
  EXPECT_EQ(parse_touch("lime").error(), (BadValue{"\"lime\" is not known", "did you mean \"line\"?"}));
}

TEST(Switch, KnowsOnAndOff) {
  EXPECT_EQ(parse_switch("1"), true);
  EXPECT_EQ(parse_switch("off"), false);
  EXPECT_FALSE(parse_switch("maybe").has_value());
}

TEST(SplitNames, TakesCommasAndRepetitionsAndKeepsEachOnce) {
  EXPECT_EQ(split_names({"a,b", "c", "b"}), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(SplitNames, RefusesAnEmptyName) {
  for (const char* text : {"", ",", "a,", ",a", "a,,b"}) EXPECT_FALSE(split_names({text}).has_value()) << text;
}

}  // namespace
}  // namespace ringside::cli
