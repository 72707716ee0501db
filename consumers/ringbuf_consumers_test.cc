// SPDX-License-Identifier: Apache-2.0
//
// What all strategies for BPF rings have in common, each fact against a ring filled by hand.
#include <gtest/gtest.h>

#include <cerrno>
#include <limits>
#include <string>

#include "consumers/fake_host.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

using testing::Bytes;
using testing::FakeHost;
using testing::FakeRingbuf;
using testing::OpenConsumer;
using testing::payload;

class RingbufConsumers : public ::testing::TestWithParam<const ringside_consumer*> {
 protected:
  /// Gives back every view, oldest first, as a host that reads at once would.
  void release_all(OpenConsumer& consumer) {
    if (GetParam()->release == nullptr) return;
    for (const testing::Delivery& delivery : host.deliveries) {
      if (delivery.token != 0) consumer.release(delivery.token);
    }
  }

  FakeHost host;
};

TEST_P(RingbufConsumers, DeliversRecordsInOrder) {
  FakeRingbuf ring(4096);
  for (std::uint32_t i = 0; i < 5; ++i) ring.put(payload(i, 10 + i));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  ASSERT_EQ(consumer.open_result(), 0);

  EXPECT_EQ(consumer.drain(), 5);
  ASSERT_EQ(host.deliveries.size(), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(host.deliveries[i].bytes, payload(i, 10 + i));
  release_all(consumer);
  EXPECT_EQ(ring.consumer_pos(), ring.producer_pos());
  EXPECT_EQ(consumer.drain(), 0);
}

TEST_P(RingbufConsumers, DeliversEveryLengthFromZeroToSixteen) {
  FakeRingbuf ring(4096);
  for (std::uint32_t length = 0; length <= 16; ++length) ring.put(payload(length, length));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(), 17);
  for (std::uint32_t length = 0; length <= 16; ++length)
    EXPECT_EQ(host.deliveries.at(length).bytes, payload(length, length));
}

TEST_P(RingbufConsumers, DeliversTheLargestRecord) {
  FakeRingbuf ring(65536, 65536 - 32);
  ring.put(payload(1, ring::ringbuf::max_payload(65536)));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host.deliveries.at(0).bytes, payload(1, 65520));
}

TEST_P(RingbufConsumers, DeliversRecordsThatCrossTheEndAtEveryOffset) {
  for (std::uint64_t start = 0; start < 4096; start += 8) {
    FakeRingbuf ring(4096, start);
    ring.put(payload(1, 100));
    ring.put(payload(2, 37));
    FakeHost fresh;
    OpenConsumer consumer(*GetParam(), fresh, {ring.ring()});
    ASSERT_EQ(consumer.drain(), 2) << "start " << start;
    ASSERT_EQ(fresh.deliveries[0].bytes, payload(1, 100)) << "start " << start;
    ASSERT_EQ(fresh.deliveries[1].bytes, payload(2, 37)) << "start " << start;
  }
}

TEST_P(RingbufConsumers, StopsAtABusyRecordAndPublishesWhatLiesBeforeIt) {
  FakeRingbuf ring(4096);
  ring.put(payload(1, 8));
  const std::uint64_t held = ring.reserve(8);
  ring.put(payload(3, 8));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(), 1);
  release_all(consumer);
  EXPECT_EQ(ring.consumer_pos(), held);

  ring.write(held, payload(2, 8));
  ring.commit(held);
  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(host.deliveries.at(1).bytes, payload(2, 8));
  EXPECT_EQ(host.deliveries.at(2).bytes, payload(3, 8));
}

TEST_P(RingbufConsumers, PassesOverDiscardedRecordsAndHandsTheirSpaceBack) {
  FakeRingbuf ring(4096);
  ring.put_discarded(40);
  ring.put(payload(1, 8));
  ring.put_discarded(0);
  ring.put_discarded(3);
  ring.put(payload(2, 8));
  ring.put_discarded(100);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(host.deliveries.at(0).bytes, payload(1, 8));
  EXPECT_EQ(host.deliveries.at(1).bytes, payload(2, 8));
  release_all(consumer);
  EXPECT_EQ(ring.consumer_pos(), ring.producer_pos());
}

TEST_P(RingbufConsumers, HandsBackARingThatHoldsDiscardedRecordsOnly) {
  FakeRingbuf ring(4096);
  for (int i = 0; i < 100; ++i) ring.put_discarded(16);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_EQ(ring.consumer_pos(), ring.producer_pos());
}

