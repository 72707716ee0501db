// SPDX-License-Identifier: Apache-2.0
//
// A/B swaps on the running kernel: programs write to the side that the transfer count names when they look, and one
// that is late writes into a side that was drained already (case Q4). Every order of events is made by words, none by
// time.
#include "real/kernel_test.h"
#include "real/pinned.h"

namespace ringside::real {
namespace {

using ring::Action;
using test::operation;

constexpr std::uint32_t sources = 2;

class SwapTest : public test::KernelTest {
 protected:
  void SetUp() override {
    test::KernelTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    cpu_ = test::cpus().back();
    for (auto& side : sides_) side.emplace(std::move(*PerfRings::create({.cpus = {cpu_}, .data_pages = 1})));
    auto producers = Producers::load_swap(*sides_[0], *sides_[1], sources);
    ASSERT_TRUE(producers) << producers.error();
    producers_.emplace(std::move(*producers));
    script_.emplace(std::move(*ScriptProducer::create(*producers_)));
  }
  const ringside_ring& side(std::size_t index) const { return sides_[index]->rings()[0]; }
  ringside_swap& swap() const { return *producers_->swap(); }
  /// As the reader does; returns the side that it has frozen.
  std::size_t flip() const {
    return static_cast<std::size_t>(__atomic_fetch_add(&swap().transfer_count, 1, __ATOMIC_RELAXED) % 2);
  }
  /// Records that lie there, which the call consumes.
  std::uint64_t drain(std::size_t index) const {
    const Left left = left_in(side(index), 2 * sources);
    consume_all(side(index));
    std::uint64_t records = 0;
    for (const std::uint64_t count : left.by_source) records += count;
    return records;
  }
  void put_out(std::uint16_t source) {
    ring::Operation output = operation(Action::output, 64, source);
    output.cpu = static_cast<std::uint16_t>(cpu_);
    const auto results = script_->run({&output, 1});
    ASSERT_TRUE(results) << results.error();
    ASSERT_EQ(results->front(), 0);
  }

  void be_late();

  std::uint32_t cpu_ = 0;
  std::optional<PerfRings> sides_[2];
  std::optional<Producers> producers_;
  std::optional<ScriptProducer> script_;
};

/// On another CPU than that of the rings.
void SwapTest::be_late() {
  auto late = Straggler::start(*producers_, {.source = 0, .cpu = cpu_});
  ASSERT_TRUE(late) << late.error();

  EXPECT_EQ(flip(), 0u);
  EXPECT_EQ(drain(0), 0u);
  EXPECT_EQ(swap().samples[0], 0u) << "all that the counter says has come: side 0 looks complete";
  EXPECT_EQ(producers_->in_flight(0), 1u);

  const auto result = late->finish();
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(*result, 0);
  EXPECT_EQ(swap().samples[0], 1u);
  EXPECT_EQ(producers_->in_flight(0), 0u);
  EXPECT_EQ(flip(), 1u);
  EXPECT_EQ(drain(1), 0u) << "programs write to side 1 since the flip, and this one did not";
  EXPECT_EQ(flip(), 0u);
  EXPECT_EQ(drain(0), 1u) << "its record comes two flips late";
}

TEST_F(SwapTest, AProgramWritesToTheSideThatTheCountNames) {
  put_out(0);
  put_out(1);
  EXPECT_EQ(swap().samples[0], 2u);
  EXPECT_EQ(flip(), 0u);
  put_out(0);
  EXPECT_EQ(left_in(side(0), 2 * sources).by_source, (std::vector<std::uint64_t>{1, 1, 0, 0}));
  EXPECT_EQ(left_in(side(1), 2 * sources).by_source, (std::vector<std::uint64_t>{0, 0, 1, 0}))
      << "a source has another number on side 1";
  EXPECT_EQ(swap().samples[1], 1u);
  EXPECT_EQ(producers_->counted(), 3u);
  EXPECT_EQ(producers_->in_flight(0) + producers_->in_flight(1), 0u);
}

TEST_F(SwapTest, TheCounterCountsAttemptsThoughTheRingIsFull) {
  for (int record = 0; record < 51; ++record) put_out(0);  // 80 bytes each: 51 * 80 = 4080
  ring::Operation output = operation(Action::output, 64, 0);
  output.cpu = static_cast<std::uint16_t>(cpu_);
  const auto results = script_->run({&output, 1});
  ASSERT_TRUE(results);
  EXPECT_EQ(results->front(), -ENOSPC);
  EXPECT_EQ(swap().samples[0], 52u);
  EXPECT_EQ(flip(), 0u);
  EXPECT_EQ(drain(0), 51u) << "and no record tells of the other: whoever waits for 52 waits for ever";
  EXPECT_EQ(producers_->ledger(2 * sources).unreported_losses, (std::vector<std::uint64_t>{1, 0}));
}

TEST_F(SwapTest, AProgramBetweenItsSideAndItsOutputWritesIntoADrainedSide) {
  if (test::cpus().size() < 2) GTEST_SKIP() << "a program that is held takes a CPU";
  auto elsewhere = PinnedWorker::start(test::cpus().front());
  ASSERT_TRUE(elsewhere) << elsewhere.error();
  (*elsewhere)->run([this] { be_late(); });
}

}  // namespace
}  // namespace ringside::real
