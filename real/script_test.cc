// SPDX-License-Identifier: Apache-2.0
//
// The script on BPF ring buffers: every byte, position, return value and count that the specification tells.
#include "real/epoll_set.h"
#include "real/kernel_test.h"
#include "real/pinned.h"
#include "real/program.h"

namespace ringside::real {
namespace {

using ring::Action;
using ring::Operation;
using ring::RecordState;
using test::operation;

class ScriptTest : public test::KernelTest {
 protected:
  void open(std::uint64_t size_bytes, const ProducersOptions& options = {}) {
    auto made = RingbufMap::create(size_bytes);
    ASSERT_TRUE(made) << made.error();
    ring_.emplace(std::move(*made));
    auto loaded = Producers::load(*ring_, options);
    ASSERT_TRUE(loaded) << loaded.error();
    producers_.emplace(std::move(*loaded));
    script_.emplace(std::move(*ScriptProducer::create(*producers_)));
  }

  std::vector<int> run(const std::vector<Operation>& operations) {
    auto results = script_->run(operations);
    EXPECT_TRUE(results) << results.error();
    return results ? *results : std::vector<int>{};
  }
  int run(const Operation& one) { return run(std::vector{one}).at(0); }

  const ringside_ring& ring() const { return ring_->ring(); }
  Positions positions() const { return positions_of(ring_->ring()); }
  ring::SourceLedger source(std::uint32_t number) const { return producers_->ledger(number + 1).sources.at(number); }