TEST_P(RingbufConsumers, DeliversAtMostMaxRecords) {
  FakeRingbuf ring(4096);
  for (std::uint32_t i = 0; i < 5; ++i) ring.put(payload(i, 8));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(2), 2);
  release_all(consumer);
  EXPECT_EQ(ring.consumer_pos(), 2 * 16u);
  EXPECT_EQ(consumer.drain(2), 2);
  EXPECT_EQ(consumer.drain(2), 1);
  EXPECT_EQ(host.deliveries.at(4).bytes, payload(4, 8));
}

TEST_P(RingbufConsumers, StopsWhenDeliverSaysSoAndCountsThatRecord) {
  FakeRingbuf ring(4096);
  for (std::uint32_t i = 0; i < 5; ++i) ring.put(payload(i, 8));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  host.stop_after = 3;

  EXPECT_EQ(consumer.drain(), 3);
  release_all(consumer);
  EXPECT_EQ(ring.consumer_pos(), 3 * 16u);
  EXPECT_EQ(consumer.drain(), 2);
}

TEST_P(RingbufConsumers, DrainEndsThoughAProducerRefillsTheRing) {
  FakeRingbuf ring(4096);
  ring.put(payload(0, 8));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  host.during_delivery = [&] { ring.put(payload(0, 8)); };

  EXPECT_EQ(consumer.drain(), 1);  // what lay there when it began
}

TEST_P(RingbufConsumers, RefusesALengthThatReachesBeyondTheProducer) {
  FakeRingbuf ring(4096);
  ring.put(payload(1, 8));
  ring.put(payload(2, 8));
  ring.set_header(16, 9);  // span 24, but only 16 bytes are published
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(), 1);  // what lies before it first: no delivery is hidden by the error
  EXPECT_EQ(consumer.drain(), -EBADMSG);
  EXPECT_EQ(host.deliveries.size(), 1u);
  release_all(consumer);
  EXPECT_EQ(ring.consumer_pos(), 16u);
}

TEST_P(RingbufConsumers, RefusesEveryImpossibleLengthWord) {
  for (const std::uint32_t word : {4096u, 4088u, 0x3fffffffu, 0x3fffffffu | ring::ringbuf::discard_bit, 17u}) {
    FakeRingbuf ring(4096);
    ring.put(payload(1, 16));
    ring.set_header(0, word);
    FakeHost fresh;
    OpenConsumer consumer(*GetParam(), fresh, {ring.ring()});
    EXPECT_EQ(consumer.drain(), -EBADMSG) << word;
    EXPECT_TRUE(fresh.deliveries.empty()) << word;
    EXPECT_EQ(ring.consumer_pos(), 0u) << word;
  }
}

TEST_P(RingbufConsumers, BeginsWhereTheLastConsumerStopped) {
  for (const std::uint64_t start : {std::uint64_t{312}, std::uint64_t{4088}, (std::uint64_t{1} << 32) - 16,
                                    std::numeric_limits<std::uint64_t>::max() - 7}) {
    FakeRingbuf ring(4096, start);
    ring.set_header(start, 16);  // a plausible header of a lap before, above the producer position
    FakeHost fresh;
    OpenConsumer consumer(*GetParam(), fresh, {ring.ring()});
    EXPECT_EQ(consumer.drain(), 0) << start;
    EXPECT_EQ(ring.consumer_pos(), start);

    ring.put(payload(1, 20));
    ring.put(payload(2, 20));
    EXPECT_EQ(consumer.drain(), 2) << start;
    EXPECT_EQ(fresh.deliveries.at(1).bytes, payload(2, 20)) << start;
  }
}

TEST_P(RingbufConsumers, RefusesToOpenARingWhosePositionsNoConsumerLeft) {
  struct Positions {
    std::uint64_t consumer, producer;
  };
  for (const Positions positions : {Positions{312, 256}, Positions{4, 256}, Positions{0, 4104}, Positions{8, 0}}) {
    FakeRingbuf ring(4096);
    ring.set_consumer_pos(positions.consumer);
    ring.set_producer_pos(positions.producer);
    OpenConsumer consumer(*GetParam(), host, {ring.ring()});
    EXPECT_EQ(consumer.open_result(), -EBADMSG) << positions.consumer;
    EXPECT_EQ(ring.consumer_pos(), positions.consumer);
  }
}

