// SPDX-License-Identifier: Apache-2.0
//
// An operation on a kernel side has ended, its wake-ups included, when the side has carried it out: on every kernel and
// whatever the CPU puts off until its next tick.
#include <gtest/gtest.h>

#include "conform/perf_test_support.h"
#include "conform/readiness_kernel.h"
#include "conform/user_ringbuf_test_support.h"

namespace ringside::conform {
namespace {

/// Plays the script on the kernel some times, with a line to the kernel's log before each operation that may wake. Its
/// last one must find one item ready each time.
void expect_woken(Lab& lab, const Script& script) {
  const real::test::KernelLog log;
  for (int round = 0; round < 5; ++round) {
    auto side = lab.side(script);
    ASSERT_TRUE(side) << side.error();
    std::int64_t last = 0;
    for (std::size_t at = 0; at < script.ops.size(); ++at) {
      if (!is_readiness(script.ops[at].verb)) log.write_line();
      const auto outcome = (*side)->apply(script.ops[at], at + 1);
      ASSERT_TRUE(outcome) << outcome.error();
      last = outcome->result;
    }
    EXPECT_EQ(last, 1) << round;
  }
}

using RingbufWakeups = test::LabTest<ring::RingKind::ringbuf>;
TEST_F(RingbufWakeups, AreThereWhenACommitHasEnded) {
  expect_woken(lab(), test::must_parse("ringside-script 1\nringbuf pages=1 overwrite=no look=asked\n"
                                       "epoll_add set=0 trigger=edge\noutput size=8 flags=0\nepoll_wait set=0\nend\n"));
}

using UserWakeups = test::UserConform;
TEST_F(UserWakeups, AreThereWhenADrainHasEnded) {
  expect_woken(lab(), script("1", "asked",
                             "epoll_add set=0 trigger=edge\nepoll_wait set=0\ndrain flags=2 stop=0\n"
                             "epoll_wait set=0\n"));
}

using PerfWakeups = test::PerfConform;
TEST_F(PerfWakeups, AreThereWhenAnOutputHasEnded) {
  expect_woken(lab(), test::perf_script({.wakeup = "1"},
                                        "epoll_add set=0 trigger=edge event=a\noutput slot=a size=4 flags=0\n"
                                        "epoll_wait set=0\n"));
}

}  // namespace
}  // namespace ringside::conform
