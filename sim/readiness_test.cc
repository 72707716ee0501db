// SPDX-License-Identifier: Apache-2.0
//
// Readiness against the measured tables of KERNEL-RINGS 4.1 and 4.2.
#include "sim/readiness.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using test::consume_to;
using test::drain;
using test::make_perf;
using test::make_ringbuf;
using test::must;

// What one epoll_wait with timeout 0 reports: the events of the one ring in the set, 0 when it is not ready.
std::uint32_t wait_now(Epoll& epoll) {
  std::array<ringside_ready, 4> ready{};
  const std::size_t count = epoll.poll_ready(ready);
  EXPECT_LE(count, 1u);
  return count == 0 ? 0 : ready[0].events;
}

bool ready_now(Epoll& epoll) { return wait_now(epoll) == poll_in; }

// A ring buffer in an epoll set of its own, added while the ring was empty.
struct Watched {
  explicit Watched(Trigger trigger) : ring(make_ringbuf()) { EXPECT_TRUE(epoll.add(*ring, trigger, 0)); }

  void commit(std::uint64_t flags = 0) { ring->submit(ring->reserve(8).value(), flags); }

  std::unique_ptr<RingbufModel> ring;
  Epoll epoll;
};

class BothTriggers : public testing::TestWithParam<Trigger> {};
INSTANTIATE_TEST_SUITE_P(EpollOfRingbuf, BothTriggers, testing::Values(Trigger::level, Trigger::edge),
                         [](const auto& each) { return each.param == Trigger::level ? "level" : "edge"; });

// 4.2, the ring buffer, item not on the list. poll(2) asks the file itself.

TEST_P(BothTriggers, NoWakeupDataIsInvisibleUntilSomebodyForcesIt) {
  Watched watched(GetParam());
  watched.commit(ring::flag_no_wakeup);
  EXPECT_FALSE(ready_now(watched.epoll));
  EXPECT_EQ(watched.ring->poll(), poll_readable);
  watched.commit();  // the consumer has not moved: not caught up
  EXPECT_FALSE(ready_now(watched.epoll));
  EXPECT_EQ(watched.ring->poll(), poll_readable);
  watched.commit(ring::flag_force_wakeup);
  EXPECT_TRUE(ready_now(watched.epoll));
  EXPECT_EQ(watched.ring->poll(), poll_readable);
}

TEST_P(BothTriggers, TheNextRecordOfADrainedRingWakes) {
  Watched watched(GetParam());
  for (int i = 0; i < 3; ++i) {
    watched.commit();
    EXPECT_TRUE(ready_now(watched.epoll));
    drain(*watched.ring);
    EXPECT_FALSE(ready_now(watched.epoll));
  }
}

TEST_P(BothTriggers, AWakeupWhoseDataIsDrainedBeforeTheWaitIsDropped) {
  Watched watched(GetParam());
  watched.commit();
  drain(*watched.ring);
  EXPECT_TRUE(watched.epoll.has_announced());
  EXPECT_FALSE(ready_now(watched.epoll));
  EXPECT_FALSE(watched.epoll.has_announced());
  EXPECT_EQ(watched.ring->poll(), 0u);
}

TEST_P(BothTriggers, ABusyRecordAloneWakesNobodyButIsPolledReadable) {
  Watched watched(GetParam());
  ASSERT_TRUE(watched.ring->reserve(8));
  EXPECT_FALSE(ready_now(watched.epoll));
  EXPECT_EQ(watched.ring->poll(), poll_readable);
}

TEST_P(BothTriggers, ARecordCommittedBehindABusyOneWakesNobody) {
  Watched watched(GetParam());
  const auto head = watched.ring->reserve(8).value();
  watched.commit();
  EXPECT_FALSE(ready_now(watched.epoll));
  EXPECT_EQ(watched.ring->poll(), poll_readable);
  watched.ring->submit(head);  // the consumer waits at it
  EXPECT_TRUE(ready_now(watched.epoll));
}

TEST_P(BothTriggers, TwoRecordsCommittedInReverseWakeOnce) {
  Watched watched(GetParam());
  const auto first = watched.ring->reserve(8).value();
  const auto second = watched.ring->reserve(8).value();
  watched.ring->submit(second);
  EXPECT_EQ(watched.ring->wait_queue().wakeups(), 0u);
  watched.ring->submit(first);
  EXPECT_EQ(watched.ring->wait_queue().wakeups(), 1u);
  EXPECT_TRUE(ready_now(watched.epoll));
}

TEST_P(BothTriggers, AddingARingWithUnannouncedDataIsReady) {
  const auto ring = make_ringbuf();
  ring->submit(ring->reserve(8).value(), ring::flag_no_wakeup);
  Epoll epoll;
  ASSERT_TRUE(epoll.add(*ring, GetParam(), 0));
  EXPECT_TRUE(ready_now(epoll));
}

TEST_P(BothTriggers, ModifyingARingWithUnannouncedDataIsReady) {
  Watched watched(GetParam());
  watched.commit(ring::flag_no_wakeup);
  ASSERT_TRUE(watched.epoll.modify(*watched.ring, GetParam()));
  EXPECT_TRUE(ready_now(watched.epoll));
}

