// SPDX-License-Identifier: Apache-2.0
//
// What the tests of explored code share: a program of plain functions, and what is expected of its exploration.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "explore/explored.h"

namespace ringside::explore {

/// A test adds what it saw.
struct Observed {
  SearchResult result;
};

inline Program program_of(const std::vector<void (*)()>& threads, void (*begin)(), std::function<void()> end) {
  Program program;
  if (begin != nullptr) program.begin = begin;
  for (const auto thread : threads) program.threads.emplace_back(thread);
  program.end = std::move(end);
  return program;
}

inline void expect_clean(const Observed& seen) {
  EXPECT_FALSE(seen.result.failure) << seen.result.failure->what;
  EXPECT_GT(seen.result.complete, 0u);
}

inline void expect_clean(const Observed& seen, std::uint64_t executions) {
  expect_clean(seen);
  EXPECT_EQ(seen.result.complete, executions);
}

inline void expect_failure(const Observed& seen, FailureKind kind, const std::string& what = "") {
  ASSERT_TRUE(seen.result.failure);
  EXPECT_EQ(name_of(seen.result.failure->kind), name_of(kind)) << seen.result.failure->what;
  EXPECT_NE(seen.result.failure->what.find(what), std::string::npos) << seen.result.failure->what;
}

}  // namespace ringside::explore
