// SPDX-License-Identifier: Apache-2.0
//
// What overwrite_snapshot does when the ring overtakes it, at each place where it can be overtaken, and what its
// mutants do there. That it reads ordinary rings as the others do is tested with them.
#include <gtest/gtest.h>

#include <cerrno>

#include "consumers/fake_host.h"
#include "consumers/mutants/mutants.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

using testing::Bytes;
using testing::FakeHost;
using testing::FakeRingbuf;
using testing::OpenConsumer;
using testing::payload;

/// A ring as BPF_F_RB_OVERWRITE makes it: what does not fit takes the place of the oldest (KERNEL-RINGS 1.11).
class OverwriteRing : public FakeRingbuf {
 public:
  explicit OverwriteRing(std::uint64_t size, std::uint64_t start = 0) : FakeRingbuf(size, start), size_(size) {
    set_overwrite_pos(start);
  }
  void put(const Bytes& bytes) {
    const std::uint64_t end = producer_pos() + ring::ringbuf::span_of(static_cast<std::uint32_t>(bytes.size()));
    std::uint64_t oldest = overwrite_pos();
    while (end - oldest > size_ - 1) oldest += ring::ringbuf::span_of(header(oldest));
    set_overwrite_pos(oldest);
    FakeRingbuf::put(bytes);
  }

 private:
  std::uint64_t size_;
};

std::vector<Bytes> delivered(const FakeHost& host) {
  std::vector<Bytes> bytes;
  for (const testing::Delivery& delivery : host.deliveries) bytes.push_back(delivery.bytes);
  return bytes;
}

TEST(OverwriteSnapshot, BeginsAtTheOldestRecordThatIsThere) {
  OverwriteRing ring(4096);
  for (std::uint32_t i = 0; i < 12; ++i) ring.put(payload(i, 504));  // 7 of them stay: 5 to 11
  FakeHost host;
  OpenConsumer consumer(overwrite_snapshot(), host, {ring.ring()});
  ASSERT_EQ(consumer.open_result(), 0);
  EXPECT_EQ(consumer.drain(), 7);
  EXPECT_EQ(host.deliveries.front().bytes, payload(5, 504));
  EXPECT_EQ(host.deliveries.back().bytes, payload(11, 504));
  EXPECT_EQ(ring.consumer_pos(), ring.producer_pos());
}

TEST(OverwriteSnapshot, GoesOnFromOverwritePosWhenItWasLappedBetweenRecords) {
  OverwriteRing ring(4096);
  for (std::uint32_t i = 0; i < 4; ++i) ring.put(payload(i, 504));
  FakeHost host;
  OpenConsumer consumer(overwrite_snapshot(), host, {ring.ring()});
  host.during_delivery = [&] {
    if (host.deliveries.size() != 1) return;
    for (std::uint32_t i = 4; i < 20; ++i) ring.put(payload(i, 504));
  };
  // Record 0, then 13 to 19: 7 stay of 20.
  EXPECT_EQ(consumer.drain(), 8);
  EXPECT_EQ(host.deliveries.at(1).bytes, payload(13, 504));
  EXPECT_EQ(host.deliveries.at(7).bytes, payload(19, 504));
}

/// What comes of three records when bursts lap the reader at its n-th yield, which lies within the copy of one.
std::vector<Bytes> lapped_at_yield(const ringside_consumer& table, int when) {
  OverwriteRing ring(4096);
  for (std::uint32_t i = 0; i < 3; ++i) ring.put(payload(i, 1000));
  FakeHost host;
  int yields = 0;
  host.during_yield = [&] {
    if (++yields != when) return;
    for (std::uint32_t i = 3; i < 9; ++i) ring.put(payload(i, 900));
  };
  OpenConsumer consumer(table, host, {ring.ring()});
  consumer.drain();
  return delivered(host);
}

TEST(OverwriteSnapshot, DropsACopyThatWasOverwrittenMeanwhile) {
  // A record of 1000 bytes is copied in four pieces: yields 1 to 5 are about record 0.
  for (int when = 1; when <= 5; ++when) {
    const std::vector<Bytes> all = lapped_at_yield(overwrite_snapshot(), when);
    // 4 of the spans of 912 stay, and nothing of the records before.
    EXPECT_EQ(all, (std::vector<Bytes>{payload(5, 900), payload(6, 900), payload(7, 900), payload(8, 900)})) << when;
  }
}

TEST(OverwriteSnapshot, WithoutASecondLookItDeliversATornRecord) {
  for (int when = 1; when <= 4; ++when) {
    const std::vector<Bytes> all = lapped_at_yield(mutant::overwrite_no_second_look(), when);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all[0].size(), 1000u) << when;
    EXPECT_NE(all[0], payload(0, 1000)) << when;
  }
}

