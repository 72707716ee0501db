// SPDX-License-Identifier: Apache-2.0
//
// Each sentence of BlockingPerfReader's contract, against rings filled by hand. Two tests are of two threads, with an
// epoll set and eventfds in the place of the kernel's events.
#include "consumers/blocking_perf_reader.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "consumers/fake_host.h"
#include "consumers/perf_poller.h"

namespace ringside::consumers {
namespace {

using testing::Bytes;
using testing::FakeHost;
using testing::FakePerf;
using testing::payload;

/// Two rings, of CPUs 0 and 5.
class BlockingPerf : public ::testing::Test {
 protected:
  BlockingPerf() {
    set.kind = RINGSIDE_PERF;
    set.ring_count = 2;
    set.rings = rings;
    EXPECT_EQ(reader.start(), 0);
  }

  /// The size of the next sample, or what else came of it.
  Told read() { return reader.read_into(record); }
  Bytes sample() const {
    const auto* found = std::get_if<PerfSample>(&record.what);
    if (found == nullptr) return {};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(found->data);
    return {bytes, bytes + found->size};
  }
  std::uint64_t loss() const {
    const auto* found = std::get_if<PerfLoss>(&record.what);
    return found == nullptr ? 0 : found->count;
  }

  FakePerf first{4096};
  FakePerf second{4096};
  ringside_ring rings[2] = {first.ring(0), second.ring(5)};
  ringside_ring_set set{};
  FakeHost host;
  BlockingPerfReader<PerfSteps, HostPerfPoller> reader{set, *host.table()};
  PerfRecord record;
};

TEST_F(BlockingPerf, ARecordIsASampleOrALoss) {  // B2
  first.put(payload(1, 4));
  first.put_lost(7);
  first.put(payload(2, 4));
  reader.set_deadline(already_past);
  ASSERT_EQ(read(), Told::record);
  EXPECT_EQ(sample(), payload(1, 4));
  EXPECT_EQ(loss(), 0u);
  ASSERT_EQ(read(), Told::record);
  EXPECT_EQ(loss(), 7u);
  EXPECT_EQ(sample(), Bytes{});
  ASSERT_EQ(read(), Told::record);
  EXPECT_EQ(sample(), payload(2, 4));
  EXPECT_EQ(read(), Told::timeout);
}

TEST_F(BlockingPerf, ARecordIsTheCallersBeforeItsSpaceIsTheKernels) {
  first.put(payload(1, 4));
  ASSERT_EQ(read(), Told::record);
  EXPECT_EQ(first.tail(), 16u);
  first.put(payload(2, 4092 - 16));
  EXPECT_EQ(sample(), payload(1, 4));
}

TEST_F(BlockingPerf, ARecordNamesItsCpuAndWhatLiesBehindItInItsOwnRing) {
  second.put(payload(1, 4));
  second.put_lost(1);
  second.put(payload(2, 12));
  ASSERT_EQ(read(), Told::record);
  EXPECT_EQ(record.ring, 1u);
  EXPECT_EQ(record.cpu, 5);
  EXPECT_EQ(record.remaining, 24u + 24u);  // the loss, and 8 + 4 + 12
  first.put(payload(3, 4));
  ASSERT_EQ(read(), Told::record);
  EXPECT_EQ(record.remaining, 24u);
  ASSERT_EQ(read(), Told::record);
  EXPECT_EQ(record.remaining, 0u);
}

TEST_F(BlockingPerf, AWakeUpIsFollowedByALookAtAllRings) {  // A4
  host.during_sleep = [&](std::int64_t) {
    first.put(payload(1, 4));
    second.put(payload(2, 4));  // below its watermark: ring 0 alone is named
    return 1;
  };
  ASSERT_EQ(read(), Told::record);
  ASSERT_EQ(read(), Told::record);
  EXPECT_EQ(host.sleeps, 1);
  EXPECT_EQ(first.tail(), first.head());
  EXPECT_EQ(second.tail(), second.head());
}

TEST_F(BlockingPerf, ADeadlineIsToldWhenTheRingsAreEmptyAndAgainOfTheNextCall) {
  reader.set_deadline(host.now_ns + 500);
  host.during_sleep = [&](std::int64_t timeout_ns) {
    host.now_ns += timeout_ns;
    if (host.sleeps == 1) second.put(payload(1, 4));
    return 0;
  };
  EXPECT_EQ(read(), Told::record);
  EXPECT_EQ(read(), Told::timeout);  // of the sleep that ended before: there is no second one
  EXPECT_EQ(host.sleeps, 1);
  EXPECT_EQ(read(), Told::timeout);
}

TEST_F(BlockingPerf, WhatLiesThereIsReturnedHoweverLateItIs) {
  first.put(payload(1, 4));
  second.put(payload(2, 4));
  reader.set_deadline(already_past);
  EXPECT_EQ(read(), Told::record);
  EXPECT_EQ(read(), Told::record);
  EXPECT_EQ(read(), Told::timeout);
  EXPECT_EQ(host.sleeps, 0);
}

TEST_F(BlockingPerf, AFlushIsToldOnceBehindWhatLiesThere) {
  second.put(payload(1, 4));
  reader.flush();
  reader.flush();
  EXPECT_EQ(read(), Told::record);
  EXPECT_EQ(read(), Told::flushed);
  reader.set_deadline(host.now_ns + 500);
  EXPECT_EQ(read(), Told::timeout);
}

TEST_F(BlockingPerf, AnInterruptedSleepGoesOnForTheRestOfTheTime) {  // A7
  reader.set_deadline(host.now_ns + 500);
  std::vector<std::int64_t> slept;
  host.during_sleep = [&](std::int64_t timeout_ns) {
    slept.push_back(timeout_ns);
    host.now_ns += slept.size() == 1 ? 200 : timeout_ns;
    return slept.size() == 1 ? -EINTR : 0;
  };
  EXPECT_EQ(read(), Told::timeout);
  EXPECT_EQ(slept, (std::vector<std::int64_t>{500, 300}));
}

TEST_F(BlockingPerf, PauseAndResumeAreForAllRings) {
  EXPECT_EQ(reader.pause(), 0);
  EXPECT_EQ(reader.resume(), 0);
  using Pauses = std::vector<std::pair<std::uint32_t, bool>>;
  EXPECT_EQ(host.pauses, (Pauses{{0, true}, {1, true}, {0, false}, {1, false}}));
  host.pause_answer = -EBADF;
  EXPECT_EQ(reader.pause(), -EBADF);
  EXPECT_EQ(host.pauses.size(), 6u);
}

TEST_F(BlockingPerf, WhatLayThereBeforeAPauseStays) {
  first.put(payload(1, 4));
  reader.pause();
  EXPECT_EQ(read(), Told::record);
}

TEST_F(BlockingPerf, CloseEndsTheCallUnderWayAndAllLaterOnes) {
  host.during_sleep = [&](std::int64_t) {
    std::thread([&] { reader.flush(); }).join();
    return 1;
  };
  EXPECT_EQ(read(), Told::flushed);
  first.put(payload(1, 4));
  reader.close();
  EXPECT_EQ(read(), Told::closed);
  EXPECT_EQ(first.tail(), 0u);
}

/// The same over an epoll set.
class BlockingPerfThreads : public ::testing::Test {
 protected:
  BlockingPerfThreads() {
    set.kind = RINGSIDE_PERF;
    set.ring_count = 1;
    set.rings = &mapped;
    EXPECT_EQ(reader.start(), 0);
  }
  ~BlockingPerfThreads() override { ::close(event); }