  std::optional<RingbufMap> ring_;
  std::optional<Producers> producers_;
  std::optional<ScriptProducer> script_;
};

// Sizes around each edge: empty, short records, the header alone, one chunk of 64 bytes, several, and odd ends.
constexpr std::array<std::uint32_t, 28> telling_sizes{
    0, 1, 2, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 23, 24, 63, 64, 65, 127, 128, 129, 191, 192, 1000, 4000, 4079};

TEST_F(ScriptTest, EveryActionWritesTheBytesOfWriteRecord) {
  open(8192);
  for (const Action action : {Action::submit, Action::output, Action::discard}) {
    std::uint64_t sequence = source(2).numbered();
    if (action == Action::discard) sequence = 0;
    for (const std::uint32_t size : telling_sizes) {
      ASSERT_EQ(run(operation(action, size, 2)), 0) << size;
      const auto found = test::read_ringbuf(ring());
      ASSERT_EQ(found.size(), 1u);
      const auto state = action == Action::discard ? RecordState::doomed : RecordState::committed;
      const std::uint32_t discard = action == Action::discard ? ring::ringbuf::discard_bit : 0;
      EXPECT_EQ(found[0].header, size | discard);
      EXPECT_EQ(found[0].page_offset, ring::ringbuf::page_offset(found[0].position, 8192, 4096));
      EXPECT_EQ(found[0].payload, test::expected_bytes({2, state, size, size == 0 ? 0 : sequence})) << size;
      if (size != 0) ++sequence;
    }
  }
}

TEST_F(ScriptTest, AMegabyteRecordIsRightToTheLastByte) {
  const std::uint32_t size = (1u << 20) - 16;  // the largest that fits
  open(1u << 20, {.max_record_bytes = 1u << 20});
  for (const Action action : {Action::submit, Action::output}) {
    ASSERT_EQ(run(operation(action, size)), 0);
    const auto found = test::read_ringbuf(ring());
    ASSERT_EQ(found.size(), 1u);
    const std::uint64_t sequence = action == Action::submit ? 0 : 1;
    EXPECT_EQ(found[0].payload, test::expected_bytes({0, RecordState::committed, size, sequence}));
  }
}

TEST_F(ScriptTest, SpansAreRoundedUpToEight) {
  open(4096);
  EXPECT_EQ(run(operation(Action::submit, 0)), 0);
  EXPECT_EQ(positions().producer, 8u);
  EXPECT_EQ(run(operation(Action::submit, 1)), 0);
  EXPECT_EQ(positions().producer, 8u + 16u);
  EXPECT_EQ(run(operation(Action::submit, 8)), 0);
  EXPECT_EQ(positions().producer, 24u + 16u);
  EXPECT_EQ(run(operation(Action::submit, 9)), 0);
  EXPECT_EQ(positions().producer, 40u + 24u);
}

TEST_F(ScriptTest, FillsAndFailsAsTheMeasuredExample) {
  // KERNEL-RINGS 1.10: from 392 on, 24 bytes x 127 fit, the 128th not, then 16 bytes fit, then 8 and 0 not.
  open(4096);
  ASSERT_TRUE(producers_->prefill(ring(), 392));
  EXPECT_EQ(positions(), (Positions{392, 392, 0}));
  const std::vector<int> filled = run(std::vector(127, operation(Action::output, 24)));
  EXPECT_EQ(filled, std::vector(127, 0));
  EXPECT_EQ(positions().producer, 392u + 127 * 32);
  EXPECT_EQ(run(operation(Action::output, 24)), -EAGAIN);
  EXPECT_EQ(positions().pending, 4456u);
  EXPECT_EQ(run(operation(Action::output, 16)), 0);
  EXPECT_EQ(positions().producer, 4480u);
  EXPECT_EQ(run({operation(Action::output, 8), operation(Action::output, 0)}), (std::vector{-EAGAIN, -EAGAIN}));
}

TEST_F(ScriptTest, TheLargestRecordIsSixteenBytesShortOfTheRing) {
  open(4096);
  EXPECT_EQ(run(operation(Action::submit, 4081)), -ENOSPC);
  EXPECT_EQ(run(operation(Action::output, 4081)), -EAGAIN);
  EXPECT_EQ(run(operation(Action::submit, 60'000)), -ENOSPC);
  EXPECT_EQ(positions().producer, 0u);
  EXPECT_EQ(run(operation(Action::submit, 4080)), 0);
}

TEST_F(ScriptTest, LedgerAccountsForEveryAttemptByErrno) {
  open(4096);
  // 511 empty records fill the ring (4088 bytes); what comes then fails in each of its ways.
  run(std::vector(511, operation(Action::submit, 0)));
  run({operation(Action::submit, 0), operation(Action::submit, 64), operation(Action::discard, 9),
       operation(Action::output, 10), operation(Action::output, 11)});
  const ring::SourceLedger ledger = source(0);
  EXPECT_EQ(ledger.attempts, 516u);
  EXPECT_EQ(ledger.committed, 511u);
  EXPECT_EQ(ledger.empty, 511u);
  EXPECT_EQ(ledger.discarded, 0u);
  EXPECT_EQ(ledger.failed, (std::map<int, std::uint64_t>{{ENOSPC, 3}, {EAGAIN, 2}}));
  EXPECT_EQ(ledger.attempts, ledger.committed + ledger.failed_total());
}

TEST_F(ScriptTest, AFailedAttemptGivesItsNumberToTheNext) {
  open(4096);
  EXPECT_EQ(run(operation(Action::output, 4000)), 0);
  EXPECT_EQ(run(operation(Action::output, 4000)), -EAGAIN);
  EXPECT_EQ(run(operation(Action::submit, 4000)), -ENOSPC);
  test::read_ringbuf(ring());
  EXPECT_EQ(run(operation(Action::submit, 100)), 0);
  EXPECT_EQ(test::read_ringbuf(ring()).at(0).payload, test::expected_bytes({0, RecordState::committed, 100, 1}));
  EXPECT_EQ(producers_->reserved_so_far(0), 2u);
}

TEST_F(ScriptTest, SourcesAndStatesCountOnTheirOwn) {
  open(8192);
  run({operation(Action::submit, 32, 5), operation(Action::discard, 32, 5), operation(Action::submit, 32, 6),
       operation(Action::submit, 32, 5)});
  const auto found = test::read_ringbuf(ring());
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].payload, test::expected_bytes({5, RecordState::committed, 32, 0}));
  EXPECT_EQ(found[1].payload, test::expected_bytes({5, RecordState::doomed, 32, 0}));
  EXPECT_EQ(found[2].payload, test::expected_bytes({6, RecordState::committed, 32, 0}));
  EXPECT_EQ(found[3].payload, test::expected_bytes({5, RecordState::committed, 32, 1}));
  EXPECT_EQ(source(5).discarded, 1u);
}

TEST_F(ScriptTest, MoreOperationsThanOneRunTakesKeepTheirOrder) {
  open(1u << 20);
  const std::vector<int> results = run(std::vector(1500, operation(Action::submit, 40)));
  EXPECT_EQ(results, std::vector(1500, 0));
  const auto found = test::read_ringbuf(ring());
  ASSERT_EQ(found.size(), 1500u);
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].payload, test::expected_bytes({0, RecordState::committed, 40, i}));
  }
}

