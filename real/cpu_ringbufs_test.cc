// SPDX-License-Identifier: Apache-2.0
#include "real/cpu_ringbufs.h"

#include <time.h>

#include "real/kernel_test.h"

namespace ringside::real {
namespace {

using CpuRingbufsTest = test::KernelTest;

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

ring::Operation on_cpu(std::uint32_t cpu, std::uint16_t source, ring::Action action = ring::Action::submit) {
  return {.action = action, .source = source, .cpu = static_cast<std::uint16_t>(cpu), .size = 48};
}

std::uint64_t first_word(const ringside_ring& ring) {
  std::uint64_t word = 0;
  std::memcpy(&word, static_cast<const std::byte*>(ring.data) + ring::ringbuf::header_bytes, sizeof word);
  return word;
}

TEST_F(CpuRingbufsTest, EachRecordLiesInTheRingOfItsCpu) {
  const auto cpus = online_cpus();
  const auto rings = CpuRingbufs::create(*cpus, 4096);
  ASSERT_TRUE(rings) << rings.error();
  ASSERT_EQ(rings->ring_set().ring_count, cpus->size());
  const auto producers = Producers::load(*rings);
  ASSERT_TRUE(producers) << producers.error();
  auto script = ScriptProducer::create(*producers);
  for (std::uint16_t index = 0; index < cpus->size(); ++index) {
    const std::vector<ring::Operation> operations(index + 1u, on_cpu((*cpus)[index], index));
    ASSERT_EQ(*script->run(operations), std::vector<int>(index + 1u, 0));
  }
  for (std::uint16_t index = 0; index < cpus->size(); ++index) {
    EXPECT_EQ(rings->rings()[index].cpu, static_cast<std::int32_t>((*cpus)[index]));
    EXPECT_EQ(positions_of(rings->rings()[index]).producer, (index + 1u) * 56u);  // header and 48 bytes
    EXPECT_EQ(left_in(rings->rings()[index], max_sources).by_source[index], index + 1u);
    EXPECT_EQ(producers->ledger(8).sources[index].ring, index);
  }
}

TEST_F(CpuRingbufsTest, WhereACpuHasNoneTheAttemptFailsAndIsCounted) {
  const auto cpus = online_cpus();
  if (cpus->size() < 2) GTEST_SKIP() << "needs two CPUs";
  const auto rings = CpuRingbufs::create(std::vector{(*cpus)[0]}, 4096);
  ASSERT_TRUE(rings) << rings.error();
  const auto producers = Producers::load(*rings);
  ASSERT_TRUE(producers) << producers.error();
  auto script = ScriptProducer::create(*producers);
  const std::vector<ring::Operation> operations{on_cpu((*cpus)[0], 0), on_cpu((*cpus)[1], 1),
                                                on_cpu((*cpus)[1], 1, ring::Action::output)};
  EXPECT_EQ(*script->run(operations), (std::vector<int>{0, -ENOENT, -ENOENT}));
  EXPECT_EQ(producers->ledger(2).sources[1].failed.at(ENOENT), 2u);
  EXPECT_EQ(producers->ledger(2).sources[1].attempts, 2u);
}

TEST_F(CpuRingbufsTest, AStampIsOfTheMonotonicClockAndTheRecordStandsBehindIt) {
  const auto cpus = online_cpus();
  for (const ring::Stamp stamp : {ring::Stamp::before, ring::Stamp::inside}) {
    const auto rings = CpuRingbufs::create(*cpus, 4096);
    ASSERT_TRUE(rings) << rings.error();
    const auto producers = Producers::load(*rings, {.stamp = stamp});
    ASSERT_TRUE(producers) << producers.error();
    auto script = ScriptProducer::create(*producers);
    const std::vector<ring::Operation> one{on_cpu((*cpus)[0], 3)};
    const std::uint64_t begun_ns = monotonic_ns();
    ASSERT_EQ(*script->run(one), std::vector<int>{0});
    EXPECT_GE(first_word(rings->rings()[0]), begun_ns);
    EXPECT_LE(first_word(rings->rings()[0]), monotonic_ns());
    EXPECT_EQ(positions_of(rings->rings()[0]).producer, 64u);  // header, stamp and 48 bytes
    EXPECT_EQ(left_in(rings->rings()[0], max_sources, 0, 8).by_source[3], 1u);
    EXPECT_EQ(left_in(rings->rings()[0], max_sources).alien, 1u);
  }
}

TEST_F(CpuRingbufsTest, AHeldRecordHasItsStampWhileItIsBusy) {
  const auto cpus = online_cpus();
  const auto rings = CpuRingbufs::create(*cpus, 4096);
  ASSERT_TRUE(rings) << rings.error();
  const auto producers = Producers::load(*rings, {.stamp = ring::Stamp::inside});
  ASSERT_TRUE(producers) << producers.error();
  auto hold = Hold::start(*producers, {.source = 1, .cpu = (*cpus)[0], .size = 32});
  ASSERT_TRUE(hold) << hold.error();
  EXPECT_EQ(head_of(rings->rings()[0]), Head::busy);
  const std::uint64_t stamp_ns = first_word(rings->rings()[0]);
  EXPECT_LE(stamp_ns, monotonic_ns());
  EXPECT_GT(stamp_ns, 0u);
  ASSERT_TRUE(hold->settle(ring::Action::settle_submit));
  EXPECT_EQ(first_word(rings->rings()[0]), stamp_ns);
  EXPECT_EQ(left_in(rings->rings()[0], max_sources, 0, 8).by_source[1], 1u);
}

}  // namespace
}  // namespace ringside::real
