// SPDX-License-Identifier: Apache-2.0
//
// Each mutant shows its fault against a hand-made ring, beside the strategy it was made from, which does not. That the
// harness convicts them is tested where the harness is.
#include "consumers/mutants/mutants.h"

#include <gtest/gtest.h>

#include "consumers/callback.h"
#include "consumers/fake_host.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

using testing::Bytes;
using testing::FakeHost;
using testing::FakePerf;
using testing::FakeRingbuf;
using testing::OpenConsumer;
using testing::payload;

/// What a consumer delivers from one ring in one drain.
template <class Ring>
std::vector<Bytes> drained(const ringside_consumer& table, Ring ring) {
  FakeHost host;
  OpenConsumer consumer(table, host, {ring.ring()});
  consumer.drain();
  std::vector<Bytes> bytes;
  for (const testing::Delivery& delivery : host.deliveries) bytes.push_back(delivery.bytes);
  return bytes;
}

TEST(Mutants, IgnoreBusyDeliversADraft) {
  FakeRingbuf ring(4096);
  ring.write(ring.reserve(8), payload(1, 8));
  EXPECT_EQ(drained(copy(), ring), std::vector<Bytes>{});
  EXPECT_EQ(drained(mutant::ignore_busy(), ring), std::vector<Bytes>{payload(1, 8)});
}

TEST(Mutants, IgnoreDiscardDeliversADiscardedRecord) {
  FakeRingbuf ring(4096);
  const std::uint64_t position = ring.reserve(8);
  ring.write(position, payload(1, 8));
  ring.discard(position);
  EXPECT_EQ(drained(copy(), ring), std::vector<Bytes>{});
  EXPECT_EQ(drained(mutant::ignore_discard(), ring), std::vector<Bytes>{payload(1, 8)});
}

TEST(Mutants, ReleaseEarlyHandsTheSpaceOfAHeldViewBack) {
  const auto position_with_view_held = [](const ringside_consumer& table) {
    FakeRingbuf ring(4096);
    FakeHost host;
    ring.put(payload(1, 8));
    OpenConsumer consumer(table, host, {ring.ring()});
    EXPECT_EQ(consumer.drain(), 1);
    const std::uint64_t held = ring.consumer_pos();
    EXPECT_EQ(consumer.release(host.deliveries.at(0).token), 0);
    EXPECT_EQ(ring.consumer_pos(), 16u);
    return held;
  };
  EXPECT_EQ(position_with_view_held(zero_copy()), 0u);
  EXPECT_EQ(position_with_view_held(mutant::release_early()), 16u);
}

TEST(Mutants, WrongRoundingInventsARecordBehindEachShortOne) {
  for (std::uint32_t length = 1; length <= 7; ++length) {
    FakeRingbuf ring(4096);
    Bytes looks_like_a_header(length);
    looks_like_a_header[0] = 8;
    ring.put(looks_like_a_header);
    ring.put(payload(2, 8));
    EXPECT_EQ(drained(copy(), ring), (std::vector<Bytes>{looks_like_a_header, payload(2, 8)}));
    // The payload, taken for a header, says 8 bytes: those of the next record's header.
    const std::vector<Bytes> wrong = drained(mutant::wrong_rounding(), ring);
    ASSERT_GE(wrong.size(), 2u) << length;
    EXPECT_EQ(wrong[0], looks_like_a_header);
    EXPECT_EQ(wrong[1], (Bytes{8, 0, 0, 0, 0, 0, 0, 0})) << length;
  }
}

TEST(Mutants, WrongRoundingIsRightForAllOtherSizes) {
  FakeRingbuf ring(4096);
  std::vector<Bytes> expected;
  for (const std::uint32_t size : {0u, 8u, 9u, 15u, 16u, 17u, 100u}) {
    expected.push_back(payload(size, size));
    ring.put(expected.back());
  }
  EXPECT_EQ(drained(mutant::wrong_rounding(), ring), expected);
}

