// SPDX-License-Identifier: Apache-2.0
//
// Dumps of a ring made by hand that is written backward: their order, their ends, and what is paused meanwhile.
#include "consumers/overwritable.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "consumers/fake_host.h"
#include "consumers/mutants/backward.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

using testing::Bytes;
using testing::FakeHost;
using testing::FakePerf;
using testing::OpenConsumer;
using testing::payload;
using Pauses = std::vector<std::pair<std::uint32_t, bool>>;

constexpr std::uint64_t lap = 4096;

/// A ring as write_backward makes it: each record below the one before (KERNEL-RINGS 2.10).
class BackwardRing : public FakePerf {
 public:
  BackwardRing() : FakePerf(lap) {}

  void put(const Bytes& bytes) {
    below(ring::perf::sample_bytes(bytes.size()), [&] { FakePerf::put(bytes); });
  }
  void put_at(std::uint64_t time_ns, const Bytes& bytes) {
    below(ring::perf::sample_bytes(bytes.size()) + 8, [&] { FakePerf::put_at(time_ns, bytes); });
  }
  void put_lost(std::uint64_t count) {
    below(ring::perf::lost_bytes, [&] { FakePerf::put_lost(count); });
  }
  void put_broken(std::uint16_t says) {
    below(8, [&] { put_other(ring::perf::type_sample, says); });
  }

 private:
  template <class Put>
  void below(std::uint64_t bytes, Put&& put) {
    const std::uint64_t position = head() - bytes;
    set_head(position);
    put();
    set_head(position);
  }
};

class OverwritableTest : public ::testing::Test {
 protected:
  /// Of rings written backward, all of them in one set.
  const ringside_ring_set& set_of(std::vector<ringside_ring> rings) {
    rings_ = std::move(rings);
    set_ = {};
    set_.kind = RINGSIDE_PERF;
    set_.ring_count = static_cast<std::uint32_t>(rings_.size());
    set_.rings = rings_.data();
    set_.map_fd = -1;
    set_.backward = 1;
    return set_;
  }
  std::vector<Bytes> delivered() const {
    std::vector<Bytes> bytes;
    for (const testing::Delivery& delivery : host_.deliveries) bytes.push_back(delivery.bytes);
    return bytes;
  }
  static std::vector<Bytes> payloads(std::uint32_t first, std::uint32_t last, std::size_t size) {
    std::vector<Bytes> bytes;
    for (std::uint32_t number = first; number <= last; ++number) bytes.push_back(payload(number, size));
    return bytes;
  }

  BackwardRing ring_;
  FakeHost host_;

 private:
  std::vector<ringside_ring> rings_;
  ringside_ring_set set_{};
};

TEST_F(OverwritableTest, DeliversTheOldestFirstAndNothingTwice) {
  for (std::uint32_t i = 0; i < 3; ++i) ring_.put(payload(i, 20));
  OpenConsumer consumer(overwritable(), host_, set_of({ring_.ring()}));
  ASSERT_EQ(consumer.open_result(), 0);
  EXPECT_EQ(consumer.drain(), 3) << "what lies there when it is opened is delivered, too";
  for (std::uint32_t i = 3; i < 5; ++i) ring_.put(payload(i, 20));
  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_EQ(delivered(), payloads(0, 4, 20));
  EXPECT_EQ(ring_.tail(), 0u) << "nothing is stored";
}

TEST_F(OverwritableTest, LeavesOutTheRecordThatTheRingHasBegunToWriteOver) {
  OpenConsumer consumer(overwritable(), host_, set_of({ring_.ring()}));
  for (std::uint32_t i = 0; i < 7; ++i) ring_.put(payload(i, 1004));  // 1016 bytes each: four lie there whole
  EXPECT_EQ(consumer.drain(), 4);
  EXPECT_EQ(delivered(), payloads(3, 6, 1004));
}

TEST_F(OverwritableTest, TakesALapThatIsFullToTheByte) {
  OpenConsumer consumer(overwritable(), host_, set_of({ring_.ring()}));
  for (std::uint32_t i = 0; i < 4; ++i) ring_.put(payload(i, 1012));  // 1024 bytes each
  EXPECT_EQ(consumer.drain(), 4);
  ring_.put(payload(4, 1012));
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(delivered(), payloads(0, 4, 1012));
}

TEST_F(OverwritableTest, HandsOverFromItsCopyWhateverTheRingDoesMeanwhile) {
  OpenConsumer consumer(overwritable(), host_, set_of({ring_.ring()}));
  for (std::uint32_t i = 0; i < 4; ++i) ring_.put(payload(i, 1012));
  EXPECT_EQ(consumer.drain(1), 1);
  for (std::uint32_t i = 4; i < 8; ++i) ring_.put(payload(i, 1012));
  EXPECT_EQ(consumer.drain(2), 2);
  EXPECT_EQ(consumer.wait(-1), RINGSIDE_WAIT_READY);
  EXPECT_EQ(host_.sleeps, 0);
  host_.stop_after = 4;
  EXPECT_EQ(consumer.drain(), 1) << "the host said stop";
  EXPECT_EQ(consumer.drain(), 4);
  EXPECT_EQ(delivered(), payloads(0, 7, 1012));
}

