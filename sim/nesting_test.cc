// SPDX-License-Identifier: Apache-2.0
//
// Interrupts between any two steps: one at every step of a reservation, a commit and a perf output (KERNEL-RINGS 5.2,
// "model check points"). Whatever the step, nothing is lost and no position moves back.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "sim/perf_output.h"
#include "sim/ringbuf_commit.h"
#include "sim/ringbuf_reserve.h"
#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using ring::perf::RecordHeader;
using test::header_at;
using test::make_perf;
using test::make_ringbuf;

// Takes all steps of an operation, calling `interrupt` in front of step number `at`. Returns the number of steps.
template <class Operation>
int run_interrupted(Operation& operation, int at, const std::function<void()>& interrupt) {
  int steps = 0;
  StepResult taken = StepResult::more;
  while (taken != StepResult::done) {
    if (steps++ == at) interrupt();
    taken = operation.step();
    EXPECT_NE(taken, StepResult::blocked);
  }
  return steps;
}

// Steps of a reservation into a ring that holds one committed record: check, lock, positions, walk, pending, len,
// pg_off, producer_pos, unlock.
constexpr int reserve_steps = 9;
constexpr int commit_steps = 3;

TEST(RingbufNesting, AHardirqAtEveryStepOfReserveWhereInterruptsAreOn) {
  int places = 0;
  for (int at = 0; at < reserve_steps; ++at) {
    const auto ring = make_ringbuf();
    ASSERT_EQ(ring->output(test::bytes_of(8, 1)), 0);
    RingbufReserve<PlainMemory> reserve(ring->state(), 24);
    const int steps = run_interrupted(reserve, at, [&] {
      if (reserve.holds_lock()) return;  // interrupts are off
      ++places;
      ASSERT_EQ(ring->output(test::bytes_of(16, 2)), 0);
    });
    ASSERT_EQ(reserve.failure(), ReserveFailure::none);
    ASSERT_LE(steps, reserve_steps);
    EXPECT_EQ(header_at(*ring, reserve.position()), ring::ringbuf::busy_bit | 24u);
    EXPECT_EQ(reserve.position(), at < 2 ? 40u : 16u) << at;  // the interrupt's record came in front
  }
  EXPECT_EQ(places, 2);  // in front of the check, and in front of the lock
}

TEST(RingbufNesting, AHardirqBetweenReserveAndCommitAndAtEveryStepOfCommit) {
  for (int at = 0; at < commit_steps; ++at) {
    const auto ring = make_ringbuf();
    const auto outer = ring->reserve(24).value();
    RingbufCommit<PlainMemory> commit(ring->state(), outer.position, Fate::submit, 0);
    run_interrupted(commit, at, [&] { ASSERT_EQ(ring->output(test::bytes_of(8, 2)), 0); });
    EXPECT_EQ(header_at(*ring, 0), 24u);
    EXPECT_EQ(header_at(*ring, 32), 8u);
    EXPECT_EQ(ring->producer_pos(), 48u);
    EXPECT_TRUE(commit.wants_wakeup());                 // the outer is at consumer_pos
    EXPECT_EQ(ring->wait_queue().wakeups(), 0u) << at;  // the inner never is
  }
}

// 5.5
TEST(RingbufNesting, AnNmiAtEveryStepWhileItsOwnCpuHoldsTheLockFails) {
  int places = 0;
  for (int at = 0; at < reserve_steps; ++at) {
    for (const LockAttempt attempt : {LockAttempt::once, LockAttempt::fail}) {
      const auto ring = make_ringbuf();
      ASSERT_EQ(ring->output(test::bytes_of(8, 1)), 0);
      RingbufReserve<PlainMemory> outer(ring->state(), 24);
      run_interrupted(outer, at, [&] {
        RingbufReserve<PlainMemory> nmi(ring->state(), 8, outer.holds_lock() ? attempt : LockAttempt::spin);
        nmi.run();
        EXPECT_EQ(nmi.failure(), outer.holds_lock() ? ReserveFailure::lock : ReserveFailure::none) << at;
        places += outer.holds_lock() ? 1 : 0;
      });
      EXPECT_EQ(outer.failure(), ReserveFailure::none);
      EXPECT_EQ(ring->state().lock, 0u);
    }
  }
  EXPECT_EQ(places, 2 * (reserve_steps - 2));
}

