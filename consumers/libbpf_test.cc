// SPDX-License-Identifier: Apache-2.0
//
// The libbpf adapters on rings of the running kernel. They need the right to make BPF maps and programs and perf
// events; without it they are skipped aloud, and with RINGSIDE_REQUIRE_KERNEL=1 a skip is a failure.
#include <gtest/gtest.h>

#include <sched.h>
#include <cstdlib>

#include "consumers/fake_host.h"
#include "consumers/kernel_rings.h"
#include "consumers/online_cpus.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

using testing::Descriptor;
using testing::FakeHost;
using testing::holdings;
using testing::OpenConsumer;
using testing::Producer;

std::uint64_t value_of(const testing::Delivery& delivery) {
  std::uint64_t value = 0;
  EXPECT_GE(delivery.bytes.size(), sizeof(value));
  std::memcpy(&value, delivery.bytes.data(), sizeof(value));
  return value;
}

/// Makes the map, or skips. The thread stays on the CPU that records are put out on: the kernel's wake-up, an interrupt
/// of that CPU, has then run before the next line of a test does (KERNEL-RINGS 4.3).
class KernelTest : public ::testing::Test {
 protected:
  KernelTest() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(static_cast<unsigned>(online_cpus().value().front()), &first);
    sched_setaffinity(0, sizeof(first), &first);
  }
  ~KernelTest() override { sched_setaffinity(0, sizeof(before_), &before_); }

  void make_map(bpf_map_type type, std::uint32_t key_bytes, std::uint32_t value_bytes, std::uint32_t entries) {
    map = Descriptor(bpf_map_create(type, "ringside_test", key_bytes, value_bytes, entries, nullptr));
    if (map.get() >= 0) return;
    const std::string reason = std::string("cannot create a BPF map here: ") + std::strerror(errno) + "; run as root";
    const char* require = std::getenv("RINGSIDE_REQUIRE_KERNEL");
    if (require != nullptr && std::string_view(require) == "1") FAIL() << reason;
    GTEST_SKIP() << reason;
  }

  Descriptor map;
  FakeHost host;

 private:
  cpu_set_t before_{};
};

class LibbpfTest : public KernelTest {
 protected:
  void SetUp() override { make_map(BPF_MAP_TYPE_RINGBUF, 0, 0, 4096); }

  ringside_ring_set set() const {
    ringside_ring_set rings{};
    rings.kind = RINGSIDE_RINGBUF;
    rings.map_fd = map.get();
    return rings;
  }
};

TEST_F(LibbpfTest, AnEmptyRingDeliversNothingAndTimesOut) {
  OpenConsumer consumer(libbpf(), host, set());
  ASSERT_EQ(consumer.open_result(), 0);
  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_TIMEOUT);
}

TEST_F(LibbpfTest, DeliversWhatTheKernelCommitted) {
  const Producer producer = Producer::of_ringbuf(map.get(), 0);
  ASSERT_TRUE(producer.loaded());
  OpenConsumer consumer(libbpf(), host, set());
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_EQ(producer.put(i * 7), 0);

  EXPECT_EQ(consumer.drain(), 5);
  ASSERT_EQ(host.deliveries.size(), 5u);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(value_of(host.deliveries[i]), i * 7);
}

TEST_F(LibbpfTest, DeliversAtMostMaxRecordsAndStopsWhenAsked) {
  const Producer producer = Producer::of_ringbuf(map.get(), 0);
  OpenConsumer consumer(libbpf(), host, set());
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_EQ(producer.put(i), 0);

  EXPECT_EQ(consumer.drain(2), 2);
  host.stop_after = 3;
  EXPECT_EQ(consumer.drain(), 1);
  host.stop_after = 0;
  EXPECT_EQ(consumer.drain(), 3);
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(value_of(host.deliveries.at(i)), i);
}