TEST_P(RingbufConsumers, RefusesToOpenWithoutARingOrForAKindThatItDoesNotRead) {
  FakeRingbuf ring(4096);
  EXPECT_EQ(OpenConsumer(*GetParam(), host, std::vector<ringside_ring>{}).open_result(), -EINVAL);
  if (GetParam()->ring_kinds != RINGSIDE_RINGBUF) return;
  ringside_ring other = ring.ring();
  other.kind = RINGSIDE_PERF;
  EXPECT_EQ(OpenConsumer(*GetParam(), host, {other}).open_result(), -EINVAL);
}

TEST_P(RingbufConsumers, ServesEveryRingAndBeginsWithTheNextOne) {
  FakeRingbuf first(4096);
  FakeRingbuf second(4096);
  for (std::uint32_t i = 0; i < 3; ++i) first.put(payload(i, 8));
  second.put(payload(9, 8));
  OpenConsumer consumer(*GetParam(), host, {first.ring(), second.ring()});

  EXPECT_EQ(consumer.drain(1), 1);
  EXPECT_EQ(consumer.drain(1), 1);
  EXPECT_EQ(host.deliveries.at(0).ring, 0u);
  EXPECT_EQ(host.deliveries.at(1).ring, 1u);  // the full first ring does not starve the second
  EXPECT_EQ(host.deliveries.at(1).bytes, payload(9, 8));
  EXPECT_EQ(consumer.drain(), 2);
}

TEST_P(RingbufConsumers, ABrokenRingDoesNotHideTheOthers) {
  FakeRingbuf broken(4096);
  FakeRingbuf sound(4096);
  broken.put(payload(1, 8));
  broken.set_header(0, 4088);
  sound.put(payload(2, 8));
  OpenConsumer consumer(*GetParam(), host, {broken.ring(), sound.ring()});

  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host.deliveries.at(0).bytes, payload(2, 8));
  EXPECT_EQ(consumer.drain(), -EBADMSG);
}

TEST_P(RingbufConsumers, WaitIsReadyAtOnceWhenARecordLiesThere) {
  FakeRingbuf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 0);
  ring.put(payload(1, 8));  // whose wake-up was lost on the way

  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
  EXPECT_EQ(host.sleeps, 0);
}

/// Those that sleep in the kernel.
class RingbufSleepers : public RingbufConsumers {};

TEST_P(RingbufSleepers, TellsATimeoutOnlyAfterALook) {
  FakeRingbuf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_TIMEOUT);

  host.during_sleep = [&](std::int64_t timeout_ns) {
    ring.put(payload(1, 8));  // with NO_WAKEUP
    host.now_ns += timeout_ns;
    return 0;
  };
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_READY);
  consumer.drain();
  EXPECT_EQ(host.deliveries.size(), 1u);  // by the wait or by the drain
}

TEST_P(RingbufSleepers, SleepsOnABusyRecord) {
  FakeRingbuf ring(4096);
  ring.reserve(8);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 0);

  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(host.sleeps, 1);
}

TEST_P(RingbufSleepers, PublishesDiscardedRecordsBeforeItSleeps) {
  FakeRingbuf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  ring.put_discarded(8);
  host.during_sleep = [&](std::int64_t timeout_ns) {
    EXPECT_EQ(ring.consumer_pos(), ring.producer_pos());  // else the next commit wakes nobody
    host.now_ns += timeout_ns;
    return 0;
  };
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(host.sleeps, 1);
}

TEST_P(RingbufSleepers, PassesTheEndOfTheRunUp) {
  FakeRingbuf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  host.during_sleep = [](std::int64_t) { return -ECANCELED; };
  EXPECT_EQ(consumer.wait(), -ECANCELED);
}

TEST_P(RingbufSleepers, AnInterruptEndsNothing) {  // A7
  FakeRingbuf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  host.during_sleep = [&](std::int64_t) {
    if (host.sleeps == 1) return -EINTR;
    ring.put(payload(1, 8));
    return 1;
  };
  // It is passed up, or the sleep goes on.
  int told = consumer.wait(-1);
  if (told == -EINTR) told = consumer.wait(-1);
  EXPECT_EQ(told, RINGSIDE_WAIT_READY);
  consumer.drain();
  EXPECT_EQ(host.deliveries.size(), 1u);
}