TEST_F(OverwritableTest, PausesForTheCopyAndNoLonger) {
  OpenConsumer consumer(overwritable(), host_, set_of({ring_.ring()}));
  EXPECT_EQ(consumer.drain(), 0);
  EXPECT_EQ(host_.pauses, Pauses{}) << "nothing is new";
  ring_.put(payload(0, 20));
  host_.during_quiesce = [this] { EXPECT_EQ(host_.pauses, (Pauses{{0, true}})); };
  host_.during_delivery = [this] { EXPECT_EQ(host_.pauses, (Pauses{{0, true}, {0, false}})); };
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host_.quiesced, std::vector<std::uint32_t>{0});
}

TEST_F(OverwritableTest, TakesWhatIsPutOutWhileItWaitsForOutputsUnderWay) {
  OpenConsumer consumer(overwritable(), host_, set_of({ring_.ring()}));
  ring_.put(payload(0, 20));
  host_.during_quiesce = [this] { ring_.put(payload(1, 20)); };
  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(delivered(), payloads(0, 1, 20));
}

TEST_F(OverwritableTest, ReportsLosses) {
  OpenConsumer consumer(overwritable(), host_, set_of({ring_.ring()}));
  ring_.put(payload(0, 20));
  ring_.put_lost(7);
  ring_.put(payload(1, 20));
  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(host_.losses, (std::vector<FakeHost::Loss>{{0, 7}}));
}

TEST_F(OverwritableTest, TellsWhenASampleWasTaken) {
  auto set = set_of({ring_.ring()});
  set.sample_type = ring::perf::sample_type_raw | ring::perf::sample_type_time;
  OpenConsumer consumer(overwritable(), host_, set);
  ring_.put_at(41, payload(0, 20));
  ring_.put_at(42, payload(1, 20));
  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(delivered(), payloads(0, 1, 20));
  EXPECT_EQ(host_.deliveries.at(0).time_ns, 41u);
  EXPECT_EQ(host_.deliveries.at(1).time_ns, 42u);
}

TEST_F(OverwritableTest, EndsAtAHeaderThatCannotBe) {
  for (const std::uint16_t size :
       std::initializer_list<std::uint16_t>{0, 4, 12}) {  // case E2: of 0 bytes the walk would stand still
    BackwardRing ring;
    FakeHost host;
    OpenConsumer consumer(overwritable(), host, set_of({ring.ring()}));
    ring.put_broken(size);
    EXPECT_EQ(consumer.drain(), -EBADMSG) << size;
    EXPECT_EQ(host.pauses, (Pauses{{0, true}, {0, false}}));
    ring.put(payload(1, 20));
    EXPECT_EQ(consumer.drain(), 1) << "the next dump is another";
  }
}

TEST_F(OverwritableTest, LeavesNothingPausedThatItCouldNotRead) {
  OpenConsumer consumer(overwritable(), host_, set_of({ring_.ring()}));
  ring_.put(payload(0, 20));
  host_.quiesce_answer = -EIO;
  EXPECT_EQ(consumer.drain(), -EIO);
  EXPECT_EQ(host_.pauses, (Pauses{{0, true}, {0, false}}));
  host_.quiesce_answer = 0;
  host_.pause_answer = -EBADF;
  EXPECT_EQ(consumer.drain(), -EBADF);
  host_.pause_answer = 0;
  EXPECT_EQ(consumer.drain(), 1) << "nothing of it was lost";
}

TEST_F(OverwritableTest, ReadsRingsInTurn) {
  BackwardRing other;
  OpenConsumer consumer(overwritable(), host_, set_of({ring_.ring(0), other.ring(1)}));
  for (std::uint32_t i = 0; i < 3; ++i) ring_.put(payload(i, 20));
  other.put(payload(9, 20));
  EXPECT_EQ(consumer.drain(2), 2);
  EXPECT_EQ(consumer.drain(), 2);
  EXPECT_EQ(host_.deliveries.back().ring, 1u);
  EXPECT_EQ(host_.deliveries.back().bytes, payload(9, 20));
}

TEST_F(OverwritableTest, OpensNoOtherRingsAndNoHostThatCannotPause) {
  auto forward = set_of({ring_.ring()});
  forward.backward = 0;
  OpenConsumer refused(overwritable(), host_, forward);
  EXPECT_EQ(refused.open_result(), -EINVAL);
  ringside_host older = *host_.table();
  older.quiesce = nullptr;
  void* state = nullptr;
  const auto& set = set_of({ring_.ring()});
  EXPECT_EQ(overwritable().open(&set, &older, &state), -EOPNOTSUPP);
}

TEST_F(OverwritableTest, TellsATimeoutOnlyWhenNothingIsNew) {
  OpenConsumer consumer(overwritable(), host_, set_of({ring_.ring()}));
  EXPECT_EQ(consumer.wait(1000), RINGSIDE_WAIT_TIMEOUT);
  host_.during_sleep = [this](std::int64_t timeout_ns) {
    ring_.put(payload(0, 20));  // below its watermark: it wakes nobody
    host_.now_ns += timeout_ns;
    return 0;
  };
  EXPECT_EQ(consumer.wait(1000), RINGSIDE_WAIT_READY);
}

TEST_F(OverwritableTest, AMutantReadsWhatTheRingHasWrittenOver) {
  OpenConsumer half(mutant::backward_half_record(), host_, set_of({ring_.ring()}));
  for (std::uint32_t i = 0; i < 7; ++i) ring_.put(payload(i, 1004));
  EXPECT_EQ(half.drain(), 5);
  EXPECT_NE(host_.deliveries.front().bytes, payload(2, 1004));
}

}  // namespace
}  // namespace ringside::consumers
