// SPDX-License-Identifier: Apache-2.0
//
// What the strategies of perf rings have in common, each fact against a ring filled by hand.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "consumers/fake_host.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

using testing::Bytes;
using testing::FakeHost;
using testing::FakePerf;
using testing::OpenConsumer;
using testing::payload;

using Losses = std::vector<FakeHost::Loss>;

/// `bytes` with the padding that FakePerf adds.
Bytes padded(Bytes bytes) {
  bytes.resize(ring::perf::raw_size(bytes.size()), 0xee);
  return bytes;
}

class PerfConsumers : public ::testing::TestWithParam<const ringside_consumer*> {
 protected:
  FakeHost host;
};

/// Those that sleep in the host's epoll set.
using PerfSleepers = PerfConsumers;

TEST_P(PerfConsumers, DeliversSamplesInOrderWithTheirPadding) {
  FakePerf ring(4096);
  for (std::uint32_t size = 0; size < 20; ++size) ring.put(payload(size, size));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  ASSERT_EQ(consumer.open_result(), 0);

  EXPECT_EQ(consumer.drain(), 20);
  for (std::uint32_t size = 0; size < 20; ++size)
    EXPECT_EQ(host.deliveries.at(size).bytes, padded(payload(size, size))) << size;
  EXPECT_EQ(ring.tail(), ring.head());
  EXPECT_EQ(consumer.drain(), 0);
}

TEST_P(PerfConsumers, DeliversSamplesThatCrossTheEndAtEveryOffset) {
  for (std::uint64_t start = 0; start < 4096; start += 8) {
    FakePerf ring(4096, start);
    ring.put(payload(1, 100));
    ring.put(payload(2, 36));
    FakeHost fresh;
    OpenConsumer consumer(*GetParam(), fresh, {ring.ring()});
    ASSERT_EQ(consumer.drain(), 2) << "start " << start;
    ASSERT_EQ(fresh.deliveries[0].bytes, padded(payload(1, 100))) << "start " << start;
    ASSERT_EQ(fresh.deliveries[1].bytes, padded(payload(2, 36))) << "start " << start;
  }
}

TEST_P(PerfConsumers, DeliversTheLargestSampleAcrossTheEnd) {
  FakePerf ring(131072, 131072 - 4096);
  ring.put(payload(1, ring::perf::max_payload));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host.deliveries.at(0).bytes, padded(payload(1, ring::perf::max_payload)));
}

TEST_P(PerfConsumers, ReportsWhatEachLostRecordAccountsFor) {
  FakePerf ring(4096);
  ring.put(payload(1, 8));
  ring.put_lost(7);
  ring.put(payload(2, 8));
  ring.put_lost(0);
  ring.put_lost(35);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(host.losses, (Losses{{0, 7}, {0, 35}}));  // never a loss of 0
  EXPECT_EQ(ring.tail(), ring.head());
}

TEST_P(PerfConsumers, PassesOverOtherRecordTypes) {
  FakePerf ring(4096);
  ring.put_other(3, 40);
  ring.put(payload(1, 8));
  ring.put_other(0xffffffff, 8);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(ring.tail(), ring.head());
}

TEST_P(PerfConsumers, RefusesEveryHeaderSizeThatCannotBe) {
  for (const int size : {0, 1, 7, 9, 12, 48, 0xffff}) {
    for (const std::uint32_t type : {0u, 2u, 9u, 0xffffffffu}) {
      FakePerf ring(4096);
      ring.put(payload(1, 8));  // record of 24 bytes
      const std::uint64_t bad = ring.put_other(type, static_cast<std::uint16_t>(size));
      ring.set_head(bad + 40);
      FakeHost fresh;
      OpenConsumer consumer(*GetParam(), fresh, {ring.ring()});
      EXPECT_EQ(consumer.drain(), 1) << size;
      EXPECT_EQ(consumer.drain(), -EBADMSG) << size;  // and it ends: size 0 goes round no more than any other
      EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_READY) << size;
      EXPECT_EQ(fresh.deliveries.size(), 1u) << size;
      EXPECT_EQ(ring.tail(), bad) << size;
    }
  }
}

