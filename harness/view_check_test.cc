// SPDX-License-Identifier: Apache-2.0
#include "harness/view_check.h"

#include <gtest/gtest.h>

#include <array>

namespace ringside::harness {
namespace {

constexpr std::uint64_t ring_bytes = 4096;

/// One ring buffer whose positions a test sets by hand.
class HandWorld final : public World {
 public:
  HandWorld() {
    ring_ = {.kind = RINGSIDE_RINGBUF,
             .cpu = -1,
             .fd = -1,
             .page_size = 4096,
             .data_size = ring_bytes,
             .consumer_page = nullptr,
             .producer_page = nullptr,
             .data = data_.data()};
  }
  ringside_record view(std::uint64_t position, std::uint64_t size) const {
    return {
        .ring = 0, .reserved = 0, .data = data_.data() + position % ring_bytes, .size = size, .token = 0, .time_ns = 0};
  }
  RingPositions at{};

  const ringside_ring_set& rings() const override { return set_; }
  int adopt(const ringside_ring&) override { return -EINVAL; }
  void forget_adopted() override {}
  ring::Result<Moved> step(Random&, std::int64_t) override { return Moved::done; }
  std::optional<std::int64_t> next_event_ns() const override { return std::nullopt; }
  bool in_burst() const override { return false; }
  ring::Result<void> start() override { return {}; }
  bool producers_running() const override { return false; }
  std::int64_t step_ns() const override { return 1; }
  ring::Result<void> end() override { return {}; }
  int wait(std::span<ringside_ready>, std::int64_t) override { return 0; }
  int wait_fd(int, std::int64_t) override { return 0; }
  std::uint32_t ring_count() const override { return 1; }
  const ringside_ring& ring(std::uint32_t) const override { return ring_; }
  RingPositions positions(std::uint32_t) const override { return at; }
  AtHead at_head(std::uint32_t) const override { return AtHead::nothing; }
  ring::ProducerLedger ledger() const override { return {}; }
  std::uint64_t reserved_so_far(std::uint32_t) const override { return 0; }
  std::uint32_t source_count() const override { return 1; }
  std::uint32_t ring_of(std::uint32_t) const override { return 0; }
  std::vector<std::uint64_t> left() const override { return {}; }
  ring::Result<void> flush_losses() override { return {}; }
  std::vector<std::string> not_observable() const override { return {}; }

 private:
  std::array<char, 2 * ring_bytes> data_{};
  ringside_ring ring_{};
  ringside_ring_set set_{};
};

std::optional<ring::DefectKind> kind_of(const std::optional<ring::Defect>& defect) {
  return defect ? std::optional(defect->kind) : std::nullopt;
}

class ViewCheckTest : public testing::Test {
 protected:
  std::optional<ring::DefectKind> check(std::uint64_t position, std::uint64_t size) {
    return kind_of(views_.check(world_.view(position, size)));
  }
  void stand_at(std::uint64_t consumer, std::uint64_t producer) {
    world_.at = {.consumer = consumer, .producer = producer};
    views_.begin_call();
  }
  HandWorld world_;
  ViewCheck views_{world_};
};

TEST_F(ViewCheckTest, AViewOfPublishedBytesIsFine) {
  stand_at(8, 72);
  EXPECT_EQ(check(16, 56), std::nullopt);
}

TEST_F(ViewCheckTest, AViewThatEndsAByteBehindThePublishedIsOutOfBounds) {
  stand_at(8, 72);
  EXPECT_EQ(check(16, 57), ring::DefectKind::out_of_bounds);
}

TEST_F(ViewCheckTest, AViewWhoseSpaceThisCallGaveBackIsUsedAfterRelease) {
  stand_at(0, 128);
  world_.at.consumer = 64;  // published within the call, before the record at 0 is handed out
  EXPECT_EQ(check(8, 56), ring::DefectKind::use_after_release);
}

TEST_F(ViewCheckTest, AViewOfBytesThatAnEarlierCallGaveBackIsOutOfBounds) {
  stand_at(64, 128);
  EXPECT_EQ(check(8, 48), ring::DefectKind::out_of_bounds);
}

TEST_F(ViewCheckTest, WrapsLikeTheRing) {
  stand_at(ring_bytes - 16, ring_bytes + 64);
  EXPECT_EQ(check(ring_bytes - 8, 72), std::nullopt);
  EXPECT_EQ(check(ring_bytes - 8, 73), ring::DefectKind::out_of_bounds);
}

TEST_F(ViewCheckTest, CountsOnWhenPositionsPass64Bits) {
  stand_at(UINT64_MAX - 7, 64);
  EXPECT_EQ(check(0, 64), std::nullopt);
  EXPECT_EQ(check(0, 65), ring::DefectKind::out_of_bounds);
}

TEST_F(ViewCheckTest, ACopyIsOnlyBoundedBySize) {
  stand_at(0, 0);
  std::array<char, ring_bytes + 1> copy{};
  EXPECT_EQ(views_.check({.ring = 0, .reserved = 0, .data = copy.data(), .size = ring_bytes, .token = 0, .time_ns = 0}),
            std::nullopt);
  EXPECT_EQ(kind_of(views_.check(
                {.ring = 0, .reserved = 0, .data = copy.data(), .size = ring_bytes + 1, .token = 0, .time_ns = 0})),
            ring::DefectKind::out_of_bounds);
}

TEST_F(ViewCheckTest, PositionsMayOnlyGrowUpToTheProducers) {
  stand_at(64, 128);
  EXPECT_EQ(views_.check_positions(), std::nullopt);
  world_.at.consumer = 128;
  EXPECT_EQ(views_.check_positions(), std::nullopt);
  world_.at.consumer = 120;
  EXPECT_EQ(kind_of(views_.check_positions()), ring::DefectKind::position_regressed);
  world_.at.consumer = 136;
  EXPECT_EQ(kind_of(views_.check_positions()), ring::DefectKind::position_overrun);
}

}  // namespace
}  // namespace ringside::harness