TEST(Mutants, BreakAtEndTearsARecordThatCrossesTheEnd) {
  FakeRingbuf ring(4096, 4096 - 72);
  ring.put(payload(1, 32));  // up to 4064
  ring.put(payload(2, 48));  // 24 bytes of it lie before the end
  EXPECT_EQ(drained(copy(), ring), (std::vector<Bytes>{payload(1, 32), payload(2, 48)}));

  const std::vector<Bytes> torn = drained(mutant::break_at_end(), ring);
  ASSERT_EQ(torn.size(), 2u);
  EXPECT_EQ(torn[0], payload(1, 32));
  EXPECT_EQ(Bytes(torn[1].begin(), torn[1].begin() + 24), payload(2, 24));
  EXPECT_NE(torn[1], payload(2, 48));
}

/// Publishes as late as sleep_without_look does, but looks again.
struct PublishesLate : RingbufSteps {
  static constexpr bool publishes_in_drain = false;
};

TEST(Mutants, SleepWithoutLookSleepsOnARecordThatCameBeforeItPublished) {
  const auto waits = [](const ringside_consumer& table) {
    FakeRingbuf ring(4096);
    FakeHost host;
    ring.put(payload(1, 8));
    OpenConsumer consumer(table, host, {ring.ring()});
    EXPECT_EQ(consumer.drain(), 1);
    EXPECT_EQ(consumer.drain(), 0);
    ring.put(payload(2, 8));   // while consumer_pos may still say 0, so that its commit wakes nobody
    return consumer.wait(-1);  // nobody will ever wake it: the fake host cancels
  };
  static constexpr ringside_consumer late = Callback<PublishesLate>::table("late", "publishes when about to sleep");
  EXPECT_EQ(waits(callback()), RINGSIDE_WAIT_READY);
  EXPECT_EQ(waits(late), RINGSIDE_WAIT_READY);
  EXPECT_EQ(waits(mutant::sleep_without_look()), -ECANCELED);
}