TEST_P(PerfConsumers, RefusesALostRecordWithoutRoomForItsCount) {
  FakePerf ring(4096);
  ring.put_lost(7, 16);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), -EBADMSG);
  EXPECT_TRUE(host.losses.empty());
}

TEST_P(PerfConsumers, PassesOverASampleWhoseRawSizeLies) {
  FakePerf ring(4096);
  ring.put_sample(24, 13, payload(1, 12));  // 12 bytes fit
  ring.put_sample(24, 0xffffffff, payload(1, 12));
  ring.put(payload(2, 8));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host.deliveries.at(0).bytes, padded(payload(2, 8)));
  EXPECT_EQ(ring.tail(), ring.head());
}

TEST_P(PerfConsumers, HandsOutNothingOfAnOutputThatWasTooLarge) {
  // 65525 to 65532 bytes: 8 bytes are reserved, raw_size says 65532 and lies beyond data_head (KERNEL-RINGS 2.8).
  FakePerf ring(131072);
  ring.put_sample(8, 65532, payload(1, 65532));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_TRUE(host.deliveries.empty());
  EXPECT_EQ(ring.tail(), 8u);

  ring.put(payload(2, 8));
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host.deliveries.at(0).bytes, padded(payload(2, 8)));
}

TEST_P(PerfConsumers, AHeadThatStepsBackwardsReadsAsNothingNew) {
  FakePerf ring(4096, 4096);
  ring.put(payload(1, 8));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 1);
  ring.set_head(4096);

  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(ring.tail(), 4096 + 24u);
}

TEST_P(PerfConsumers, AHeadMoreThanARingAheadIsAnError) {
  FakePerf ring(4096);
  FakePerf sound(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring(), sound.ring(1)});
  ring.set_head(4104);
  sound.put(payload(1, 8));

  EXPECT_EQ(consumer.drain(), 1);  // the sound ring is served all the same
  EXPECT_EQ(consumer.drain(), -EBADMSG);
  EXPECT_EQ(ring.tail(), 0u);
}

TEST_P(PerfConsumers, BeginsWhereTheLastConsumerStopped) {
  FakePerf ring(4096, UINT64_MAX - 7);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 0);
  ring.put(payload(1, 8));
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(ring.tail(), 16u);  // -8 + 24
}

TEST_P(PerfConsumers, RefusesToOpenARingWhosePositionsNoConsumerLeft) {
  FakePerf unaligned(4096);
  unaligned.set_tail(4);
  EXPECT_EQ(OpenConsumer(*GetParam(), host, {unaligned.ring()}).open_result(), -EBADMSG);
  FakePerf far(4096);
  far.set_head(8192);
  EXPECT_EQ(OpenConsumer(*GetParam(), host, {far.ring()}).open_result(), -EBADMSG);
  EXPECT_EQ(OpenConsumer(*GetParam(), host, std::vector<ringside_ring>{}).open_result(), -EINVAL);
}

TEST_P(PerfConsumers, DeliversAtMostMaxRecordsAndRemembersTheRest) {
  FakePerf ring(4096);
  for (std::uint32_t i = 0; i < 5; ++i) ring.put(payload(i, 8));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});

  EXPECT_EQ(consumer.drain(2), 2);
  EXPECT_EQ(ring.tail(), 48u);
  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);  // the poll flag is long gone: only a look finds the other three
  EXPECT_EQ(host.sleeps, 0);
  EXPECT_EQ(consumer.drain(), 3);
}

TEST_P(PerfConsumers, StopsWhenDeliverSaysSo) {
  FakePerf first(4096);
  FakePerf second(4096);
  for (std::uint32_t i = 0; i < 5; ++i) first.put(payload(i, 8));
  second.put(payload(9, 8));
  OpenConsumer consumer(*GetParam(), host, {first.ring(), second.ring(1)});
  host.stop_after = 2;

  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(first.tail(), 48u);
  EXPECT_EQ(second.tail(), 0u);
  EXPECT_EQ(consumer.drain(), 4);
}