TEST_P(RingbufSleepers, SleepsOnForTheRestOfTheTimeAfterAWakeUpForNothing) {
  FakeRingbuf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  std::vector<std::int64_t> timeouts;
  host.during_sleep = [&](std::int64_t timeout_ns) {
    timeouts.push_back(timeout_ns);
    host.now_ns += timeouts.size() == 1 ? 400 : timeout_ns;
    return timeouts.size() == 1 ? 1 : 0;
  };
  if (GetParam()->trigger == RINGSIDE_LEVEL) {  // there is no sleeping on what keeps it awake
    EXPECT_EQ(consumer.wait(1000), RINGSIDE_WAIT_READY);
    return;
  }
  EXPECT_EQ(consumer.wait(1000), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(timeouts, (std::vector<std::int64_t>{1000, 600}));
}

TEST_P(RingbufSleepers, EndlessWakeUpsForNothingEndTheWait) {
  FakeRingbuf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  host.during_sleep = [](std::int64_t) { return 1; };

  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);  // spurious, and the host sees it
  EXPECT_EQ(host.sleeps, GetParam()->trigger == RINGSIDE_LEVEL ? 1 : 16);
}

TEST_P(RingbufConsumers, WaitLeavesItToDrainToTellOfABrokenRing) {
  FakeRingbuf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  ring.set_consumer_pos(64);  // by somebody else; our own position is 0 still
  ring.set_producer_pos(8192);

  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
  EXPECT_EQ(consumer.drain(), -EBADMSG);
}

std::vector<const ringside_consumer*> sleepers() {
  return {&copy(),         &callback(),     &zero_copy(),  &overwrite_snapshot(), &read(),          &read_into(),
          &peek_consume(), &guarded_peek(), &mutex_peek(), &iterator(),           &visit(),         &take(),
          &token_commit(), &lease(),        &copy_level(), &batch_release(),      &prefetch_view(), &copy_level_fence(),
          &time_merge()};
}
std::vector<const ringside_consumer*> all_strategies() {
  std::vector<const ringside_consumer*> all = sleepers();
  all.push_back(&busy_poll());
  return all;
}
constexpr auto name_of_table = [](const auto& param) { return std::string(param.param->name); };

INSTANTIATE_TEST_SUITE_P(Strategies, RingbufConsumers, ::testing::ValuesIn(all_strategies()), name_of_table);
INSTANTIATE_TEST_SUITE_P(Strategies, RingbufSleepers, ::testing::ValuesIn(sleepers()), name_of_table);

TEST(BusyPoll, LetsOthersRunBetweenItsLooksAndNeverSleeps) {
  FakeRingbuf ring(4096);
  FakeHost host;
  OpenConsumer consumer(busy_poll(), host, {ring.ring()});
  host.during_yield = [&] {
    if (host.yields == 3) ring.put(payload(1, 8));  // with NO_WAKEUP
  };
  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
  EXPECT_EQ(host.yields, 3);
  EXPECT_EQ(host.sleeps, 0);
}

TEST(BusyPoll, GivesItsCallerATurnThoughNothingComes) {
  FakeRingbuf ring(4096);
  FakeHost host;
  OpenConsumer consumer(busy_poll(), host, {ring.ring()});
  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
  EXPECT_EQ(host.yields, 64);
}

TEST(BusyPoll, TellsATimeoutAtItsDeadline) {
  FakeRingbuf ring(4096);
  FakeHost host;
  OpenConsumer consumer(busy_poll(), host, {ring.ring()});
  host.during_yield = [&] { host.now_ns += 100; };
  EXPECT_EQ(consumer.wait(1000), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(host.yields, 10);
}

TEST(Copy, HandsTheSpaceBackBeforeItDelivers) {
  FakeRingbuf ring(4096);
  FakeHost host;
  ring.put(payload(1, 8));
  OpenConsumer consumer(copy(), host, {ring.ring()});
  host.during_delivery = [&] { EXPECT_EQ(ring.consumer_pos(), 16u); };
  EXPECT_EQ(consumer.drain(), 1);
}

TEST(Callback, HandsTheSpaceBackAfterItDelivered) {
  FakeRingbuf ring(4096);
  FakeHost host;
  ring.put(payload(1, 8));
  OpenConsumer consumer(callback(), host, {ring.ring()});
  host.during_delivery = [&] { EXPECT_EQ(ring.consumer_pos(), 0u); };
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(ring.consumer_pos(), 16u);
}

TEST(Callback, ShowsTheRecordWhereItLies) {
  FakeRingbuf ring(4096);
  FakeHost host;
  ring.put(payload(1, 8));
  OpenConsumer consumer(callback(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host.deliveries.at(0).place, static_cast<const std::uint8_t*>(ring.ring().data) + 8);
  EXPECT_EQ(host.deliveries.at(0).token, 0u);
}

}  // namespace
}  // namespace ringside::consumers
