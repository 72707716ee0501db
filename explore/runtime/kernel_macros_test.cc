// SPDX-License-Identifier: Apache-2.0
//
// The kernel's spelling of accesses, by the header that stands before its own.
#include <gtest/gtest.h>

#include "explore/explored.h"
#include "explore/runtime/test/kernel_macros.h"

namespace ringside::explore {
namespace {

SearchResult pass(void (*send)(), void (*receive)()) {
  return explore({.begin = {},
                  .threads = {send, receive},
                  .end =
                      [] {
                        if (kernel_macros_failed != 0) fail("the data is not there");
                      },
                  .aliases = {}});
}

struct Pair {
  void (*send)();
  void (*receive)();
};

TEST(KernelMacros, PassAMessageByReleaseAndAcquireOrByFences) {
  for (const Pair& pair : {Pair{macro_release, macro_acquire}, Pair{macro_write_behind_wmb, macro_read_before_rmb},
                           Pair{macro_release, macro_read_before_rmb}, Pair{macro_write_behind_wmb, macro_acquire}}) {
    const SearchResult result = pass(pair.send, pair.receive);
    EXPECT_FALSE(result.failure) << result.failure->what;
    EXPECT_EQ(result.complete, 2u);  // the flag is seen or not
  }
}

TEST(KernelMacros, AnAccessOnceIsNoOrder) {
  for (const Pair& pair : {Pair{macro_write_once, macro_acquire}, Pair{macro_release, macro_read_once}}) {
    const SearchResult result = pass(pair.send, pair.receive);
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(name_of(result.failure->kind), "data_race") << result.failure->what;
  }
}

}  // namespace
}  // namespace ringside::explore