TEST_P(PerfConsumers, ServesEveryRingWhicheverWoke) {
  FakePerf first(4096);
  FakePerf second(4096);
  OpenConsumer consumer(*GetParam(), host, {first.ring(), second.ring(1)});
  second.put(payload(1, 8));  // below its watermark: no wake-up
  host.during_sleep = [&](std::int64_t) {
    first.put(payload(2, 8));
    return 1;
  };
  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
  first.put(payload(2, 8));
  EXPECT_EQ(consumer.drain(), 2);
}

TEST_P(PerfConsumers, TellsATimeoutOnlyAfterALook) {
  FakePerf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_TIMEOUT);
  host.during_sleep = [&](std::int64_t timeout_ns) {
    ring.put(payload(1, 8));
    host.now_ns += timeout_ns;
    return 0;
  };
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_READY);
}

TEST_P(PerfConsumers, SleepsOnWhenTheFlagWasSetForRecordsLongRead) {
  FakePerf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 0);
  host.during_sleep = [&](std::int64_t timeout_ns) {
    if (host.sleeps == 1) return 1;
    host.now_ns += timeout_ns;
    return 0;
  };
  int told = consumer.wait();
  if (told == RINGSIDE_WAIT_READY) {  // to read the ring that was named, in vain
    EXPECT_EQ(consumer.drain(), 0);
    told = consumer.wait();
  }
  EXPECT_EQ(told, RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(host.sleeps, 2);
}

TEST_P(PerfSleepers, ARingThatHungUpDoesNotKeepWaitForEver) {
  FakePerf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 0);
  host.during_sleep = [](std::int64_t) { return 1; };
  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
}

TEST_P(PerfConsumers, PassesTheEndOfTheRunUp) {
  FakePerf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 0);
  host.during_sleep = [](std::int64_t) { return -ECANCELED; };
  EXPECT_EQ(consumer.wait(), -ECANCELED);
}

TEST_P(PerfConsumers, AnInterruptEndsNothing) {  // A7
  FakePerf ring(4096);
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 0);
  host.during_sleep = [&](std::int64_t) {
    if (host.sleeps == 1) return -EINTR;
    ring.put(payload(1, 8));
    return 1;
  };
  // It is passed up, or the sleep goes on.
  int told = consumer.wait(-1);
  if (told == -EINTR) told = consumer.wait(-1);
  EXPECT_EQ(told, RINGSIDE_WAIT_READY);
  EXPECT_EQ(consumer.drain(), 1);
}

TEST_P(PerfConsumers, ReadsSamplesThatCarryTheirTime) {
  for (std::uint64_t start = 0; start < 4096; start += 8) {
    FakePerf ring(4096, start);
    ring.put_at(70, payload(1, 36));
    ring.put_lost(3);
    ring.put_at(80, payload(2, 8));
    FakeHost fresh;
    const ringside_ring mapped = ring.ring();
    ringside_ring_set set{};
    set.kind = RINGSIDE_PERF;
    set.ring_count = 1;
    set.rings = &mapped;
    set.map_fd = -1;
    set.sample_type = ring::perf::sample_type_raw | ring::perf::sample_type_time;
    OpenConsumer consumer(*GetParam(), fresh, set);
    ASSERT_EQ(consumer.drain(), 2) << "start " << start;
    ASSERT_EQ(fresh.deliveries[0].bytes, padded(payload(1, 36))) << "start " << start;
    ASSERT_EQ(fresh.deliveries[1].bytes, padded(payload(2, 8))) << "start " << start;
    ASSERT_EQ(fresh.losses, (Losses{{0, 3}}));
  }
}

TEST_P(PerfConsumers, DrainEndsThoughAProducerRefillsTheRing) {
  FakePerf ring(4096);
  ring.put(payload(0, 8));
  OpenConsumer consumer(*GetParam(), host, {ring.ring()});
  host.during_delivery = [&] { ring.put(payload(0, 8)); };
  EXPECT_EQ(consumer.drain(), 1);
}

const auto by_name = [](const auto& param) { return std::string(param.param->name); };
INSTANTIATE_TEST_SUITE_P(Strategies, PerfConsumers,
                         ::testing::Values(&read_into(), &drain_all(), &parse_for_cpu(), &drain_cpu(), &session(),
                                           &session_watermark(), &session_merge()),
                         by_name);
