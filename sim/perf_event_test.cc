// SPDX-License-Identifier: Apache-2.0
#include "sim/perf_event.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using Event = PerfEventModel<PlainMemory>;

struct Pair {
  explicit Pair(KernelVersion kernel = default_kernel_version)
      : a({.attr = {.wakeup_events = 1}, .id = 7, .kernel = kernel}),
        b({.attr = {.wakeup_events = 0}, .id = 8, .kernel = kernel}) {}
  Event a;
  Event b;
};

int output(Event& event, std::size_t size = 4) {
  const std::vector<std::byte> payload(size);
  PerfRecord record;
  record.payload = payload;
  return event.write(record);
}

TEST(PerfEvent, AnEventWithoutRingStoresNothingAndHangsUp) {
  Pair pair;
  EXPECT_EQ(output(pair.a), -ENOSPC);
  EXPECT_EQ(pair.a.state().lost_samples, 0u);
  EXPECT_EQ(pair.a.poll(), poll_hup);
}

TEST(PerfEvent, RedirectedEventsShareTheRingAndItsFlag) {
  Pair pair;
  ASSERT_EQ(pair.a.map(1, true), 0);
  ASSERT_EQ(pair.b.redirect(&pair.a), 0);
  EXPECT_EQ(output(pair.a), 0);
  EXPECT_EQ(pair.a.ring()->state().head, 16u);
  EXPECT_EQ(pair.b.ring(), pair.a.ring());
  EXPECT_EQ(pair.b.poll(), poll_readable);
  EXPECT_EQ(pair.a.poll(), 0u);
  EXPECT_EQ(pair.b.wait_queue().wakeups(), 1u);
}

TEST(PerfEvent, OutputIsNotRedirectedToItselfNorWithoutRingNorWhileMappedNorAcrossDirections) {
  Pair pair;
  Event backward({.attr = {.write_backward = true}, .id = 9});
  EXPECT_EQ(pair.a.redirect(&pair.a), -EINVAL);
  EXPECT_EQ(pair.a.redirect(&pair.b), -EINVAL);
  ASSERT_EQ(pair.a.map(1, true), 0);
  ASSERT_EQ(pair.b.map(1, true), 0);
  EXPECT_EQ(pair.b.redirect(&pair.a), -EINVAL);
  EXPECT_EQ(pair.b.redirect(nullptr), -EINVAL);
  EXPECT_EQ(backward.redirect(&pair.a), -EINVAL);
}

TEST(PerfEvent, TheLastMappingTakesTheRingFromEveryEventAndWakesIt) {
  Pair pair;
  ASSERT_EQ(pair.a.map(1, true), 0);
  ASSERT_EQ(pair.a.map(1, false), 0);
  ASSERT_EQ(pair.b.redirect(&pair.a), 0);
  pair.a.unmap();
  EXPECT_EQ(output(pair.b), 0);
  pair.a.unmap();
  EXPECT_EQ(output(pair.b), -ENOSPC);
  EXPECT_EQ(pair.b.poll(), poll_hup);
  EXPECT_EQ(pair.a.wait_queue().wakeups(), 1u);
  EXPECT_EQ(pair.b.wait_queue().wakeups(), 1u);
}

TEST(PerfEvent, ANewRingStartsAtZeroAndLostSamplesGoOn) {
  Pair pair;
  ASSERT_EQ(pair.a.map(1, true), 0);
  EXPECT_EQ(output(pair.a, 4080), -ENOSPC);
  EXPECT_EQ(output(pair.a), 0);
  pair.a.unmap();
  ASSERT_EQ(pair.a.map(2, true), 0);
  EXPECT_EQ(pair.a.ring()->state().head, 0u);
  EXPECT_EQ(pair.a.ring()->state().wakeup, 0u);
  EXPECT_EQ(pair.a.state().lost_samples, 1u);
}

