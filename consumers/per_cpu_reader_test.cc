// SPDX-License-Identifier: Apache-2.0
//
// PerCpuReader's contract, and what the loop around it has to remember.
#include "consumers/per_cpu_reader.h"

#include <gtest/gtest.h>

#include "consumers/fake_host.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

using testing::Bytes;
using testing::FakeHost;
using testing::FakePerf;
using testing::OpenConsumer;
using testing::payload;

class PerCpu : public ::testing::Test {
 protected:
  PerCpu() {
    set.kind = RINGSIDE_PERF;
    set.ring_count = 2;
    set.rings = rings;
    EXPECT_EQ(reader.start(set), 0);
  }

  FakePerf first{4096};
  FakePerf second{4096};
  ringside_ring rings[2] = {first.ring(1, 70), second.ring(4, 71)};
  ringside_ring_set set{};
  PerCpuReader<PerfSteps> reader;
};

Bytes bytes_of(const PerfItem* item) {
  const auto* sample = item == nullptr ? nullptr : std::get_if<PerfSample>(item);
  if (sample == nullptr) return {};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(sample->data);
  return {bytes, bytes + sample->size};
}

TEST_F(PerCpu, ListsPairsOfCpusAndDescriptorsThoughCpusHaveGaps) {  // J1
  ASSERT_EQ(reader.count(), 2u);
  EXPECT_EQ(reader.perf_fds()[0].cpu, 1);
  EXPECT_EQ(reader.perf_fds()[1].cpu, 4);
  EXPECT_EQ(reader.perf_fds()[1].fd, 71);
}

TEST_F(PerCpu, ReadsTheRingOfThatCpuAndNoOther) {
  first.put(payload(1, 4));
  second.put(payload(2, 4));
  int records = 0;
  const auto parsed = reader.parse_for_cpu(4, [&](const PerfItem& item) {
    ++records;
    EXPECT_EQ(bytes_of(&item), payload(2, 4));
    return false;
  });
  EXPECT_EQ(parsed.error, 0);
  EXPECT_FALSE(parsed.left);
  EXPECT_EQ(records, 1);
  EXPECT_EQ(first.tail(), 0u);
  EXPECT_EQ(second.tail(), second.head());
}

TEST_F(PerCpu, ThereIsNoRingOfACpuThatIsNotInTheList) {
  for (const std::int32_t cpu : {-1, 0, 2, 5}) {
    EXPECT_EQ(reader.parse_for_cpu(cpu, [](const PerfItem&) { return false; }).error, -ENOENT) << cpu;
    EXPECT_FALSE(reader.look(cpu)) << cpu;
  }
}

TEST_F(PerCpu, ACallbackMayStopAndTheRestIsLeft) {
  for (std::uint32_t number = 0; number < 3; ++number) first.put(payload(number, 4));
  const auto parsed = reader.parse_for_cpu(1, [](const PerfItem&) { return true; });
  EXPECT_TRUE(parsed.left);
  EXPECT_EQ(first.tail(), 16u);
  EXPECT_TRUE(reader.look(1));
}

TEST_F(PerCpu, AnIterationMayStopAndComeBack) {
  first.put(payload(0, 4));
  first.put_lost(3);
  first.put(payload(1, 4));
  {
    auto drain = reader.drain_cpu(1);
    EXPECT_EQ(bytes_of(drain.next()), payload(0, 4));
    EXPECT_TRUE(drain.left());
    EXPECT_EQ(first.tail(), 0u);  // the sample is still shown
  }
  EXPECT_EQ(first.tail(), 16u);
  auto drain = reader.drain_cpu(1);
  const PerfItem* loss = drain.next();
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(std::get<PerfLoss>(*loss).count, 3u);
  EXPECT_EQ(bytes_of(drain.next()), payload(1, 4));
  EXPECT_FALSE(drain.left());
  EXPECT_EQ(drain.next(), nullptr);
  EXPECT_EQ(drain.error(), 0);
}

TEST_F(PerCpu, AReadingEndsAtWhatLayThereWhenItBegan) {  // N1
  first.put(payload(0, 4));
  int records = 0;
  reader.parse_for_cpu(1, [&](const PerfItem&) {
    first.put(payload(0, 4));
    return ++records == 100;
  });
  EXPECT_EQ(records, 1);
}

class PerCpuLoops : public ::testing::TestWithParam<const ringside_consumer*> {
 protected:
  FakePerf first{4096};
  FakePerf second{4096};
  FakeHost host;
};

TEST_P(PerCpuLoops, ReadTheRingThatWokeAndNoOther) {
  OpenConsumer consumer(*GetParam(), host, {first.ring(), second.ring(1)});
  EXPECT_EQ(consumer.drain(), 0);
  host.woken_ring = 1;
  host.during_sleep = [&](std::int64_t) {
    first.put(payload(1, 4));  // below its watermark
    second.put(payload(2, 4));
    return 1;
  };
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_READY);
  EXPECT_EQ(consumer.drain(), 1);
  EXPECT_EQ(host.deliveries.at(0).ring, 1u);
}

TEST_P(PerCpuLoops, LookAtAllRingsAtADeadline) {  // A4
  OpenConsumer consumer(*GetParam(), host, {first.ring(), second.ring(1)});
  EXPECT_EQ(consumer.drain(), 0);
  host.during_sleep = [&](std::int64_t timeout_ns) {
    second.put(payload(1, 4));
    host.now_ns += timeout_ns;
    return 0;
  };
  EXPECT_EQ(consumer.wait(), RINGSIDE_WAIT_READY);
  EXPECT_EQ(consumer.drain(), 1);
}

TEST_P(PerCpuLoops, ReadEveryRingBeforeTheyEnd) {  // B7
  OpenConsumer consumer(*GetParam(), host, {first.ring(), second.ring(1)});
  EXPECT_EQ(consumer.drain(), 0);
  second.put(payload(1, 4));
  EXPECT_EQ(consumer.drain(), 1);
}

INSTANTIATE_TEST_SUITE_P(Strategies, PerCpuLoops, ::testing::Values(&parse_for_cpu(), &drain_cpu()),
                         [](const auto& param) { return std::string(param.param->name); });

}  // namespace
}  // namespace ringside::consumers