TEST(EpollLevel, ReportsUnreadDataEveryTime) {
  Watched watched(Trigger::level);
  watched.commit();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ready_now(watched.epoll));
}

TEST(EpollLevel, SpinsOnABusyRecordOnceTheItemIsOnTheList) {
  Watched watched(Trigger::level);
  watched.commit();
  EXPECT_TRUE(ready_now(watched.epoll));  // level: back on the list
  const auto head = watched.ring->reserve(8).value();
  consume_to(*watched.ring, head.position);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ready_now(watched.epoll));
  watched.ring->discard(head);
  drain(*watched.ring);
  EXPECT_FALSE(ready_now(watched.epoll));
}

TEST(EpollEdge, ReportsUnreadDataOnce) {
  Watched watched(Trigger::edge);
  watched.commit();
  EXPECT_TRUE(ready_now(watched.epoll));
  EXPECT_FALSE(ready_now(watched.epoll));
  watched.commit();  // unread data: not caught up
  EXPECT_FALSE(ready_now(watched.epoll));
  watched.commit(ring::flag_force_wakeup);
  EXPECT_TRUE(ready_now(watched.epoll));
}

TEST(EpollOfRingbuf, ReportsHupBesideTheData) {
  Watched watched(Trigger::level);
  watched.ring->hang_up();
  EXPECT_EQ(wait_now(watched.epoll), poll_hup);
  watched.commit();
  EXPECT_EQ(wait_now(watched.epoll), poll_in | poll_hup);
}

// 4.1, the perf ring: one-shot.

int output(PerfRingModel& ring) { return ring.output(test::bytes_of(4, 1)); }

TEST_P(BothTriggers, APerfWakeupIsReportedOnceWhateverTheTrigger) {
  const auto ring = make_perf();
  Epoll epoll;
  ASSERT_TRUE(epoll.add(*ring, GetParam(), 0));
  ASSERT_EQ(output(*ring), 0);
  EXPECT_TRUE(ready_now(epoll));
  EXPECT_FALSE(ready_now(epoll));  // the data is unread, the flag is gone
  ASSERT_EQ(output(*ring), 0);
  ASSERT_EQ(output(*ring), 0);  // two wake-ups before a poll are one
  EXPECT_TRUE(ready_now(epoll));
  EXPECT_FALSE(ready_now(epoll));
}

TEST(PerfPoll, TheFlagSurvivesConsumption) {
  const auto ring = make_perf();
  ASSERT_EQ(output(*ring), 0);
  drain(*ring);
  EXPECT_EQ(ring->poll(), poll_readable);
  EXPECT_EQ(ring->poll(), 0u);
}

TEST(PerfPoll, AddingARingLosesItsPendingWakeup) {
  const auto ring = make_perf();
  ASSERT_EQ(output(*ring), 0);
  Epoll epoll;
  ASSERT_TRUE(epoll.add(*ring, Trigger::level, 0));
  EXPECT_TRUE(epoll.has_announced());  // ADD polled, and took the flag
  EXPECT_FALSE(ready_now(epoll));
}

TEST(PerfPoll, ModifyingARingLosesItsPendingWakeup) {
  const auto ring = make_perf();
  Epoll epoll;
  ASSERT_TRUE(epoll.add(*ring, Trigger::level, 0));
  ASSERT_EQ(output(*ring), 0);
  ASSERT_TRUE(epoll.modify(*ring, Trigger::level));
  EXPECT_FALSE(ready_now(epoll));
}

TEST(PerfPoll, OnlyOneOfTwoSetsReports) {
  const auto ring = make_perf();
  Epoll first;
  Epoll second;
  ASSERT_TRUE(first.add(*ring, Trigger::level, 0));
  ASSERT_TRUE(second.add(*ring, Trigger::level, 0));
  ASSERT_EQ(output(*ring), 0);
  EXPECT_TRUE(ready_now(second));
  EXPECT_FALSE(ready_now(first));
}

TEST(PerfPoll, HupHidesUnreadData) {
  const auto ring = make_perf();
  Epoll epoll;
  ASSERT_TRUE(epoll.add(*ring, Trigger::level, 0));
  ASSERT_EQ(output(*ring), 0);
  ring->hang_up();
  EXPECT_EQ(wait_now(epoll), poll_hup);
}

// The set itself

TEST(Epoll, RefusesWhatTheKernelRefuses) {
  const auto ring = make_ringbuf();
  Epoll epoll;
  EXPECT_EQ(epoll.modify(*ring, Trigger::edge).error().code, ENOENT);
  EXPECT_EQ(epoll.remove(*ring).error().code, ENOENT);
  EXPECT_TRUE(epoll.add(*ring, Trigger::level, 0));
  EXPECT_EQ(epoll.add(*ring, Trigger::level, 0).error().code, EEXIST);
}

