// SPDX-License-Identifier: Apache-2.0
#include "real/inspect.h"

#include "real/kernel_test.h"

namespace ringside::real {
namespace {

using ring::Action;
using test::operation;

class InspectTest : public test::KernelTest {
 protected:
  void open_ringbuf() {
    ringbuf_.emplace(std::move(*RingbufMap::create(4096)));
    producers_.emplace(std::move(*Producers::load(*ringbuf_)));
    script_.emplace(std::move(*ScriptProducer::create(*producers_)));
  }
  void open_perf() {
    perf_.emplace(std::move(*PerfRings::create({.data_pages = 1})));
    producers_.emplace(std::move(*Producers::load(*perf_)));
    script_.emplace(std::move(*ScriptProducer::create(*producers_)));
  }
  void run(const std::vector<ring::Operation>& operations) { ASSERT_TRUE(script_->run(operations)); }

  std::optional<RingbufMap> ringbuf_;
  std::optional<PerfRings> perf_;
  std::optional<Producers> producers_;
  std::optional<ScriptProducer> script_;
};

TEST_F(InspectTest, NamesWhatLiesAtTheHead) {
  open_ringbuf();
  const ringside_ring& ring = ringbuf_->ring();
  EXPECT_EQ(head_of(ring), Head::empty);
  run({operation(Action::discard, 8), operation(Action::submit, 8)});
  EXPECT_EQ(head_of(ring), Head::discarded);
  EXPECT_TRUE(has_deliverable(ring)) << "a committed record behind the discarded one";
  set_consumer_position(ring, 16);
  EXPECT_EQ(head_of(ring), Head::committed);
  consume_all(ring);
  EXPECT_EQ(head_of(ring), Head::empty);
  EXPECT_FALSE(has_deliverable(ring));
  set_consumer_position(ring, 40);
  EXPECT_EQ(head_of(ring), Head::overrun);
  EXPECT_FALSE(has_deliverable(ring));
}

TEST_F(InspectTest, OnlyDiscardedRecordsAreNothingToDeliver) {
  open_ringbuf();
  run(std::vector(20, operation(Action::discard, 24)));
  EXPECT_EQ(head_of(ringbuf_->ring()), Head::discarded);
  EXPECT_FALSE(has_deliverable(ringbuf_->ring()));
}

TEST_F(InspectTest, CountsWhatIsLeftOfEachSourceUpToTheBusyRecord) {
  open_ringbuf();
  run({operation(Action::submit, 64, 0), operation(Action::submit, 3, 1), operation(Action::submit, 0, 1),
       operation(Action::discard, 50, 0), operation(Action::submit, 1000, 1), operation(Action::hold, 8, 2),
       operation(Action::submit, 64, 0)});
  const Left left = left_in(ringbuf_->ring(), 3);
  EXPECT_EQ(left.by_source, (std::vector<std::uint64_t>{1, 2, 0}));
  EXPECT_EQ(left.empty, 1u);
  EXPECT_EQ(left.discarded, 1u);
  EXPECT_EQ(left.busy, 1u);
  EXPECT_EQ(left.alien, 0u);
  EXPECT_TRUE(left.consistent);
}

TEST_F(InspectTest, WhatIsCommittedEndsBeforeTheBusyRecordAndTheDiscardedOnesBeforeIt) {
  open_ringbuf();
  const ringside_ring& ring = ringbuf_->ring();
  EXPECT_EQ(committed_end(ring), 0u);
  run({operation(Action::discard, 8), operation(Action::submit, 8), operation(Action::discard, 8),
       operation(Action::hold, 8), operation(Action::submit, 8, 1)});
  EXPECT_EQ(committed_end(ring), 32u) << "two of 16 bytes";
  set_consumer_position(ring, 32);
  EXPECT_EQ(committed_end(ring), 32u);
}

TEST_F(InspectTest, SourcesThatAreNotCountedAreAlien) {
  open_ringbuf();
  run({operation(Action::submit, 64, 5)});
  EXPECT_EQ(left_in(ringbuf_->ring(), 2).alien, 1u);
}

TEST_F(InspectTest, AWrongConsumerPositionIsInconsistentNotACrash) {
  open_ringbuf();
  run({operation(Action::submit, 64, 0), operation(Action::submit, 64, 0)});
  set_consumer_position(ringbuf_->ring(), 16);  // in the middle of a record: its sequence number 0 reads as a length
  const Left left = left_in(ringbuf_->ring(), 1);
  EXPECT_TRUE(!left.consistent || left.alien + left.empty + left.busy + left.discarded > 0);
}

TEST_F(InspectTest, CountsSamplesAndLossesLeftInAPerfRing) {
  open_perf();
  const ringside_ring& ring = perf_->rings()[0];
  const auto cpu = static_cast<std::uint16_t>(ring.cpu);
  // 1000 bytes take 1016: four fit, two are lost; then the loss and a small record.
  run(std::vector(6, operation(Action::output, 1000, 1, cpu)));
  set_consumer_position(ring, 1016);
  run({operation(Action::output, 0, 0, cpu)});
  const Left left = left_in(ring, 2);
  EXPECT_EQ(left.by_source, (std::vector<std::uint64_t>{0, 3}));
  EXPECT_EQ(left.lost_told, 2u);
  EXPECT_EQ(left.empty, 1u);
  EXPECT_TRUE(left.consistent);
  EXPECT_EQ(head_of(ring), Head::committed);
  EXPECT_TRUE(has_deliverable(ring));
}

}  // namespace
}  // namespace ringside::real
