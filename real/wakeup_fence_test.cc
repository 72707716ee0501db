// SPDX-License-Identifier: Apache-2.0
//
// Whoever says that the wake-ups of what it did are done: they are, on every kernel and whatever the CPU puts off.
#include "real/wakeup_fence.h"

#include <sched.h>

#include "real/epoll_set.h"
#include "real/kernel_test.h"
#include "real/pinned.h"
#include "real/user_ringbuf.h"

namespace ringside::real {
namespace {

using ring::Action;

constexpr int rounds = 5;

class WakeupFenceTest : public test::KernelTest {
 protected:
  void SetUp() override {
    test::KernelTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto pinned = pin_to(cpu_);
    ASSERT_TRUE(pinned) << pinned.error();
  }
  static int ready_now(EpollSet& set) {
    ringside_ready ready{};
    return set.wait(&ready, 1, 0);
  }

  std::uint32_t cpu_ = test::cpus().front();
  test::KernelLog log_;
};

TEST_F(WakeupFenceTest, AScriptsWakeupsAreThereWhenItHasRun) {
  const auto ring = RingbufMap::create(4096);
  const auto producers = Producers::load(*ring);
  auto script = ScriptProducer::create(*producers);
  auto set = EpollSet::create({&ring->ring(), 1}, RINGSIDE_EDGE);
  const auto record = test::operation(Action::submit, 8, 0, static_cast<std::uint16_t>(cpu_), ring::flag_force_wakeup);
  for (int round = 0; round < rounds; ++round) {
    log_.write_line();
    ASSERT_TRUE(script->run({&record, 1}));
    EXPECT_EQ(ready_now(*set), 1) << round;
  }
}

TEST_F(WakeupFenceTest, TheWakeupOfASettledHoldIsThere) {
  const auto ring = RingbufMap::create(4096);
  const auto producers = Producers::load(*ring);
  auto set = EpollSet::create({&ring->ring(), 1}, RINGSIDE_EDGE);
  for (int round = 0; round < rounds; ++round) {
    auto held = Hold::start(*producers, {.source = 0, .cpu = cpu_, .size = 8, .flags = ring::flag_force_wakeup});
    ASSERT_TRUE(held) << held.error();
    log_.write_line();
    ASSERT_TRUE(held->settle(Action::settle_submit));
    EXPECT_EQ(ready_now(*set), 1) << round;
  }
}

TEST_F(WakeupFenceTest, AFloodsWakeupsAreThereWhenItIsDone) {
  const auto ring = RingbufMap::create(4096);
  const auto producers = Producers::load(*ring);
  auto set = EpollSet::create({&ring->ring(), 1}, RINGSIDE_EDGE);
  // The second record finds no room until the first one is consumed: then it is the flood's last.
  const FloodThread thread{
      .cpu = cpu_, .source = 0, .records = 2, .min_size = 4000, .max_size = 4000, .flags = ring::flag_force_wakeup};
  for (int round = 0; round < rounds; ++round) {
    consume_all(ring->ring());
    auto flood = Flood::start(*producers, {&thread, 1});
    ASSERT_TRUE(flood) << flood.error();
    ringside_ready ready{};
    ASSERT_EQ(set->wait(&ready, 1, 10'000'000'000), 1);
    log_.write_line();
    consume_all(ring->ring());
    while (!flood->done()) ::sched_yield();
    EXPECT_EQ(ready_now(*set), 1) << round;
    ASSERT_TRUE(flood->join());
  }
}

TEST_F(WakeupFenceTest, TheWakeupOfADrainIsThere) {
  const auto ring = UserRingbufMap::create(4096);
  if (!ring && ring.error().code == EINVAL) return;  // before kernel 6.1
  ASSERT_TRUE(ring) << ring.error();
  auto drain = UserDrain::load(*ring);
  ASSERT_TRUE(drain) << drain.error();
  const Fd set(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLOUT | EPOLLET;
  ASSERT_EQ(::epoll_ctl(set.get(), EPOLL_CTL_ADD, ring->map_fd(), &event), 0);
  ASSERT_EQ(::epoll_wait(set.get(), &event, 1, 0), 1) << "there is room from the beginning";
  for (int round = 0; round < rounds; ++round) {
    log_.write_line();
    ASSERT_TRUE(drain->drain(ring::flag_force_wakeup, 0, [](auto) {}));
    EXPECT_EQ(::epoll_wait(set.get(), &event, 1, 0), 1) << round;
  }
}

TEST_F(WakeupFenceTest, IsPassedFromAnyCpuForAnyCpu) {
  const auto fence = WakeupFence::create();
  ASSERT_TRUE(fence) << fence.error();
  for (const std::uint32_t cpu : test::cpus()) {
    for (int round = 0; round < rounds; ++round) {
      const auto passed = fence->pass(cpu);
      EXPECT_TRUE(passed) << passed.error();
    }
  }
}

}  // namespace
}  // namespace ringside::real
