// SPDX-License-Identifier: Apache-2.0
#include "explore/fiber.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace ringside::explore {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

TEST(Fiber, GoesOnWhereItLeft) {
  Fiber main;
  Fiber fiber(stack_bytes);
  std::vector<int> trace;
  fiber.start([&] {
    for (int i = 0;; ++i) {
      trace.push_back(i);
      main.switch_from(fiber);
    }
  });
  for (int i = 0; i < 3; ++i) {
    trace.push_back(100);
    fiber.switch_from(main);
  }
  EXPECT_EQ(trace, (std::vector{100, 0, 100, 1, 100, 2}));
}

TEST(Fiber, SwitchesToAnotherFiberDirectly) {
  Fiber main;
  Fiber a(stack_bytes);
  Fiber b(stack_bytes);
  std::vector<char> trace;
  a.start([&] {
    trace.push_back('a');
    b.switch_from(a);
    trace.push_back('A');
    main.switch_from(a);
  });
  b.start([&] {
    trace.push_back('b');
    a.switch_from(b);
  });
  a.switch_from(main);
  EXPECT_EQ(trace, (std::vector{'a', 'b', 'A'}));
}

TEST(Fiber, StartsAnewAlthoughItNeverFinished) {
  Fiber main;
  Fiber fiber(stack_bytes);
  int begun = 0;
  for (int round = 0; round < 100; ++round) {
    fiber.start([&] {
      ++begun;
      std::array<char, 1024> frame{};
      frame[static_cast<std::size_t>(begun)] = 1;
      main.switch_from(fiber);
    });
    fiber.switch_from(main);
  }
  EXPECT_EQ(begun, 100);
}

TEST(Fiber, KeepsWhatACallMustKeepIncludingTheStacksAlignment) {
  Fiber main;
  Fiber fiber(stack_bytes);
  bool aligned = false;
  double sum = 0;
  fiber.start([&] {
    alignas(16) std::array<double, 2> values{0.5, 0.25};
    aligned = reinterpret_cast<std::uintptr_t>(values.data()) % 16 == 0;
    double mine = values[0];
    main.switch_from(fiber);
    sum = mine + values[1];
    main.switch_from(fiber);
  });
  fiber.switch_from(main);
  fiber.switch_from(main);
  EXPECT_TRUE(aligned);
  EXPECT_EQ(sum, 0.75);
}

TEST(Fiber, KnowsThePageThatAnOverflowHits) {
  const Fiber fiber(stack_bytes);
  const int here = 0;
  EXPECT_FALSE(fiber.guards(&here));
}

}  // namespace
}  // namespace ringside::explore