TEST(RingbufReserveSteps, ASpinnerIsBlockedUntilTheLockIsFree) {
  const auto ring = make_ringbuf();
  RingbufReserve<PlainMemory> holder(ring->state(), 8);
  while (!holder.holds_lock()) ASSERT_EQ(holder.step(), StepResult::more);
  RingbufReserve<PlainMemory> spinner(ring->state(), 8);
  ASSERT_EQ(spinner.step(), StepResult::more);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(spinner.step(), StepResult::blocked);
  holder.run();
  spinner.run();
  EXPECT_EQ(holder.position(), 0u);
  EXPECT_EQ(spinner.position(), 16u);
}

TEST(RingbufReserveSteps, ConsumerPosIsReadOnceBeforeTheLock) {
  // 1.5.3: what the consumer frees after that does not help this reservation.
  const auto ring = make_ringbuf();
  ASSERT_EQ(ring->output(test::bytes_of(4080, 1)), 0);
  RingbufReserve<PlainMemory> reserve(ring->state(), 8);
  ASSERT_EQ(reserve.step(), StepResult::more);
  test::drain(*ring);
  reserve.run();
  EXPECT_EQ(reserve.failure(), ReserveFailure::full);
  EXPECT_TRUE(ring->reserve(8));
}

TEST(RingbufReserveSteps, TheHeaderIsBusyBeforeTheRecordIsPublished) {
  const auto ring = make_ringbuf();
  RingbufReserve<PlainMemory> reserve(ring->state(), 24);
  while (ring->producer_pos() == 0) {
    ASSERT_EQ(reserve.step(), StepResult::more);
    if (ring->producer_pos() == 0) continue;
    EXPECT_EQ(header_at(*ring, 0), ring::ringbuf::busy_bit | 24u);
  }
}

// 2.6

struct Nesting {
  std::uint64_t head_before = 0;
  int regressions = 0;

  void look(const PerfRingModel& ring) {
    const std::uint64_t head = ring.data_head();
    if (static_cast<std::int64_t>(head - head_before) < 0) ++regressions;
    head_before = head;
  }
};

// What a reader finds: payload lengths in order.
std::vector<std::uint32_t> published(const PerfRingModel& ring) {
  std::vector<std::uint32_t> sizes;
  ring.visit_unread([&](std::uint64_t, const RecordHeader& header) { sizes.push_back(header.size); });
  return sizes;
}

// One outer output of 32 bytes with an interrupt in front of step `at` that outputs `inner` records of 16 bytes.
int interrupted_output(PerfRingModel& ring, int at, int inner, Nesting& nesting) {
  const auto outer_payload = test::bytes_of(20, 1);
  const auto inner_payload = test::bytes_of(4, 2);
  const PerfRecord outer_record{.payload = outer_payload};
  PerfOutput<PlainMemory> outer(ring.state(), ring.event(), outer_record);
  int steps = 0;
  StepResult taken = StepResult::more;
  while (taken != StepResult::done) {
    if (steps++ == at) {
      for (int i = 0; i < inner; ++i) {
        const bool inside = ring.state().nest > 0;
        const std::uint64_t head = ring.data_head();
        EXPECT_EQ(ring.output(inner_payload), 0);
        EXPECT_EQ(ring.data_head() == head, inside) << "an inner writer never publishes, an outermost one does: " << at;
        nesting.look(ring);
      }
    }
    taken = outer.step();
    nesting.look(ring);
  }
  EXPECT_EQ(outer.result(), 0);
  if (outer.wants_wakeup() && ring.queue_wakeup()) ring.run_wakeup();
  return steps;
}