TEST_F(LibbpfTest, WaitIsReadyWhenTheKernelWakes) {
  const Producer producer = Producer::of_ringbuf(map.get(), 0);
  OpenConsumer consumer(libbpf(), host, set());
  ASSERT_EQ(producer.put(1), 0);
  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
  EXPECT_EQ(host.deliveries.size(), 1u);  // poll delivers
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_TIMEOUT);
}

TEST_F(LibbpfTest, ARecordWithoutWakeUpIsFoundBeforeATimeoutIsTold) {
  const Producer producer = Producer::of_ringbuf(map.get(), BPF_RB_NO_WAKEUP);
  OpenConsumer consumer(libbpf(), host, set());
  ASSERT_EQ(producer.put(1), 0);
  host.during_sleep = [](std::int64_t) { return 0; };  // runs only if the descriptor is not ready
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_READY);
  EXPECT_EQ(host.deliveries.size(), 1u);
}

TEST_F(LibbpfTest, PassesAnInterruptUp) {
  OpenConsumer consumer(libbpf(), host, set());
  host.during_sleep = [](std::int64_t) { return -EINTR; };
  EXPECT_EQ(consumer.wait(), -EINTR);
}

TEST_F(LibbpfTest, LeavesNothingBehind) {
  const auto before = holdings();
  OpenConsumer consumer(libbpf(), host, set());
  EXPECT_GT(holdings().descriptors, before.descriptors);
  EXPECT_GT(holdings().mappings, before.mappings);
  consumer.close();
  EXPECT_EQ(holdings(), before);
}

TEST_F(LibbpfTest, AFailedOpenLeavesNothingBehind) {
  const Descriptor array(bpf_map_create(BPF_MAP_TYPE_ARRAY, "ringside_test", 4, 8, 1, nullptr));
  ASSERT_GE(array.get(), 0);
  const auto before = holdings();
  ringside_ring_set wrong = set();
  wrong.map_fd = array.get();
  EXPECT_EQ(OpenConsumer(libbpf(), host, wrong).open_result(), -EINVAL);
  wrong.map_fd = -1;
  EXPECT_LT(OpenConsumer(libbpf(), host, wrong).open_result(), 0);
  EXPECT_EQ(holdings(), before);
}

class LibbpfPerfTest : public KernelTest {
 protected:
  void SetUp() override { make_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 1024); }

  ringside_ring_set set() const {
    ringside_ring_set rings{};
    rings.kind = RINGSIDE_PERF;
    rings.map_fd = map.get();
    rings.data_pages = 1;
    rings.wakeup_events = 1;
    return rings;
  }
  std::uint64_t lost() const {
    std::uint64_t sum = 0;
    for (const FakeHost::Loss& loss : host.losses) sum += loss.count;
    return sum;
  }
};

TEST_F(LibbpfPerfTest, AdoptsARingForEachOnlineCpu) {
  OpenConsumer consumer(libbpf_perf(), host, set());
  ASSERT_EQ(consumer.open_result(), 0);
  const std::vector<int> cpus = online_cpus().value();
  ASSERT_EQ(host.adopted.size(), cpus.size());
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const ringside_ring& ring = host.adopted[i];
    EXPECT_EQ(ring.kind, RINGSIDE_PERF);
    EXPECT_EQ(ring.cpu, cpus[i]);
    EXPECT_GE(ring.fd, 0);
    EXPECT_EQ(ring.data_size, ring.page_size);
    // The kernel says itself where its data lies.
    const auto* control = static_cast<const std::uint64_t*>(ring.consumer_page);
    EXPECT_EQ(control[ring::perf::data_offset_offset / 8], ring.page_size);
    EXPECT_EQ(control[ring::perf::data_size_offset / 8], ring.data_size);
  }
  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_TIMEOUT);
}