TEST_F(ScriptTest, RunsOnTheCpuThatEachOperationNames) {
  open(8192);
  const auto cpus = test::cpus();
  std::vector<Operation> operations;
  for (const std::uint32_t cpu : cpus) {
    operations.push_back(
        operation(Action::submit, 24, static_cast<std::uint16_t>(cpu), static_cast<std::uint16_t>(cpu)));
  }
  operations.push_back(operations.front());
  EXPECT_EQ(run(operations), std::vector<int>(operations.size(), 0));
  const auto found = test::read_ringbuf(ring());
  ASSERT_EQ(found.size(), cpus.size() + 1);
  EXPECT_EQ(found.back().payload,
            test::expected_bytes({static_cast<std::uint16_t>(cpus[0]), RecordState::committed, 24, 1}));
}

TEST_F(ScriptTest, WakesAsTheFlagsSay) {
  // KERNEL-RINGS 4.2, level-triggered: nothing; NO_WAKEUP; not caught up; FORCE.
  open(4096);
  const int fd = ring().fd;
  auto epoll = EpollSet::create({&fd, 1}, RINGSIDE_EDGE);
  ASSERT_TRUE(epoll);
  ringside_ready ready{};
  EXPECT_EQ(epoll->wait(&ready, 1, 0), 0);
  run(operation(Action::submit, 8, 0, 0, ring::flag_no_wakeup));
  EXPECT_EQ(epoll->wait(&ready, 1, 0), 0);
  run(operation(Action::submit, 8));
  EXPECT_EQ(epoll->wait(&ready, 1, 0), 0) << "the consumer has not caught up";
  run(operation(Action::discard, 8, 0, 0, ring::flag_force_wakeup));
  EXPECT_EQ(epoll->wait(&ready, 1, 0), 1);
  EXPECT_EQ(ready.events, RINGSIDE_POLLIN);
  test::read_ringbuf(ring());
  run(operation(Action::output, 8));
  EXPECT_EQ(epoll->wait(&ready, 1, 0), 1) << "caught up: adaptive wake-up";
}

TEST_F(ScriptTest, HoldsAndSettlesBetweenOtherSources) {
  open(4096);
  EXPECT_EQ(run({operation(Action::hold, 48, 1), operation(Action::submit, 16, 0)}), (std::vector{0, 0}));
  EXPECT_TRUE(script_->holds(1));
  EXPECT_EQ(head_of(ring()), Head::busy);
  EXPECT_EQ(source(1).open, 1u);
  EXPECT_EQ(run(operation(Action::settle_submit, 0, 1)), 0);
  const auto found = test::read_ringbuf(ring());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].payload, test::expected_bytes({1, RecordState::committed, 48, 0}));
  EXPECT_EQ(source(1).open, 0u);
  EXPECT_EQ(source(1).committed, 1u);
}

TEST_F(ScriptTest, AHoldThatFoundNoRoomIsSettledInALaterRunToo) {
  open(4096);
  EXPECT_EQ(run(operation(Action::submit, 4000, 0)), 0);
  EXPECT_EQ(run(operation(Action::hold, 400, 1)), -ENOSPC);
  EXPECT_FALSE(script_->holds(1));
  EXPECT_FALSE(script_->run(std::vector{operation(Action::submit, 8, 1)})) << "its settle is still to come";
  EXPECT_EQ(run(operation(Action::settle_submit, 0, 1)), -ENOENT);
  EXPECT_FALSE(script_->run(std::vector{operation(Action::settle_submit, 0, 1)})) << "it has come";
  EXPECT_EQ(run({operation(Action::hold, 400, 1), operation(Action::settle_submit, 0, 1)}),
            (std::vector{-ENOSPC, -ENOENT}));
  EXPECT_EQ(source(1).attempts, 2u);
  EXPECT_EQ(source(1).failed, (std::map<int, std::uint64_t>{{ENOSPC, 2}}));
}

TEST_F(ScriptTest, NestedRecordsOfHardirqLieBehindTheOpenOne) {
  open(1u << 16);
  Operation outer = operation(Action::submit, 100, 0);
  outer.nested = 3;
  outer.nested_source = 1;
  outer.nested_size = 40;
  std::uint64_t nested_number = 0;
  for (std::uint64_t round = 0; round < 50; ++round) {
    ASSERT_EQ(run(outer), 0);
    const auto found = test::read_ringbuf(ring());
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[0].payload, test::expected_bytes({0, RecordState::committed, 100, round}));
    for (std::size_t i = 1; i < 4; ++i) {
      EXPECT_EQ(found[i].payload, test::expected_bytes({1, RecordState::committed, 40, nested_number++}));
    }
  }
  EXPECT_EQ(source(0).committed, 50u);
  EXPECT_EQ(source(1).committed, 150u);
  EXPECT_EQ(source(1).attempts, 150u);
}