TEST(OverwriteSnapshot, WithoutOverwritePosItReadsOnInTheMiddleOfNewerRecords) {
  OverwriteRing ring(4096);
  ring.put(payload(0, 1000));
  FakeHost host;
  OpenConsumer consumer(mutant::overwrite_ignores_pos(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 1);
  for (std::uint32_t i = 1; i < 9; ++i) ring.put(payload(i, 900));
  EXPECT_EQ(consumer.drain(), 0);  // no length there makes sense: it starts over
  EXPECT_EQ(ring.consumer_pos(), ring.producer_pos());
}

TEST(OverwriteSnapshot, DoesNotTakeTheMiddleOfANewRecordForABusyHeader) {
  OverwriteRing ring(4096);
  ring.put(payload(0, 504));
  FakeHost host;
  OpenConsumer consumer(overwrite_snapshot(), host, {ring.ring()});
  for (std::uint32_t i = 0; i < 10; ++i) ring.put(Bytes(600, 0xff));  // 0xffffffff is BUSY
  EXPECT_EQ(consumer.drain(), 6);                                     // 6 * 608 = 3648 of 4095
  EXPECT_EQ(host.deliveries[0].bytes, Bytes(600, 0xff));
}

TEST(OverwriteSnapshot, ABrokenLengthThatIsNotOverwrittenIsAnError) {
  OverwriteRing ring(4096);
  ring.put(payload(0, 504));
  ring.set_header(0, 3000);
  FakeHost host;
  OpenConsumer consumer(overwrite_snapshot(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), -EBADMSG);
}

TEST(OverwriteSnapshot, PositionsMayWrapThe64BitsOnBothKindsOfRing) {
  const std::uint64_t start = std::uint64_t{0} - 2048;
  OverwriteRing overwrites(4096, start);
  FakeRingbuf ordinary(4096, start);  // overwrite_pos says 0, which is ahead of its positions
  for (std::uint32_t i = 0; i < 12; ++i) overwrites.put(payload(i, 504));
  for (std::uint32_t i = 0; i < 7; ++i) ordinary.put(payload(i, 504));
  FakeHost host;
  OpenConsumer consumer(overwrite_snapshot(), host, {overwrites.ring(), ordinary.ring()});
  ASSERT_EQ(consumer.open_result(), 0);
  EXPECT_EQ(consumer.drain(), 14);
  EXPECT_EQ(host.deliveries.at(0).bytes, payload(5, 504));
  EXPECT_EQ(host.deliveries.at(7).bytes, payload(0, 504));
}

TEST(OverwriteSnapshot, IsNotHeldUpByARingThatIsLappedAtEveryLook) {
  OverwriteRing ring(4096);
  ring.put(payload(0, 1000));
  FakeHost host;
  std::uint32_t number = 0;
  host.during_yield = [&] {
    for (int i = 0; i < 4; ++i) ring.put(payload(++number, 1000));
  };
  OpenConsumer consumer(overwrite_snapshot(), host, {ring.ring()});
  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_EQ(ring.consumer_pos(), ring.overwrite_pos());
}

TEST(OverwriteSnapshot, SleepsInSlicesAndLooksAfterEach) {
  OverwriteRing ring(4096);
  FakeHost host;
  std::vector<std::int64_t> slept;
  host.during_sleep = [&](std::int64_t timeout_ns) {
    slept.push_back(timeout_ns);
    host.now_ns += timeout_ns;
    if (slept.size() == 3) ring.put(payload(1, 16));  // and nobody wakes it
    return 0;
  };
  OpenConsumer consumer(overwrite_snapshot(), host, {ring.ring()});
  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
  EXPECT_EQ(slept, (std::vector<std::int64_t>(3, 10'000'000)));
  EXPECT_EQ(consumer.drain(), 1);
  slept.assign(3, 0);
  EXPECT_EQ(consumer.wait(25'000'000), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(slept, (std::vector<std::int64_t>{0, 0, 0, 10'000'000, 10'000'000, 5'000'000}));
}

TEST(OverwriteSnapshot, PublishesWhereItWasOvertakenBeforeItSleeps) {
  OverwriteRing ring(4096);
  FakeHost host;
  OpenConsumer consumer(overwrite_snapshot(), host, {ring.ring()});
  for (std::uint32_t i = 0; i < 12; ++i) ring.put(payload(i, 504));
  EXPECT_EQ(consumer.drain(), 7);
  const std::uint64_t busy = ring.reserve(16);
  EXPECT_EQ(consumer.wait(1'000'000), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(host.sleeps, 1);
  EXPECT_EQ(ring.consumer_pos(), busy);  // whose commit wakes it
}

}  // namespace
}  // namespace ringside::consumers