TEST_F(LibbpfPerfTest, DeliversWhatEveryCpuPutOut) {
  const Producer producer = Producer::of_perf(map.get());
  ASSERT_TRUE(producer.loaded());
  OpenConsumer consumer(libbpf_perf(), host, set());
  const std::vector<int> cpus = online_cpus().value();
  for (const int cpu : cpus) ASSERT_EQ(producer.put(100 + static_cast<unsigned>(cpu), cpu), 0);

  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
  EXPECT_EQ(consumer.drain(), static_cast<std::int64_t>(cpus.size()));
  for (const testing::Delivery& delivery : host.deliveries) {
    EXPECT_EQ(delivery.bytes.size(), 12u);  // 8 and 4 of padding
    EXPECT_EQ(value_of(delivery), 100 + static_cast<unsigned>(host.adopted[delivery.ring].cpu));
  }
}

TEST_F(LibbpfPerfTest, DeliversAtMostMaxRecordsAndStopsWhenAsked) {
  const Producer producer = Producer::of_perf(map.get());
  OpenConsumer consumer(libbpf_perf(), host, set());
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_EQ(producer.put(i), 0);

  EXPECT_EQ(consumer.drain(2), 2);
  host.stop_after = 3;
  EXPECT_EQ(consumer.drain(), 1);
  host.stop_after = 0;
  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);  // the flag was eaten or not: the look finds the rest
  EXPECT_EQ(consumer.drain(), 3);
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(value_of(host.deliveries.at(i)), i);
}

TEST_F(LibbpfPerfTest, ReportsWhatWasLost) {
  const Producer producer = Producer::of_perf(map.get());
  OpenConsumer consumer(libbpf_perf(), host, set());
  // Records of 24 bytes, at most one byte less than the ring: 170 of them in 4096 bytes. The other 30 fail.
  const std::uint64_t fit = (host.adopted.at(0).data_size - 1) / 24;
  for (std::uint64_t i = 0; i < fit; ++i) ASSERT_EQ(producer.put(i), 0);
  for (std::uint64_t i = 0; i < 30; ++i) ASSERT_EQ(producer.put(i), -ENOSPC);
  EXPECT_EQ(consumer.drain(), static_cast<std::int64_t>(fit));
  EXPECT_EQ(lost(), 0u);  // the kernel tells of it with the next record that fits
  ASSERT_EQ(producer.put(200), 0);
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(lost(), 30u);
}

TEST_F(LibbpfPerfTest, ARecordBelowTheWatermarkIsFoundBeforeATimeoutIsTold) {
  const Producer producer = Producer::of_perf(map.get());
  ringside_ring_set rings = set();
  rings.watermark_bytes = 2048;
  OpenConsumer consumer(libbpf_perf(), host, rings);
  host.during_sleep = [&](std::int64_t) {
    EXPECT_EQ(producer.put(1), 0);
    return 0;
  };
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_READY);
  EXPECT_EQ(host.sleeps, 1);
  EXPECT_EQ(consumer.drain(), 1);
}

TEST_F(LibbpfPerfTest, SleepsOnWhenTheFlagWasSetForRecordsLongRead) {
  const Producer producer = Producer::of_perf(map.get());
  OpenConsumer consumer(libbpf_perf(), host, set());
  ASSERT_EQ(producer.put(1), 0);
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(host.sleeps, 2);  // the stale flag, then the deadline
}

TEST_F(LibbpfPerfTest, LeavesNothingBehind) {
  const auto before = holdings();
  OpenConsumer consumer(libbpf_perf(), host, set());
  EXPECT_GT(holdings().descriptors, before.descriptors);
  EXPECT_GT(holdings().mappings, before.mappings);
  consumer.close();
  EXPECT_EQ(holdings(), before);
}

TEST_F(LibbpfPerfTest, AFailedOpenLeavesNothingBehind) {
  const auto before = holdings();
  ringside_ring_set wrong = set();
  wrong.data_pages = 3;
  EXPECT_EQ(OpenConsumer(libbpf_perf(), host, wrong).open_result(), -EINVAL);
  host.adopt_answer = -ENOMEM;
  EXPECT_EQ(OpenConsumer(libbpf_perf(), host, set()).open_result(), -ENOMEM);
  EXPECT_EQ(holdings(), before);
}

}  // namespace
}  // namespace ringside::consumers
