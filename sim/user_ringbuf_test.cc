// SPDX-License-Identifier: Apache-2.0
//
// The user ring buffer of the model against what KERNEL-RINGS 3.3 and 4.2 say was measured.
#include "sim/user_ringbuf.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using ring::ringbuf::busy_bit;
using ring::ringbuf::discard_bit;
using test::must;

// A ring, the user that fills it by hand, and what the last drain's callback got.
struct UserRing {
  explicit UserRing(UserRingbufOptions options = {}) : model(must(UserRingbufModel::create(options))) {}

  void header(std::uint64_t position, std::uint32_t word) {
    test::store(model->memory().produced_data(), position & (model->state().size - 1), word);
  }
  void producer(std::uint64_t position) { test::store(model->memory().produced_page(), 0, position); }
  // Lays records of 8 bytes with these bits, one after another from 0 on.
  void lay(const std::vector<std::uint32_t>& bits) {
    for (std::size_t i = 0; i < bits.size(); ++i) header(i * 16, 8 | bits[i]);
    producer(bits.size() * 16);
  }
  std::int64_t drain(std::uint64_t flags = 0, std::size_t stop = 0) {
    lengths.clear();
    return model->drain(flags, [&](std::span<const std::byte> sample) {
      lengths.push_back(sample.size());
      return lengths.size() == stop ? 1 : 0;
    });
  }
  std::uint64_t wakeups() { return model->wait_queue().wakeups(); }

  std::unique_ptr<UserRingbufModel> model;
  std::vector<std::size_t> lengths;
};

TEST(UserRingbuf, TakesTheSizesAndFlagsThatTheKernelTakes) {
  for (const std::uint64_t size : {0ull, 2048ull, 12288ull}) {
    EXPECT_EQ(UserRingbufModel::create({.data_size = size}).error().code, EINVAL) << size;
  }
  EXPECT_EQ(UserRingbufModel::create({.map_flags = 1u << 19}).error().code, EINVAL);
  EXPECT_TRUE(UserRingbufModel::create({.map_flags = 1u << 2}).has_value());
  EXPECT_EQ(UserRingbufModel::create({.start_position = 4}).error().code, EINVAL);
}

TEST(UserRingbuf, DrainOfAnEmptyRingIsNothing) {
  UserRing ring;
  EXPECT_EQ(ring.drain(), 0);
  EXPECT_EQ(ring.wakeups(), 0u);
}

TEST(UserRingbuf, DrainDeliversSamplesOfEverySizeTheProducerReserved) {
  UserRing ring;
  UserRingbufProducer producer = ring.model->producer();
  for (const std::uint32_t size : {8u, 0u, 5u}) {
    std::byte* payload = nullptr;
    ASSERT_EQ(producer.reserve(size, payload), 0);
    producer.submit(payload);
  }
  EXPECT_EQ(ring.drain(), 3);
  EXPECT_EQ(ring.lengths, (std::vector<std::size_t>{8, 0, 5}));
  EXPECT_EQ(ring.model->consumer_pos(), 16u + 8 + 16);
  EXPECT_EQ(ring.wakeups(), 1u);
}

TEST(UserRingbuf, ABusySampleHidesWhatIsBehindItUntilItIsDiscarded) {
  UserRing ring;
  ring.lay({discard_bit, 0, busy_bit, 0});
  EXPECT_EQ(ring.drain(), 1);
  EXPECT_EQ(ring.model->consumer_pos(), 32u);
  ring.header(32, 8 | busy_bit | discard_bit);  // 8.15: dropped at once
  EXPECT_EQ(ring.drain(), 1);
  EXPECT_EQ(ring.model->consumer_pos(), 64u);
}

TEST(UserRingbuf, DiscardedSamplesAreConsumedAndNotCounted) {
  UserRing ring;
  ring.lay({discard_bit, discard_bit});
  EXPECT_EQ(ring.drain(), 0);
  EXPECT_EQ(ring.model->consumer_pos(), 32u);
  EXPECT_EQ(ring.wakeups(), 1u);  // 3.1.5
}

TEST(UserRingbuf, TheSampleAtWhichTheCallbackStopsIsConsumedAndCounted) {
  UserRing ring;
  ring.lay({0, 0, 0, 0});
  EXPECT_EQ(ring.drain(0, 2), 2);
  EXPECT_EQ(ring.model->consumer_pos(), 32u);
}

TEST(UserRingbuf, ProducerPositionsThatAreNoneAreRefusedOrNothing) {
  UserRing ring;
  ring.lay({0});
  ring.producer(20);
  EXPECT_EQ(ring.drain(), -EINVAL);  // 3.2.1
  ring.producer(16);
  EXPECT_EQ(ring.drain(), 1);
  ring.producer(8);  // behind the consumer
  EXPECT_EQ(ring.drain(), 0);
}

