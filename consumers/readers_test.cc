// SPDX-License-Identifier: Apache-2.0
//
// What the readers of BPF rings promise at the top of their headers, each sentence against a ring filled by hand. That
// close and flush may come from other threads is tested on kernel rings (readers_kernel_test.cc), and in every
// interleaving where the explorer runs them.
#include <gtest/gtest.h>

#include <array>

#include "consumers/fake_host.h"
#include "consumers/iterate.h"
#include "consumers/lease.h"
#include "consumers/peek.h"
#include "consumers/read.h"
#include "consumers/token_commit.h"
#include "consumers/visit.h"

namespace ringside::consumers {

std::ostream& operator<<(std::ostream& out, Told told) { return out << "Told " << static_cast<int>(told); }

namespace {

using testing::Bytes;
using testing::FakeHost;
using testing::FakeRingbuf;
using testing::payload;

constexpr std::uint64_t span = 16;  // of a record of 8 bytes

/// Rings of 4096 bytes and a host that sleeps for their reader.
class Readers : public ::testing::Test {
 protected:
  Readers() { add_ring(first); }

  void add_ring(FakeRingbuf& ring) {
    rings.push_back(ring.ring());
    set.kind = RINGSIDE_RINGBUF;
    set.ring_count = static_cast<std::uint32_t>(rings.size());
    set.rings = rings.data();
    set.map_fd = -1;
  }
  static Bytes bytes_of(const RecordCopy& record) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(record.bytes.get());
    return {bytes, bytes + record.size};
  }
  static Bytes bytes_of(const RecordView& view) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(view.data);
    return {bytes, bytes + view.size};
  }

  FakeRingbuf first{4096};
  FakeHost host;
  std::vector<ringside_ring> rings;
  ringside_ring_set set{};
};

using Copying = CopyingReader<RingbufSteps, HostPoller>;

