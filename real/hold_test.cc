// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "real/epoll_set.h"
#include "real/kernel_test.h"

namespace ringside::real {
namespace {

using ring::Action;
using ring::RecordState;

class HoldTest : public test::KernelTest {
 protected:
  void SetUp() override {
    test::KernelTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ring_.emplace(std::move(*RingbufMap::create(4096)));
    producers_.emplace(std::move(*Producers::load(*ring_)));
  }
  Hold hold(std::uint32_t size, std::uint32_t source = 0) {
    auto started = Hold::start(*producers_, {.source = source, .cpu = test::cpus().back(), .size = size});
    EXPECT_TRUE(started) << started.error();
    return std::move(*started);
  }
  const ringside_ring& ring() const { return ring_->ring(); }

  std::optional<RingbufMap> ring_;
  std::optional<Producers> producers_;
};

TEST_F(HoldTest, ADraftIsVisibleWhileBusy) {
  const Hold held = hold(200);
  const auto found = test::read_ringbuf(ring(), false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].header, 200u | ring::ringbuf::busy_bit);
  EXPECT_EQ(found[0].payload, test::expected_bytes({0, RecordState::draft, 200, 0}));
  EXPECT_EQ(head_of(ring()), Head::busy);
  EXPECT_FALSE(has_deliverable(ring()));
}

TEST_F(HoldTest, SettlesAsSubmitOrDiscard) {
  for (const std::uint32_t size : {0u, 7u, 64u, 300u}) {
    Hold submitted = hold(size);
    ASSERT_TRUE(submitted.settle(Action::settle_submit));
    EXPECT_EQ(test::read_ringbuf(ring()).at(0).header, size);
    Hold discarded = hold(size);
    ASSERT_TRUE(discarded.settle(Action::settle_discard));
    EXPECT_EQ(test::read_ringbuf(ring()).at(0).header, size | ring::ringbuf::discard_bit);
    EXPECT_FALSE(discarded.settle(Action::settle_discard)) << "once only";
  }
  const auto ledger = producers_->ledger(1).sources[0];
  EXPECT_EQ(ledger.attempts, 8u);
  EXPECT_EQ(ledger.committed, 4u);
  EXPECT_EQ(ledger.empty, 1u);
  EXPECT_EQ(ledger.discarded, 4u);
}

TEST_F(HoldTest, AHeldRecordBlocksTheSpaceBehindIt) {
  Hold held = hold(8);  // span 16
  auto script = ScriptProducer::create(*producers_);
  const std::vector fill(128, test::operation(Action::submit, 24, 1));  // span 32: 127 would fit in 4088 bytes
  const auto first = script->run(fill);
  // 16 + 127 * 32 = 4080 fits; the 128th does not.
  EXPECT_EQ(std::count(first->begin(), first->end(), 0), 127);
  // Even a consumer that lies past everything frees nothing (KERNEL-RINGS 1.4).
  set_consumer_position(ring(), positions_of(ring()).producer);
  EXPECT_EQ(script->run(std::vector{test::operation(Action::submit, 24, 1)})->at(0), -ENOSPC);
  set_consumer_position(ring(), 0);
  ASSERT_TRUE(held.settle(Action::settle_submit));
  EXPECT_EQ(test::read_ringbuf(ring()).size(), 128u);
}

TEST_F(HoldTest, CommittingTheHeldRecordWakesTheConsumerThatWaitsForIt) {
  auto epoll = EpollSet::create({&ring(), 1}, RINGSIDE_EDGE);
  Hold held = hold(64);
  ringside_ready ready{};
  EXPECT_EQ(epoll->wait(&ready, 1, 0), 0) << "BUSY wakes nobody";
  auto script = ScriptProducer::create(*producers_);
  ASSERT_TRUE(script->run(std::vector{test::operation(Action::submit, 8, 1)}));
  EXPECT_EQ(epoll->wait(&ready, 1, 0), 0) << "the record behind it is not the one waited for";
  ASSERT_TRUE(held.settle(Action::settle_submit));
  EXPECT_EQ(epoll->wait(&ready, 1, 0), 1);
}

TEST_F(HoldTest, AFailedReservationIsAnErrorAndCounted) {
  const auto failed = Hold::start(*producers_, {.source = 0, .cpu = test::cpus().front(), .size = 4081});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ENOSPC);
  EXPECT_EQ(producers_->ledger(1).sources[0].failed, (std::map<int, std::uint64_t>{{ENOSPC, 1}}));
  EXPECT_EQ(producers_->ledger(1).sources[0].open, 0u);
  const auto nowhere = Hold::start(*producers_, {.source = 0, .cpu = 4000, .size = 8});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, EINVAL);
}

TEST_F(HoldTest, LeavingTheScopeDiscards) {
  {
    const Hold held = hold(16);
  }
  EXPECT_EQ(test::read_ringbuf(ring()).at(0).header, 16u | ring::ringbuf::discard_bit);
  EXPECT_EQ(producers_->ledger(1).sources[0].discarded, 1u);
}

TEST_F(HoldTest, SeveralAreHeldAtOnceAndSettleInAnyOrder) {
  Hold first = hold(16, 1);
  Hold second = hold(24, 2);
  ASSERT_TRUE(second.settle(Action::settle_submit));
  EXPECT_EQ(head_of(ring()), Head::busy);
  EXPECT_FALSE(has_deliverable(ring()));
  ASSERT_TRUE(first.settle(Action::settle_discard));
  EXPECT_TRUE(has_deliverable(ring()));
  EXPECT_EQ(test::read_ringbuf(ring()).size(), 2u);
}

TEST_F(HoldTest, NothingIsLeftAfterAHundred) {
  {
    const Hold warm_up = hold(8);
  }
  test::read_ringbuf(ring());
  const test::Holdings before = test::holdings();
  for (int i = 0; i < 100; ++i) {
    const Hold held = hold(8);
    ASSERT_FALSE(Hold::start(*producers_, {.source = 1, .cpu = 4000, .size = 8}));
  }
  EXPECT_EQ(test::holdings(), before);
}

TEST_F(HoldTest, AKilledProcessLetsGoOfItsRecord) {
  // The child holds a record of the shared map and is killed in its sleep; the record comes out discarded.
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto held = Hold::start(*producers_, {.source = 0, .cpu = test::cpus().back(), .size = 32});
    const char told = held ? 'h' : 'f';
    if (::write(pipe[1], &told, 1) == 1) ::pause();
    ::_exit(1);
  }
  char told = 0;
  ASSERT_EQ(::read(pipe[0], &told, 1), 1);
  EXPECT_EQ(told, 'h');
  EXPECT_EQ(head_of(ring()), Head::busy);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(test::read_ringbuf(ring()).at(0).header, 32u | ring::ringbuf::discard_bit);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace ringside::real