TEST(UserRingbuf, ALengthBeyondTheProducerIsAnErrorForEverWhateverItsBits) {
  for (const std::uint32_t bits : {0u, discard_bit, busy_bit, discard_bit | busy_bit}) {
    UserRing ring;
    ring.header(0, 100 | bits);
    ring.producer(16);
    EXPECT_EQ(ring.drain(), -EINVAL);
    EXPECT_EQ(ring.drain(), -EINVAL);
    EXPECT_EQ(ring.model->consumer_pos(), 0u);
  }
}

TEST(UserRingbuf, AnErrorHidesTheSamplesDeliveredBeforeIt) {
  UserRing ring;
  ring.header(0, 8);
  ring.header(16, 100);
  ring.producer(32);
  EXPECT_EQ(ring.drain(), -EINVAL);
  EXPECT_EQ(ring.lengths.size(), 1u);
  EXPECT_EQ(ring.model->consumer_pos(), 16u);
  EXPECT_EQ(ring.wakeups(), 1u);  // samples > 0
}

TEST(UserRingbuf, LengthsThatNoRingOrDynptrHoldsAreTooBig) {
  UserRing ring;
  ring.header(0, 5000);
  ring.producer(5008);
  EXPECT_EQ(ring.drain(), -E2BIG);  // 3.2.5
  ring.header(0, 0x3fffffff);
  ring.producer(0x40000008);
  EXPECT_EQ(ring.drain(), -E2BIG);  // up8(0x3fffffff + 8) = 0x40000008 bytes are there
  ring.header(0, 0x3ffffff9);
  ring.producer(16);
  EXPECT_EQ(ring.drain(), -EINVAL);  // 3.2.4 first
}

TEST(UserRingbuf, ARingCanBeExactlyFull) {
  UserRing ring;
  UserRingbufProducer producer = ring.model->producer();
  std::byte* payload = nullptr;
  EXPECT_EQ(producer.reserve(4089, payload), E2BIG);
  ASSERT_EQ(producer.reserve(4088, payload), 0);
  producer.submit(payload);
  EXPECT_EQ(producer.reserve(0, payload), ENOSPC);
  EXPECT_EQ(ring.model->poll(), 0u);  // 4.1
  EXPECT_EQ(ring.drain(), 1);
  EXPECT_EQ(ring.lengths, std::vector<std::size_t>{4088});
  EXPECT_EQ(ring.model->poll(), poll_writable);
}

TEST(UserRingbuf, AProducerThatClaimsMoreThanTheRingHasItsStaleBytesParsed) {
  UserRing ring;
  // A lap of zeros: samples of no bytes, 512 to the lap. Two laps claimed.
  ring.producer(8192);
  EXPECT_EQ(ring.drain(), 1024);
  EXPECT_EQ(ring.model->consumer_pos(), 8192u);
}

TEST(UserRingbuf, OneDrainTakesAtMost131072SamplesSkippedOnesIncluded) {
  UserRing ring;
  ring.producer(8ull * 300000);
  EXPECT_EQ(ring.drain(), 131072);
  EXPECT_EQ(ring.drain(), 131072);
  EXPECT_EQ(ring.drain(), 37856);  // 300000 - 2 * 131072
  UserRing skipped;
  for (std::uint64_t at = 0; at < 4096; at += 8) skipped.header(at, discard_bit);
  skipped.producer(8ull * 200000);
  EXPECT_EQ(skipped.drain(), 0);
  EXPECT_EQ(skipped.model->consumer_pos(), 8u * 131072);
  EXPECT_EQ(skipped.drain(), 0);
  EXPECT_EQ(skipped.model->consumer_pos(), 8u * 200000);
}

TEST(UserRingbuf, DrainRefusesUnknownFlags) {
  UserRing ring;
  ring.lay({0});
  EXPECT_EQ(ring.drain(4), -EINVAL);
  EXPECT_EQ(ring.drain(1ull << 63 | 2), -EINVAL);
  EXPECT_EQ(ring.wakeups(), 0u);
  EXPECT_EQ(ring.model->consumer_pos(), 0u);
}

TEST(UserRingbuf, WakesAsItsFlagsSay) {
  struct Case {
    std::uint64_t flags;
    bool samples;
    std::uint64_t wakeups;
  };
  for (const Case& each : {Case{0, true, 1}, Case{0, false, 0}, Case{1, true, 0}, Case{1, false, 0}, Case{2, false, 1},
                           Case{2, true, 1}, Case{3, false, 1}, Case{3, true, 1}}) {
    UserRing ring;
    if (each.samples) ring.lay({0});
    ring.drain(each.flags);
    EXPECT_EQ(ring.wakeups(), each.wakeups) << each.flags << ' ' << each.samples;
  }
}