TEST_F(Readers, ADeadlineIsToldWhenTheRingIsEmptyAndNotBefore) {
  Copying reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  first.put(payload(1, 8));
  first.put(payload(2, 8));
  host.now_ns = 5'000;
  reader.set_deadline(4'000);  // passed long ago
  RecordCopy record;
  EXPECT_EQ(reader.read_into(record), Told::record);
  EXPECT_EQ(bytes_of(record), payload(1, 8));
  EXPECT_EQ(reader.read_into(record), Told::record);
  EXPECT_EQ(reader.read_into(record), Told::timeout);
  EXPECT_EQ(bytes_of(record), payload(2, 8)) << "a call without a record leaves the caller's as it was";
}

TEST_F(Readers, ARecordThatComesWithTheDeadlineIsReturnedAndTheDeadlineThen) {  // A3
  Copying reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  host.during_sleep = [&](std::int64_t timeout_ns) {
    EXPECT_EQ(timeout_ns, 500);
    host.now_ns += timeout_ns;
    first.put(payload(1, 8));  // with NO_WAKEUP
    return 0;
  };
  reader.set_deadline(host.now_ns + 500);
  RecordCopy record;
  EXPECT_EQ(reader.read_into(record), Told::record);
  EXPECT_EQ(host.sleeps, 1);
  EXPECT_EQ(reader.read_into(record), Told::timeout);
  EXPECT_EQ(host.sleeps, 1) << "the deadline has passed: it does not sleep for it again";
}

TEST_F(Readers, ATimeoutThatWasNotToldIsDroppedWithItsDeadline) {
  Copying reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  host.during_sleep = [&](std::int64_t timeout_ns) {
    host.now_ns += timeout_ns;
    if (host.sleeps == 1) first.put(payload(1, 8));
    return 0;
  };
  reader.set_deadline(host.now_ns + 500);
  RecordCopy record;
  EXPECT_EQ(reader.read_into(record), Told::record);
  reader.set_deadline(host.now_ns + 300);
  EXPECT_EQ(reader.read_into(record), Told::timeout);
  EXPECT_EQ(host.sleeps, 2) << "it waits for the new deadline";
}

TEST_F(Readers, ADeadlineThatHasPassedMakesACallThatNeverSleeps) {  // I1
  Copying reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  reader.set_deadline(already_past);
  RecordCopy record;
  EXPECT_EQ(reader.read_into(record), Told::timeout);
  first.put(payload(1, 8));
  EXPECT_EQ(reader.read_into(record), Told::record);
  EXPECT_EQ(host.sleeps, 0);
}

TEST_F(Readers, AFlushGivesWhatLiesThereAndIsToldOnce) {
  Copying reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  first.put(payload(1, 8));
  reader.flush();
  reader.flush();
  RecordCopy record;
  EXPECT_EQ(reader.read_into(record), Told::record);
  EXPECT_EQ(reader.read_into(record), Told::flushed);
  EXPECT_EQ(reader.read_into(record), Told::cancelled) << "it sleeps, and the fake host has nobody to wake it";
}

TEST_F(Readers, AClosedReaderReadsNothingWhateverLiesThere) {
  Copying reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  first.put(payload(1, 8));
  EXPECT_EQ(reader.available_bytes(), span);
  reader.close();
  reader.close();
  RecordCopy record;
  EXPECT_EQ(reader.read_into(record), Told::closed);
  EXPECT_EQ(reader.available_bytes(), 0u);
  EXPECT_EQ(first.consumer_pos(), 0u);
}

TEST_F(Readers, SizesAreTheRingsOwn) {  // F6
  FakeRingbuf second(8192);
  add_ring(second);
  Copying reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  EXPECT_EQ(reader.buffer_size(), 4096u + 8192u);
  EXPECT_EQ(reader.available_bytes(), 0u);
  first.put(payload(1, 8));
  first.put_discarded(8);
  second.reserve(8);  // BUSY
  EXPECT_EQ(reader.available_bytes(), 3 * span);
}

TEST_F(Readers, RemainingIsWhatWasPublishedBehindTheRecordWhenItWasFound) {
  Copying reader(set, *host.table());
  for (std::uint32_t i = 0; i < 3; ++i) first.put(payload(i, 8));
  ASSERT_EQ(reader.start(), 0);
  RecordCopy record;
  EXPECT_EQ(reader.read_into(record), Told::record);
  EXPECT_EQ(record.remaining, 2 * span);
  first.put(payload(3, 8));  // behind the snapshot
  EXPECT_EQ(reader.read_into(record), Told::record);
  EXPECT_EQ(record.remaining, span);
  EXPECT_EQ(reader.read_into(record), Told::record);
  EXPECT_EQ(record.remaining, 0u);
}

TEST_F(Readers, ReadMakesAFreshBufferAndReadIntoUsesOneAgain) {
  Copying reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  for (std::uint32_t i = 0; i < 4; ++i) first.put(payload(i, 8));
  RecordCopy reused;
  EXPECT_EQ(reader.read_into(reused), Told::record);
  const std::byte* const place = reused.bytes.get();
  EXPECT_EQ(reader.read_into(reused), Told::record);
  EXPECT_EQ(reused.bytes.get(), place);
  RecordCopy one;
  RecordCopy other;
  EXPECT_EQ(reader.read(one), Told::record);
  EXPECT_EQ(reader.read(other), Told::record);
  EXPECT_NE(one.bytes.get(), other.bytes.get());
  EXPECT_EQ(bytes_of(one), payload(2, 8));
}

TEST_F(Readers, APeekedRecordStaysTheNextOneUntilItIsConsumed) {
  PeekReader<RingbufSteps, HostPoller, NoGuard> reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  first.put(payload(1, 8));
  RecordView view;
  EXPECT_EQ(reader.peek(view), Told::record);
  EXPECT_EQ(reader.peek(view), Told::record);
  EXPECT_EQ(bytes_of(view), payload(1, 8));
  EXPECT_EQ(first.consumer_pos(), 0u);
  EXPECT_TRUE(reader.consume());
  EXPECT_EQ(first.consumer_pos(), span);
}

TEST_F(Readers, TheFlagRefusesWhoComesBetweenPeekAndConsume) {
  PeekReader<RingbufSteps, HostPoller, FlagGuard> reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  first.put(payload(1, 8));
  first.put(payload(2, 8));
  RecordView view;
  RecordCopy copy;
  EXPECT_FALSE(reader.consume()) << "nothing is peeked";
  EXPECT_EQ(reader.peek(view), Told::record);
  EXPECT_EQ(reader.peek(view), Told::in_use);
  EXPECT_EQ(reader.read_into(copy), Told::in_use);
  EXPECT_TRUE(reader.consume());
  EXPECT_FALSE(reader.consume());
  EXPECT_EQ(first.consumer_pos(), span);
  EXPECT_EQ(reader.read_into(copy), Told::record);
  EXPECT_EQ(bytes_of(copy), payload(2, 8));
}

TEST_F(Readers, ALoopThatIsLeftHasReadTheRecordAtWhichItWas) {
  IteratingReader<RingbufSteps, HostPoller> reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  for (std::uint32_t i = 0; i < 3; ++i) first.put(payload(i, 8));
  int seen = 0;
  for (const RecordView& record : reader.records()) {
    EXPECT_EQ(first.consumer_pos(), static_cast<std::uint64_t>(seen) * span) << "its own space is not handed back yet";
    EXPECT_EQ(bytes_of(record), payload(static_cast<std::uint32_t>(seen), 8));
    if (++seen == 2) break;
  }
  EXPECT_EQ(first.consumer_pos(), 2 * span);
  reader.set_deadline(already_past);
  auto rest = reader.records();
  for ([[maybe_unused]] const RecordView& record : rest) ++seen;
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(rest.told(), Told::timeout);
}

TEST_F(Readers, AVisitedRecordIsConsumedWhateverTheFunctionSays) {  // G1
  VisitingReader<RingbufSteps, HostPoller> reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  first.put(payload(1, 8));
  int answer = 0;
  const auto failing = [&](const RecordView& view) {
    EXPECT_EQ(bytes_of(view), payload(1, 8));
    EXPECT_EQ(first.consumer_pos(), 0u);
    return -EIO;
  };
  EXPECT_EQ(reader.visit(failing, answer), Told::record);
  EXPECT_EQ(answer, -EIO);
  EXPECT_EQ(first.consumer_pos(), span);
}

TEST_F(Readers, OnlyWhatIsWantedIsCopied) {
  VisitingReader<RingbufSteps, HostPoller> reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  first.put(payload(1, 8));
  first.put(payload(2, 8));
  RecordCopy record;
  bool copied = true;
  EXPECT_EQ(reader.take([](const RecordView&) { return false; }, record, copied), Told::record);
  EXPECT_FALSE(copied);
  EXPECT_EQ(record.size, 0u);
  EXPECT_EQ(reader.take([](const RecordView&) { return true; }, record, copied), Told::record);
  EXPECT_TRUE(copied);
  EXPECT_EQ(bytes_of(record), payload(2, 8));
  EXPECT_EQ(first.consumer_pos(), 2 * span);
}

TEST_F(Readers, ACommitHandsBackAllThatALeaseHasReadAndTheDiscardedBetween) {
  LeaseReader<RingbufSteps, HostPoller> reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  first.put(payload(1, 8));
  first.put_discarded(8);
  first.put(payload(2, 8));
  first.put(payload(3, 8));
  EXPECT_TRUE(reader.with_lease([&](auto& lease) {
    RecordView view;
    EXPECT_EQ(lease.read_sample(view), Told::record);
    EXPECT_EQ(lease.read_sample(view), Told::record);
    EXPECT_EQ(bytes_of(view), payload(2, 8));
    EXPECT_EQ(first.consumer_pos(), 0u);
    lease.commit();
    EXPECT_EQ(first.consumer_pos(), 3 * span);
    EXPECT_EQ(lease.read_sample(view), Told::record);
  }));
  EXPECT_EQ(first.consumer_pos(), 4 * span) << "the end of a lease commits what is left";
}

TEST_F(Readers, ALeaseDoesNotSleepOnWhatItHasNotCommitted) {  // Q1
  LeaseReader<RingbufSteps, HostPoller> reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  first.put(payload(1, 8));
  reader.set_deadline(host.now_ns + 1'000);
  reader.with_lease([&](auto& lease) {
    RecordView view;
    EXPECT_EQ(lease.read_sample(view), Told::record);
    EXPECT_EQ(lease.read_sample(view), Told::uncommitted);
    EXPECT_EQ(host.sleeps, 0);
    lease.commit();
    EXPECT_EQ(lease.read_sample(view), Told::timeout);
    EXPECT_EQ(host.sleeps, 1);
  });
}

TEST_F(Readers, TokensAreCommittedInAnyOrderAndSpaceComesBackInTheRings) {  // G1
  TokenReader<RingbufSteps, HostPoller> reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  std::array<std::uint64_t, 3> tokens{};
  std::array<RecordView, 3> views;
  for (std::uint32_t i = 0; i < 3; ++i) first.put(payload(i, 8));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(reader.read(views[i], tokens[i]), Told::record);
  RecordView none;
  std::uint64_t no_token = 0;
  EXPECT_EQ(reader.read(none, no_token), Told::uncommitted);

  EXPECT_TRUE(reader.commit(tokens[1]));
  EXPECT_EQ(first.consumer_pos(), 0u) << "the first is out still";
  EXPECT_FALSE(reader.commit(tokens[1])) << "committed before";
  EXPECT_TRUE(reader.commit(tokens[0]));
  EXPECT_EQ(first.consumer_pos(), 2 * span);
  EXPECT_FALSE(reader.commit(0));
  EXPECT_FALSE(reader.commit(tokens[2] + 1));
  EXPECT_TRUE(reader.commit(tokens[2]));
  EXPECT_EQ(first.consumer_pos(), 3 * span);
}

TEST_F(Readers, AViewsBytesStayWhileItIsOut) {  // G1 (c)
  TokenReader<RingbufSteps, HostPoller> reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  RecordView view;
  std::uint64_t token = 0;
  first.put(payload(1, 8));
  ASSERT_EQ(reader.read(view, token), Told::record);
  for (std::uint32_t i = 2; i < 200; ++i) {
    first.put(payload(i, 8));
    RecordView later;
    std::uint64_t later_token = 0;
    ASSERT_EQ(reader.read(later, later_token), Told::record);
    ASSERT_TRUE(reader.commit(later_token));
  }
  EXPECT_EQ(first.consumer_pos(), 0u);
  EXPECT_EQ(bytes_of(view), payload(1, 8));
  EXPECT_TRUE(reader.commit(token));
  EXPECT_EQ(first.consumer_pos(), first.producer_pos());
}

TEST_F(Readers, ARoundEndsThoughEachRecordBringsAnother) {  // N1
  Copying reader(set, *host.table());
  ASSERT_EQ(reader.start(), 0);
  first.put(payload(0, 8));
  reader.set_deadline(already_past);
  RecordCopy record;
  {
    const auto round = reader.rings().one_round();
    EXPECT_EQ(reader.read_into(record), Told::record);
    first.put(payload(1, 8));
    EXPECT_EQ(reader.read_into(record), Told::timeout);
  }
  EXPECT_EQ(reader.read_into(record), Told::record);
}

}  // namespace
}  // namespace ringside::consumers