TEST(Epoll, ReportsTheOldestFirstAndKeepsWhatDidNotFit) {
  std::vector<std::unique_ptr<RingbufModel>> rings;
  Epoll epoll;
  for (std::uint32_t i = 0; i < 3; ++i) {
    rings.push_back(make_ringbuf());
    ASSERT_TRUE(epoll.add(*rings[i], Trigger::level, i));
  }
  for (const std::size_t i : {2u, 0u, 1u}) rings[i]->submit(rings[i]->reserve(8).value());
  std::array<ringside_ready, 2> ready{};
  ASSERT_EQ(epoll.poll_ready(ready), 2u);
  EXPECT_EQ(ready[0].ring, 2u);
  EXPECT_EQ(ready[1].ring, 0u);
  ASSERT_EQ(epoll.poll_ready(ready), 2u);  // ring 1 was left over; level-triggered ones stand behind it
  EXPECT_EQ(ready[0].ring, 1u);
  EXPECT_EQ(ready[1].ring, 2u);
}

TEST(Epoll, ARemovedRingIsNotReported) {
  Watched watched(Trigger::level);
  watched.commit();
  ASSERT_TRUE(watched.epoll.remove(*watched.ring));
  EXPECT_FALSE(watched.epoll.has_announced());
  watched.ring->hang_up();
  EXPECT_FALSE(ready_now(watched.epoll));
}

TEST(EpollWait, SleepsUntilAnotherThreadWakesIt) {
  Watched watched(Trigger::edge);
  std::thread producer([&] { watched.commit(); });
  std::array<ringside_ready, 1> ready{};
  EXPECT_EQ(watched.epoll.wait(ready, -1), 1);
  EXPECT_EQ(ready[0].events, poll_in);
  producer.join();
}

TEST(EpollWait, EndsAtItsDeadline) {
  Watched watched(Trigger::level);
  watched.commit(ring::flag_no_wakeup);
  std::array<ringside_ready, 1> ready{};
  EXPECT_EQ(watched.epoll.wait(ready, 0), 0);
  EXPECT_EQ(watched.epoll.wait(ready, 1000), 0);
}

TEST(EpollWait, IsCancelledNowAndLater) {
  Watched watched(Trigger::level);
  std::thread canceller([&] { watched.epoll.cancel(); });
  std::array<ringside_ready, 1> ready{};
  EXPECT_EQ(watched.epoll.wait(ready, -1), -ECANCELED);
  canceller.join();
  EXPECT_EQ(watched.epoll.wait(ready, -1), -ECANCELED);
}

// A file that is ready for what it is told to be.
struct Ready : PollSource {
  std::uint32_t poll() override { return bits; }
  WaitQueue& wait_queue() override { return queue; }
  std::uint32_t bits = 0;
  WaitQueue queue;
};

TEST(EpollInterest, ReportsWhatWasAskedForAndErrorsAlways) {
  Ready file;
  Epoll epoll;
  ASSERT_TRUE(epoll.add(file, Trigger::level, 0, poll_out));
  file.bits = poll_readable;
  file.queue.wake_all();
  EXPECT_EQ(wait_now(epoll), 0u);
  file.bits = poll_readable | poll_writable;
  file.queue.wake_all();
  EXPECT_EQ(wait_now(epoll), poll_out);
  ASSERT_TRUE(epoll.modify(file, Trigger::edge));  // the interest stays
  file.bits = poll_in | poll_hup;
  EXPECT_EQ(wait_now(epoll), poll_hup);
}

// Each broken rule, where the sound set does otherwise.

TEST(BrokenEpoll, ReportsALevelTriggeredItemOnce) {
  Ready file;
  file.bits = poll_in;
  Epoll sound;
  Epoll broken(Rule::epoll_level_again);
  for (Epoll* each : {&sound, &broken}) ASSERT_TRUE(each->add(file, Trigger::level, 0));
  EXPECT_TRUE(ready_now(sound) && ready_now(broken));
  EXPECT_TRUE(ready_now(sound));
  EXPECT_FALSE(ready_now(broken));
}

TEST(BrokenEpoll, KeepsAnItemThatIsNotReady) {
  Ready file;
  Epoll sound;
  Epoll broken(Rule::epoll_polls_again);
  for (Epoll* each : {&sound, &broken}) ASSERT_TRUE(each->add(file, Trigger::edge, 0));
  file.queue.wake_all();
  EXPECT_FALSE(ready_now(sound) || ready_now(broken));
  file.bits = poll_in;  // without waking anybody
  EXPECT_FALSE(ready_now(sound));
  EXPECT_TRUE(ready_now(broken));
}

TEST(BrokenEpoll, AddAnnouncesNothing) {
  Ready file;
  file.bits = poll_in;
  Epoll sound;
  Epoll broken(Rule::epoll_add_polls);
  for (Epoll* each : {&sound, &broken}) ASSERT_TRUE(each->add(file, Trigger::level, 0));
  EXPECT_TRUE(ready_now(sound));
  EXPECT_FALSE(ready_now(broken));
}

}  // namespace
}  // namespace ringside::sim