TEST(PerfNesting, AnInterruptAtEveryStepIsCoveredByTheOutermostPublish) {
  const auto uninterrupted = make_perf();
  Nesting none;
  const int steps = interrupted_output(*uninterrupted, -1, 0, none);
  ASSERT_GT(steps, 12);
  for (int at = 0; at < steps; ++at) {
    const auto ring = make_perf();
    Nesting nesting;
    interrupted_output(*ring, at, 3, nesting);
    EXPECT_EQ(nesting.regressions, 0) << at;
    EXPECT_EQ(ring->state().nest, 0u) << at;
    EXPECT_EQ(ring->data_head(), 32u + 3 * 16) << at;
    EXPECT_EQ(ring->data_head(), ring->state().head) << at;
    auto sizes = published(*ring);
    std::ranges::sort(sizes);
    EXPECT_EQ(sizes, (std::vector<std::uint32_t>{16, 16, 16, 32})) << at;
    EXPECT_EQ(ring->poll(), poll_readable) << at;
  }
}

TEST(PerfNesting, AnInterruptAtEveryStepOfAFullRingLosesOnlyWhatItMust) {
  const auto uninterrupted = make_perf();
  Nesting none;
  const int steps = interrupted_output(*uninterrupted, -1, 0, none);
  for (int at = 0; at < steps + 1; ++at) {
    const auto ring = make_perf();
    const auto payload = test::bytes_of(4, 3);
    for (int i = 0; i < 255; ++i) ASSERT_EQ(ring->output(payload), 0);
    ASSERT_EQ(ring->output(payload), -ENOSPC);
    test::drain(*ring);  // one loss is pending: the first to write tells it
    Nesting nesting{ring->data_head(), 0};
    const int taken = interrupted_output(*ring, at, 1, nesting);
    EXPECT_EQ(nesting.regressions, 0);
    std::uint64_t told = 0;
    int samples = 0;
    ring->visit_unread([&](std::uint64_t position, const RecordHeader& header) {
      if (header.type == ring::perf::type_lost) told += test::perf_load<std::uint64_t>(*ring, position + 16);
      if (header.type == ring::perf::type_sample) ++samples;
    });
    EXPECT_EQ(told + ring->state().lost, 1u) << at;
    EXPECT_EQ(samples, at < taken ? 2 : 1) << at;
  }
}

// The one place where the kernel's own order loses a wake-up: 2.4.4 counts itself in, then reads the stamp. It follows
// from the rule and was not measured.
TEST(PerfNesting, AnInterruptBetweenNestAndStampOfAnOutputThatFailsIsPublishedWithoutAWakeup) {
  const auto payload = test::bytes_of(2000, 1);
  int silent = 0;
  for (int at = 0; at < 12; ++at) {
    const auto ring = make_perf();
    PerfOutputBegin<PlainMemory> outer(ring->state(), ring->event(), 4000);  // has no room beside the inner one
    run_interrupted(outer, at, [&] { ring->output(payload); });
    if (outer.result() != PerfBegin::lost) continue;
    PerfOutputEnd<PlainMemory> end(ring->state(), outer.wakeup_before());
    end.run();
    EXPECT_EQ(ring->data_head(), 2016u);
    silent += ring->poll() == 0 ? 1 : 0;
  }
  EXPECT_EQ(silent, 1);
}

// The first measured shape of 2.6: nest 1, an inner writer, nest back to 1, and all is published by the outer end.
TEST(PerfNesting, AnInnerWriterMovesHeadAndNotDataHead) {
  const auto ring = make_perf();
  const auto payload = test::bytes_of(20, 1);
  PerfOutputBegin<PlainMemory> begin(ring->state(), ring->event(), 32);
  begin.run();
  EXPECT_EQ(ring->state().nest, 1u);
  ASSERT_EQ(ring->output(payload), 0);
  EXPECT_EQ(ring->state().nest, 1u);
  EXPECT_EQ(ring->state().head, 64u);
  EXPECT_EQ(ring->data_head(), 0u);
  PerfOutputEnd<PlainMemory> end(ring->state(), begin.wakeup_before());
  end.run();
  EXPECT_EQ(ring->data_head(), 64u);
  EXPECT_TRUE(end.wants_wakeup());  // the inner one's, which an inner writer does not raise itself
}

}  // namespace
}  // namespace ringside::sim
