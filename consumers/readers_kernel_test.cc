// SPDX-License-Identifier: Apache-2.0
//
// Flush and close from another thread while a reader sleeps in an epoll set of its own, on a ring of the running
// kernel. The order is what is tested: whatever comes first, the read ends with what it promises.
#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include "consumers/epoll_poller.h"
#include "consumers/read.h"

namespace ringside::consumers {
namespace {

/// A ring that nobody writes to, mapped.
class IdleRing {
 public:
  IdleRing() : map_(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "idle", 0, 0, page, nullptr)) {
    consumer_page_ = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_, 0);
    producer_pages_ = mmap(nullptr, 3 * page, PROT_READ, MAP_SHARED, map_, page);
    ring_ = {.kind = RINGSIDE_RINGBUF,
             .cpu = -1,
             .fd = map_,
             .page_size = page,
             .data_size = page,
             .consumer_page = consumer_page_,
             .producer_page = producer_pages_,
             .data = static_cast<std::byte*>(producer_pages_) + page};
    set_.kind = RINGSIDE_RINGBUF;
    set_.ring_count = 1;
    set_.rings = &ring_;
    set_.map_fd = map_;
  }
  ~IdleRing() {
    munmap(consumer_page_, page);
    munmap(producer_pages_, 3 * page);
    ::close(map_);
  }
  IdleRing(const IdleRing&) = delete;
  IdleRing& operator=(const IdleRing&) = delete;

  bool made() const { return map_ >= 0 && consumer_page_ != MAP_FAILED && producer_pages_ != MAP_FAILED; }
  const ringside_ring_set& set() const { return set_; }

 private:
  static constexpr std::uint32_t page = 4096;

  int map_;
  void* consumer_page_ = nullptr;
  void* producer_pages_ = nullptr;
  ringside_ring ring_{};
  ringside_ring_set set_{};
};

template <std::uint32_t trigger>
using Sleeping = CopyingReader<RingbufSteps, EpollPoller<trigger>>;

template <class Reader>
class SleepingReaders : public ::testing::Test {};
using Triggers = ::testing::Types<Sleeping<RINGSIDE_EDGE>, Sleeping<RINGSIDE_LEVEL>>;
TYPED_TEST_SUITE(SleepingReaders, Triggers);

TYPED_TEST(SleepingReaders, AFlushEndsTheReadUnderWayOrTheNextOne) {
  const IdleRing ring;
  ASSERT_TRUE(ring.made());
  const ringside_host nobody{};
  TypeParam reader(ring.set(), nobody);
  ASSERT_EQ(reader.start(), 0);
  Told told = Told::record;
  std::thread sleeper([&] {
    RecordCopy record;
    told = reader.read_into(record);
  });
  reader.flush();
  sleeper.join();
  EXPECT_EQ(told, Told::flushed);
}

TYPED_TEST(SleepingReaders, CloseEndsTheReadAndReturnsWhenItIsOver) {
  const IdleRing ring;
  ASSERT_TRUE(ring.made());
  const ringside_host nobody{};
  TypeParam reader(ring.set(), nobody);
  ASSERT_EQ(reader.start(), 0);
  Told first = Told::record;
  Told second = Told::record;
  std::thread sleeper([&] {
    RecordCopy record;
    first = reader.read_into(record);
    second = reader.read_into(record);
  });
  reader.close();
  EXPECT_EQ(reader.available_bytes(), 0u);
  sleeper.join();
  EXPECT_EQ(first, Told::closed);
  EXPECT_EQ(second, Told::closed);
}

TYPED_TEST(SleepingReaders, ADeadlineOfLessThanAMillisecondSleepsAndIsTold) {  // I1
  const IdleRing ring;
  ASSERT_TRUE(ring.made());
  const ringside_host nobody{};
  TypeParam reader(ring.set(), nobody);
  ASSERT_EQ(reader.start(), 0);
  const std::int64_t deadline = reader.now_ns() + 400'000;
  reader.set_deadline(deadline);
  RecordCopy record;
  EXPECT_EQ(reader.read_into(record), Told::timeout);
  EXPECT_GE(reader.now_ns(), deadline);
}

TYPED_TEST(SleepingReaders, SizesMayBeAskedWhileAReadSleeps) {  // H1
  const IdleRing ring;
  ASSERT_TRUE(ring.made());
  const ringside_host nobody{};
  TypeParam reader(ring.set(), nobody);
  ASSERT_EQ(reader.start(), 0);
  std::thread sleeper([&] {
    RecordCopy record;
    reader.read_into(record);
  });
  EXPECT_EQ(reader.buffer_size(), 4096u);
  EXPECT_EQ(reader.available_bytes(), 0u);
  reader.set_deadline(no_deadline);
  reader.close();
  sleeper.join();
}

}  // namespace
}  // namespace ringside::consumers