  int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  FakePerf ring{4096};
  ringside_ring mapped = ring.ring(0, event);
  ringside_ring_set set{};
  FakeHost host;
  BlockingPerfReader<PerfSteps, EpollPerfPoller<RINGSIDE_EDGE>> reader{set, *host.table()};
  PerfRecord record;
};

TEST_F(BlockingPerfThreads, AnyThreadMayFlushPauseAndCloseWhileAnotherSleeps) {
  Told told[2] = {};
  std::atomic<bool> ended = false;
  std::thread sleeper([&] {
    told[0] = reader.read_into(record);
    ended = true;
    ended.notify_one();
    told[1] = reader.read_into(record);
  });
  EXPECT_EQ(reader.pause(), -ENOTTY);  // an eventfd cannot be paused, and the call comes back
  reader.flush();
  ended.wait(false);
  reader.close();
  sleeper.join();
  EXPECT_EQ(told[0], Told::flushed);
  EXPECT_EQ(told[1], Told::closed);
}

TEST_F(BlockingPerfThreads, TwoReadersTakeEachRecordOnce) {
  for (std::uint32_t number = 0; number < 100; ++number) ring.put(payload(number, 4));
  reader.set_deadline(already_past);
  int taken[2] = {};
  const auto take_all = [&](int& count) {
    PerfRecord own;
    while (reader.read_into(own) == Told::record) ++count;
  };
  std::thread other([&] { take_all(taken[1]); });
  take_all(taken[0]);
  other.join();
  EXPECT_EQ(taken[0] + taken[1], 100);
  EXPECT_EQ(ring.tail(), ring.head());
}

}  // namespace
}  // namespace ringside::consumers