TEST_F(ScriptTest, NestedRecordsThatFindNoRoomAreCounted) {
  open(4096);
  Operation outer = operation(Action::discard, 4000, 0);  // leaves 80 bytes
  outer.nested = 3;
  outer.nested_source = 1;
  outer.nested_size = 32;  // span 40: two fit, and not one byte more
  ASSERT_EQ(run(outer), 0);
  EXPECT_EQ(source(1).committed, 2u);
  EXPECT_EQ(source(1).failed, (std::map<int, std::uint64_t>{{EAGAIN, 1}}));
  EXPECT_EQ(test::read_ringbuf(ring()).size(), 3u);
}

TEST_F(ScriptTest, AnInterruptThatDoesNotComeIsToldAndTheRecordIsCommittedAllTheSame) {
  open(4096);
  // Run by hand: a ScriptProducer would have attached and enabled the clock that interrupts.
  Program& program = *producers_->program();
  ringside_op order{};
  order.action = RINGSIDE_SUBMIT;
  order.size = 16;
  order.nested = 1;
  order.nested_source = 1;
  order.nested_size = 24;
  program.shared().ops[0] = order;
  const std::uint32_t here = test::cpus().front();
  ASSERT_TRUE(pin_to(here));
  ASSERT_EQ(run_once(program.descriptors().script, 1, here), 0);
  EXPECT_EQ(program.shared().ops[0].result, -ETIMEDOUT);
  EXPECT_EQ(program.shared().nested.armed, 0u) << "a late interrupt finds no order";
  EXPECT_EQ(test::read_ringbuf(ring()).at(0).payload, test::expected_bytes({0, RecordState::committed, 16, 0}));
  EXPECT_EQ(source(0).committed, 1u);
  EXPECT_EQ(source(1), ring::SourceLedger{});

  Operation outer = operation(Action::submit, 16, 0);
  outer.nested = 1;
  outer.nested_source = 1;
  outer.nested_size = 24;
  EXPECT_EQ(run(outer), 0);
  EXPECT_EQ(test::read_ringbuf(ring()).at(1).payload, test::expected_bytes({1, RecordState::committed, 24, 0}));
}

TEST_F(ScriptTest, PrefillMovesThePositionsAndNothingElse) {
  for (const std::uint64_t bytes : {0u, 8u, 16u, 4088u, 4096u, 10'000u, 1'000'000u}) {
    open(4096);
    ASSERT_TRUE(producers_->prefill(ring(), bytes));
    EXPECT_EQ(positions().consumer, bytes);
    EXPECT_EQ(positions().producer, bytes);
    EXPECT_EQ(head_of(ring()), Head::empty);
    EXPECT_EQ(source(0), ring::SourceLedger{});
    run(operation(Action::submit, 77));
    EXPECT_EQ(test::read_ringbuf(ring()).at(0).payload, test::expected_bytes({0, RecordState::committed, 77, 0}));
  }
  EXPECT_FALSE(producers_->prefill(ring(), 12));
}

TEST_F(ScriptTest, RefusesWhatCannotRunBeforeItRunsAnything) {
  open(4096, {.max_record_bytes = 8192});
  const Operation good = operation(Action::submit, 8);
  Operation same_source = good;
  same_source.nested = 1;
  for (const Operation& bad : {operation(Action::submit, 8, 0, 9999), operation(Action::submit, 8, 64),
                               operation(Action::output, 9000), operation(Action::settle_submit, 0, 3), same_source}) {
    const auto results = script_->run(std::vector{good, bad});
    ASSERT_FALSE(results) << bad;
    EXPECT_FALSE(results.error().reason.empty());
  }
  EXPECT_EQ(positions().producer, 0u);
  EXPECT_FALSE(script_->run(std::vector{operation(Action::hold, 8, 1), operation(Action::submit, 8, 1)}));
}

TEST_F(ScriptTest, NothingIsLeftAfterManyLoads) {
  open(4096);
  run(operation(Action::submit, 8));
  script_.reset();
  producers_.reset();
  ring_.reset();
  const test::Holdings before = test::holdings();
  for (int i = 0; i < 20; ++i) {
    open(4096);
    Operation nested = operation(Action::submit, 8);
    nested.nested = 1;
    nested.nested_source = 1;
    run({operation(Action::hold, 8, 2), nested});
    script_.reset();
    producers_.reset();
    ring_.reset();
  }
  EXPECT_EQ(test::holdings(), before);
}

}  // namespace
}  // namespace ringside::real