TEST(Mutants, SleepWithoutLookPublishesOnlyWhenAboutToSleep) {
  FakeRingbuf ring(4096);
  FakeHost host;
  ring.put(payload(1, 8));
  ring.put(payload(2, 8));
  OpenConsumer consumer(mutant::sleep_without_look(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(ring.consumer_pos(), 0u);
  host.during_sleep = [&](std::int64_t timeout_ns) {
    EXPECT_EQ(ring.consumer_pos(), 32u);
    host.now_ns += timeout_ns;
    return 0;
  };
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_TIMEOUT);
}

TEST(Mutants, EarlyTimeoutTellsATimeoutWhileARecordLiesThere) {
  const auto waits = [](const ringside_consumer& table) {
    FakeRingbuf ring(4096);
    FakeHost host;
    OpenConsumer consumer(table, host, {ring.ring()});
    host.during_sleep = [&](std::int64_t timeout_ns) {
      ring.put(payload(1, 8));  // with NO_WAKEUP
      host.now_ns += timeout_ns;
      return 0;
    };
    return consumer.wait();
  };
  EXPECT_EQ(waits(copy()), RINGSIDE_WAIT_READY);
  EXPECT_EQ(waits(mutant::early_timeout()), RINGSIDE_WAIT_TIMEOUT);
}

std::uint64_t reported(const ringside_consumer& table) {
  FakePerf ring(4096);
  FakeHost host;
  ring.put_lost(7);
  ring.put(payload(1, 8));
  ring.put_lost(35);
  ring.put(payload(2, 8));
  OpenConsumer consumer(table, host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 2);
  std::uint64_t sum = 0;
  for (const FakeHost::Loss& loss : host.losses) sum += loss.count;
  return sum;
}

TEST(Mutants, TheTwoThatMiscountLosses) {
  EXPECT_EQ(reported(read_into()), 42u);
  EXPECT_EQ(reported(mutant::forget_lost()), 0u);
  EXPECT_EQ(reported(mutant::count_lost_callbacks()), 2u);
}

TEST(Mutants, TrustPerfSizeHandsOutBytesBeyondTheHead) {
  FakePerf ring(131072);
  ring.put_sample(8, 65532, payload(1, 65532));  // an output of 65532 bytes (KERNEL-RINGS 2.8)
  EXPECT_EQ(drained(drain_all(), ring), std::vector<Bytes>{});

  FakeHost host;
  OpenConsumer consumer(mutant::trust_perf_size(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 1);
  const auto* data = static_cast<const std::uint8_t*>(ring.ring().data);
  ASSERT_EQ(host.deliveries.size(), 1u);
  EXPECT_EQ(host.deliveries[0].place, data + 12);
  EXPECT_GT(host.deliveries[0].place + host.deliveries[0].bytes.size(), data + ring.head());
  EXPECT_EQ(ring.tail(), 8u);
}

TEST(Mutants, TrustPerfSizeStaysWithinMemory) {
  FakePerf ring(4096, 2048);
  ring.put_sample(16, 0xffffffff, payload(1, 4));
  const std::vector<Bytes> bytes = drained(mutant::trust_perf_size(), ring);
  ASSERT_EQ(bytes.size(), 1u);
  EXPECT_EQ(bytes[0].size(), 65536u);  // its whole buffer, filled from the ring over and over
}

TEST(Mutants, DrainClaimsEmptyClaimsIt) {
  const auto claims = [](const ringside_consumer& table) {
    FakePerf ring(4096);
    FakeHost host;
    OpenConsumer consumer(table, host, {ring.ring()});
    EXPECT_EQ(consumer.drain(), 0);
    return host.claims;
  };
  EXPECT_EQ(claims(drain_all()), std::vector<std::uint32_t>{RINGSIDE_BATCH_BEFORE});
  EXPECT_EQ(claims(mutant::drain_claims_empty()), std::vector<std::uint32_t>{RINGSIDE_BATCH_EMPTY});
}

/// What one drain delivers of two rings that get a record each while the batch begins; all of them make their claim.
std::int64_t from_before(const ringside_consumer& table) {
  FakePerf first(4096);
  FakePerf second(4096);
  FakeHost host;
  OpenConsumer consumer(table, host, {first.ring(), second.ring(1)});
  host.during_batch_begin = [&] {
    first.put(payload(1, 8));
    second.put(payload(2, 8));
  };
  const std::int64_t delivered = consumer.drain();
  EXPECT_EQ(host.claims, std::vector<std::uint32_t>{RINGSIDE_BATCH_BEFORE});
  return delivered;
}

TEST(Mutants, TheTwoWhoseBatchIsNotAllFromBeforeIt) {
  EXPECT_EQ(from_before(drain_all()), 2);
  EXPECT_EQ(from_before(mutant::drain_heads_first()), 0);
  EXPECT_EQ(from_before(mutant::drain_one_ring()), 1);
}

TEST(Mutants, DrainRereadsHeadGoesOnWhileAProducerRefillsTheRing) {
  const auto delivered = [](const ringside_consumer& table) {
    FakePerf ring(4096);
    FakeHost host;
    ring.put(payload(0, 8));
    OpenConsumer consumer(table, host, {ring.ring()});
    host.during_delivery = [&] {
      if (host.deliveries.size() < 100) ring.put(payload(0, 8));
    };
    return consumer.drain(10);
  };
  EXPECT_EQ(delivered(drain_all()), 1);
  EXPECT_EQ(delivered(mutant::drain_rereads_head()), 100);
}

TEST(Mutants, DrainPartlySleepsBesideWhatItHasLeft) {
  const auto waits = [](const ringside_consumer& table) {
    FakePerf ring(4096);
    FakeHost host;
    for (std::uint32_t number = 0; number < 3; ++number) ring.put(payload(number, 8));
    OpenConsumer consumer(table, host, {ring.ring()});
    EXPECT_EQ(consumer.drain(2), 2);
    return consumer.wait(-1);  // the flag is taken: the fake host cancels
  };
  EXPECT_EQ(waits(drain_all()), RINGSIDE_WAIT_READY);
  EXPECT_EQ(waits(mutant::drain_partly()), -ECANCELED);
}

}  // namespace
}  // namespace ringside::consumers