TEST(PerfEvent, AnotherMappingHasTheSameSizeAndChangesNothing) {
  Pair pair;
  ASSERT_EQ(pair.a.map(1, false), 0);
  EXPECT_EQ(pair.a.map(2, true), -EINVAL);
  EXPECT_EQ(pair.a.map(3, true), -EINVAL);
  EXPECT_EQ(pair.a.map(1, true), 0);
  EXPECT_TRUE(pair.a.ring()->state().overwrite);
}

TEST(PerfEvent, ARedirectedEventIsMappedByOlderKernelsOnly) {
  Pair now;
  ASSERT_EQ(now.a.map(1, true), 0);
  ASSERT_EQ(now.b.redirect(&now.a), 0);
  EXPECT_EQ(now.b.map(2, true), -EINVAL);
  EXPECT_EQ(now.b.map(1, true), -EBUSY);

  Pair before({6, 12});
  ASSERT_EQ(before.a.map(1, true), 0);
  ASSERT_EQ(before.b.redirect(&before.a), 0);
  EXPECT_EQ(before.b.map(1, true), 0);
  before.a.unmap();
  EXPECT_EQ(output(before.a), -ENOSPC);
  EXPECT_EQ(output(before.b), 0);  // its mapping keeps the ring
}

TEST(PerfEvent, ARingWithoutDataPagesIsPausedForEverAndCountsNothing) {
  Pair pair;
  ASSERT_EQ(pair.a.map(0, true), 0);
  EXPECT_EQ(output(pair.a), -ENOSPC);
  EXPECT_EQ(pair.a.state().lost_samples, 0u);
  EXPECT_EQ(pair.a.poll(), 0u);
  EXPECT_EQ(pair.a.pause(false), -EINVAL);
}

TEST(PerfEvent, PausingIsTheRingsAndCountsForTheEventThatWrites) {
  Pair pair;
  EXPECT_EQ(pair.b.pause(true), -EINVAL);
  ASSERT_EQ(pair.a.map(1, true), 0);
  ASSERT_EQ(pair.b.redirect(&pair.a), 0);
  EXPECT_EQ(pair.b.pause(true), 0);
  EXPECT_EQ(output(pair.a), -ENOSPC);
  EXPECT_EQ(pair.a.state().lost_samples, 1u);
  EXPECT_EQ(pair.b.state().lost_samples, 0u);
  EXPECT_EQ(pair.a.ring()->state().lost, 1u);
}

// What an outer output has read before an inner one comes in, and what it reads again afterwards.
TEST(PerfEvent, AnOutputWithinAnotherOneIsPublishedWithItOrByItself) {
  const std::vector<std::byte> payload(4);
  PerfRecord record;
  record.payload = payload;
  for (const PerfPoint point : {PerfPoint::entered, PerfPoint::reserved, PerfPoint::published, PerfPoint::left}) {
    Pair pair;
    ASSERT_EQ(pair.a.map(1, true), 0);
    const auto* const data_head = pair.a.ring()->state().data_head;
    std::uint64_t seen = 0;
    int times = 0;
    const auto within = [&] {
      ++times;
      EXPECT_EQ(output(pair.a), 0);
      seen = *data_head;
    };
    EXPECT_EQ(pair.a.write(record, point, within), 0);
    EXPECT_EQ(times, 1);
    const std::uint64_t by_itself = point == PerfPoint::left ? 32 : point == PerfPoint::published ? 16 : 0;
    EXPECT_EQ(seen, by_itself);
    EXPECT_EQ(*data_head, 32u);
    EXPECT_EQ(pair.a.ring()->state().nest, 0u);
  }
}

TEST(PerfEvent, NothingComesInWhereTheOutputNeverStands) {
  Pair pair;
  ASSERT_EQ(pair.a.map(1, true), 0);
  ASSERT_EQ(pair.a.pause(true), 0);
  EXPECT_EQ(pair.a.write({}, PerfPoint::entered, [] { FAIL(); }), -ENOSPC);
}

}  // namespace
}  // namespace ringside::sim