TEST(UserRingbuf, ASecondDrainWithinTheFirstIsBusyAndWakesNobody) {
  UserRing ring;
  ring.lay({0, 0});
  std::vector<std::int64_t> inner;
  const std::int64_t outer = ring.model->drain(0, [&](std::span<const std::byte>) {
    inner.push_back(ring.model->drain(ring::flag_force_wakeup, [](auto) { return 0; }));
    EXPECT_EQ(ring.wakeups(), 0u);
    return 0;
  });
  EXPECT_EQ(outer, 2);
  EXPECT_EQ(inner, (std::vector<std::int64_t>{-EBUSY, -EBUSY}));
  EXPECT_EQ(ring.wakeups(), 1u);  // the outer one's
  EXPECT_EQ(ring.drain(), 0);     // no longer busy
}

TEST(UserRingbuf, TheCallbackReadsASampleThroughTheSecondMapping) {
  UserRing ring({.start_position = 4088});
  UserRingbufProducer producer = ring.model->producer();
  std::byte* payload = nullptr;
  ASSERT_EQ(producer.reserve(16, payload), 0);  // header in the last 8 bytes, payload at 0
  EXPECT_EQ(payload, ring.model->memory().produced_data());
  std::memcpy(payload, "0123456789abcdef", 16);
  producer.submit(payload);
  std::vector<std::byte> got;
  ring.model->drain(0, [&](std::span<const std::byte> sample) {
    got.assign(sample.begin(), sample.end());
    return 0;
  });
  ASSERT_EQ(got.size(), 16u);
  EXPECT_EQ(std::memcmp(got.data(), "0123456789abcdef", 16), 0);
}

TEST(UserRingbuf, LibbpfCutsTheFreeSpaceTo32Bits) {
  UserRing ring;
  UserRingbufProducer producer = ring.model->producer();
  std::byte* payload = nullptr;
  ring.producer(8192);  // free = 4096 - 8192, cut: 4 GiB - 4096
  EXPECT_EQ(producer.reserve(8, payload), 0);
  ring.producer((1ull << 32) + 4096);  // free = 4096 - 2^32 - 4096, cut: 0
  EXPECT_EQ(producer.reserve(0, payload), ENOSPC);
  EXPECT_EQ(producer.reserve(0x40000000, payload), E2BIG);
}

TEST(UserRingbuf, ASampleCanBeDiscardedThoughItsHeaderWasOverwritten) {
  UserRing ring;
  UserRingbufProducer producer = ring.model->producer();
  std::byte* payload = nullptr;
  ASSERT_EQ(producer.reserve(8, payload), 0);
  ring.header(0, 3 | busy_bit);
  producer.discard(payload);
  EXPECT_EQ(test::load<std::uint32_t>(ring.model->memory().user_data(), 0), 3 | discard_bit);
}

TEST(UserRingbuf, ResetMakesItTheRingThatWasCreated) {
  UserRing ring;
  ring.lay({0, 0});
  ring.drain();
  ring.model->reset();
  EXPECT_EQ(ring.model->consumer_pos(), 0u);
  EXPECT_EQ(ring.model->producer_pos(), 0u);
  EXPECT_EQ(test::load<std::uint32_t>(ring.model->memory().user_data(), 0), 0u);
}

TEST(UserRingbuf, StepByStepEveryAccessStandsAlone) {
  UserRing ring;
  ring.lay({0});
  UserRingbufDrain<PlainMemory> drain(ring.model->state(), 0);
  // flags, busy, producer, consumer, header; then the callback; consume, producer, consumer, release.
  for (int i = 0; i < 5; ++i) ASSERT_EQ(drain.step(), StepResult::more);
  ASSERT_TRUE(drain.has_sample());
  EXPECT_EQ(ring.model->consumer_pos(), 0u);
  drain.answer(0);
  ASSERT_EQ(drain.step(), StepResult::more);
  EXPECT_EQ(ring.model->consumer_pos(), 16u);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(drain.step(), StepResult::more);
  EXPECT_EQ(ring.model->state().busy, 1u);
  EXPECT_EQ(drain.step(), StepResult::done);
  EXPECT_EQ(ring.model->state().busy, 0u);
  EXPECT_EQ(drain.result(), 1);
  EXPECT_TRUE(drain.wants_wakeup());
}

TEST(UserRingbuf, AWriterWaitsForRoomUntilADrainWakesIt) {
  UserRing ring;
  UserRingbufProducer producer = ring.model->producer();
  std::byte* payload = nullptr;
  ASSERT_EQ(producer.reserve(4088, payload), 0);
  producer.submit(payload);
  Epoll epoll;
  ASSERT_TRUE(epoll.add(*ring.model, Trigger::edge, 7, poll_out));
  std::array<ringside_ready, 2> ready;
  EXPECT_EQ(epoll.poll_ready(ready), 0u);
  ring.drain(ring::flag_no_wakeup);
  EXPECT_EQ(epoll.poll_ready(ready), 0u) << "writable, but nobody said so";
  EXPECT_EQ(ring.model->poll(), poll_writable);
  ring.drain(ring::flag_force_wakeup);
  ASSERT_EQ(epoll.poll_ready(ready), 1u);
  EXPECT_EQ(ready[0].ring, 7u);
  EXPECT_EQ(ready[0].events, poll_out);
}

}  // namespace
}  // namespace ringside::sim