INSTANTIATE_TEST_SUITE_P(Strategies, PerfSleepers,
                         ::testing::Values(&read_into(), &drain_all(), &parse_for_cpu(), &drain_cpu(),
                                           &session_watermark()),
                         by_name);

TEST(ReadInto, StoresTheTailAfterEachSample) {
  FakePerf ring(4096);
  FakeHost host;
  ring.put(payload(1, 8));
  ring.put(payload(2, 8));
  OpenConsumer consumer(read_into(), host, {ring.ring()});
  host.during_delivery = [&] { EXPECT_EQ(ring.tail(), 24 * host.deliveries.size()); };
  EXPECT_EQ(consumer.drain(), 2);
}

TEST(DrainAll, StoresTheTailOnceARing) {
  FakePerf ring(4096);
  FakeHost host;
  ring.put(payload(1, 8));
  ring.put(payload(2, 8));
  OpenConsumer consumer(drain_all(), host, {ring.ring()});
  host.during_delivery = [&] { EXPECT_EQ(ring.tail(), 0u); };
  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(ring.tail(), 48u);
}

TEST(DrainAll, ShowsASampleWhereItLiesUnlessItCrossesTheEnd) {
  FakePerf ring(4096, 4096 - 40);
  FakeHost host;
  ring.put(payload(1, 8));
  ring.put(payload(2, 20));  // raw bytes from 4092 on: across the end
  OpenConsumer consumer(drain_all(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 2);
  const auto* data = static_cast<const std::uint8_t*>(ring.ring().data);
  EXPECT_EQ(host.deliveries.at(0).place, data + 4096 - 40 + 12);
  EXPECT_TRUE(host.deliveries.at(1).place < data || host.deliveries.at(1).place >= data + 4096);
}

using Claims = std::vector<std::uint32_t>;

TEST(DrainAll, ClaimsOfABatchThatNothingCutShortThatAllFromBeforeItIsInIt) {
  FakePerf first(4096);
  FakePerf second(4096);
  FakeHost host;
  OpenConsumer consumer(drain_all(), host, {first.ring(), second.ring(1)});
  host.during_batch_begin = [&] {
    first.put(payload(1, 8));
    second.put(payload(2, 8));
  };
  EXPECT_EQ(consumer.drain(), 2);  // what comes while the batch begins is in it
  host.during_batch_begin = {};
  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_EQ(host.claims, (Claims{RINGSIDE_BATCH_BEFORE, RINGSIDE_BATCH_BEFORE}));
}

TEST(DrainAll, ClaimsNothingWhenMaxRecordsOrTheHostCutItShort) {
  FakePerf ring(4096);
  FakeHost host;
  for (std::uint32_t number = 0; number < 4; ++number) ring.put(payload(number, 8));
  OpenConsumer consumer(drain_all(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(2), 2);
  host.stop_after = 3;
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host.claims, Claims{});
  host.stop_after = 4;  // of four: nothing was cut
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host.claims, Claims{RINGSIDE_BATCH_BEFORE});
  EXPECT_EQ(host.batches_begun, 3);
}

TEST(DrainAll, ClaimsNothingOfABrokenRing) {
  FakePerf ring(4096);
  FakeHost host;
  ring.put_other(ring::perf::type_sample, 12);
  OpenConsumer consumer(drain_all(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), -EBADMSG);
  ring.set_head(3 * 4096);  // more than a ring ahead
  EXPECT_EQ(consumer.drain(), -EBADMSG);
  EXPECT_EQ(host.claims, Claims{});
}

TEST(DrainAll, TellsAHostThatIsOlderThanBatchesNothingOfThem) {
  FakePerf ring(4096);
  FakeHost host;
  host.knows_no_batches();
  ring.put(payload(1, 8));
  OpenConsumer consumer(drain_all(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 1);
}

TEST(ReadInto, TellsOfNoBatches) {
  FakePerf ring(4096);
  FakeHost host;
  ring.put(payload(1, 8));
  OpenConsumer consumer(read_into(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host.batches_begun, 0);
}

}  // namespace
}  // namespace ringside::consumers
