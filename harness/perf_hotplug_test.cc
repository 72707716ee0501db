// SPDX-License-Identifier: Apache-2.0
//
// perf rings on CPUs that are offline, go away and come back (cases J1 to J6). What must hold: rings belong to CPU ids
// and not to places in a list, and every record is accounted for. These tests take CPUs of the machine offline, so they
// run only where they are told to; scripts/matrix does, in guests with four CPUs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consumers/registry.h"
#include "harness/check.h"
#include "real/kernel_test.h"

namespace ringside::harness {
namespace {

using ring::Action;
using Cpus = std::vector<std::uint32_t>;

std::string switch_of(std::uint32_t cpu) { return fmt::format("/sys/devices/system/cpu/cpu{}/online", cpu); }

bool can_be_switched(std::uint32_t cpu) { return std::ofstream(switch_of(cpu)).good(); }

/// Brings a CPU online or takes it offline.
void set_online(std::uint32_t cpu, bool online) {
  std::ofstream file(switch_of(cpu));
  file << (online ? 1 : 0) << std::flush;
  ASSERT_TRUE(file.good()) << "CPU " << cpu << " cannot be " << (online ? "brought online" : "taken offline");
}

class PerfHotplug : public real::test::KernelTest {
 protected:
  void SetUp() override {
    const char* const allowed = std::getenv("RINGSIDE_OFFLINE_CPUS");
    if (allowed == nullptr || std::string_view(allowed) != "1") {
      GTEST_SKIP() << "takes CPUs offline: scripts/matrix lets it, in its guests (RINGSIDE_OFFLINE_CPUS=1)";
    }
    KernelTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(real::test::cpus(), (Cpus{0, 1, 2, 3})) << "the guest must have four CPUs";
    ::sched_getaffinity(0, sizeof(affinity_), &affinity_);
  }
  void TearDown() override {
    for (const std::uint32_t cpu : offline_) set_online(cpu, true);
    ::sched_setaffinity(0, sizeof(affinity_), &affinity_);
  }

  void take_offline(std::uint32_t cpu) {
    set_online(cpu, false);
    offline_.push_back(cpu);
  }
  void bring_back(std::uint32_t cpu) {
    set_online(cpu, true);
    std::erase(offline_, cpu);
  }

  void open(const real::PerfOptions& options = {}) {
    auto rings = real::PerfRings::create(options);
    ASSERT_TRUE(rings) << rings.error();
    rings_.emplace(std::move(*rings));
    auto producers = real::Producers::load(*rings_);
    ASSERT_TRUE(producers) << producers.error();
    producers_.emplace(std::move(*producers));
    script_.emplace(std::move(*real::ScriptProducer::create(*producers_)));
  }
  void close() {
    script_.reset();
    producers_.reset();
    rings_.reset();
  }

  /// One record of the source whose number is the CPU's; the helper's result.
  ring::Result<int> put(std::uint32_t cpu) {
    const auto number = static_cast<std::uint16_t>(cpu);
    const auto results = script_->run(std::vector{real::test::operation(Action::output, 40, number, number)});
    if (!results) return tl::unexpected(results.error());
    return results->at(0);
  }
  ring::SourceLedger source(std::uint32_t number) const { return producers_->ledger(number + 1).sources.at(number); }
  /// The CPUs of the rings, in their order.
  Cpus ring_cpus() const {
    Cpus cpus;
    for (const ringside_ring& ring : rings_->rings()) cpus.push_back(static_cast<std::uint32_t>(ring.cpu));
    return cpus;
  }
  /// How many samples of each source the ring of that CPU holds. Consumes them.
  std::map<std::uint32_t, std::uint64_t> consume(std::uint32_t cpu) {
    std::map<std::uint32_t, std::uint64_t> samples;
    const int index = rings_->ring_of_cpu(cpu);
    if (index < 0) return samples;
    for (const auto& found : real::test::read_perf(rings_->rings()[static_cast<std::size_t>(index)])) {
      if (found.header != ring::perf::type_sample) continue;
      const auto reading = ring::read_record(found.payload, 7, [](auto, auto) { return 0ull; });
      EXPECT_EQ(reading.kind, ring::RecordReading::Kind::proven) << reading;
      ++samples[reading.identity.source];
    }
    return samples;
  }

  std::optional<real::PerfRings> rings_;
  std::optional<real::Producers> producers_;
  std::optional<real::ScriptProducer> script_;

 private:
  Cpus offline_;
  cpu_set_t affinity_{};
};

/// Every perf strategy under that scenario, on the CPUs that are online now.
void expect_clean(const char* scenario_name) {
  SCOPED_TRACE(scenario_name);
  const auto scenario = find_scenario(scenario_name);
  ASSERT_TRUE(scenario) << scenario.error();
  for (const char* const name : {"read_into", "drain_all", "libbpf_perf"}) {
    const ringside_consumer& consumer = *consumers::find_strategy(name)->consumer;
    const RunSpec spec{.consumer = name,
                       .scenario = scenario->name,
                       .world = WorldKind::kernel,
                       .ring = ring::RingKind::perf,
                       .seed = 1,
                       .records = 300};
    const RunResult result = run_cell(spec, consumer, *scenario, {});
    EXPECT_EQ(result.outcome, Outcome::clean) << name << ": " << result.reason << result.verdict;
    EXPECT_GT(result.verdict.accounting.delivered, 0u) << name;
  }
}

TEST_F(PerfHotplug, J1_RingsBelongToTheIdsOfTheCpusThatAreOnline) {
  take_offline(1);
  take_offline(3);
  open();
  ASSERT_EQ(ring_cpus(), (Cpus{0, 2}));
  for (const std::uint32_t cpu : {0u, 2u}) {
    EXPECT_EQ(put(cpu).value(), 0) << "CPU " << cpu << ", whose slot has no ring if the second ring went into slot 1";
    EXPECT_EQ(consume(cpu), (std::map<std::uint32_t, std::uint64_t>{{cpu, 1}}));
  }
}

TEST_F(PerfHotplug, J1_EveryStrategyGetsEveryRecordOfSparseCpus) {
  take_offline(1);
  take_offline(3);
  expect_clean("many_cpus");
}

TEST_F(PerfHotplug, J2_ARingForACpuThatIsOfflineIsAnErrorThatNamesItAndLeavesNothing) {
  open();
  close();
  const real::test::Holdings before = real::test::holdings();
  take_offline(2);
  const auto rings = real::PerfRings::create({.cpus = {0, 2}});
  ASSERT_FALSE(rings);
  EXPECT_EQ(rings.error().code, ENODEV);
  EXPECT_NE(rings.error().attempt.find("CPU 2"), std::string::npos) << rings.error();
  EXPECT_EQ(real::test::holdings(), before);
}

TEST_F(PerfHotplug, J3_WithoutCpu0NothingAsksForIt) {
  if (!can_be_switched(0)) GTEST_SKIP() << "CPU 0 cannot be taken offline on this kernel";
  take_offline(0);
  EXPECT_EQ(real::first_missing(real::capabilities()), nullptr);
  open();
  EXPECT_EQ(ring_cpus(), (Cpus{1, 2, 3}));
  close();
  expect_clean("many_cpus");
}

TEST_F(PerfHotplug, J4_RingsOfACpuThatWentAwayAreGivenBackWithTheOthers) {
  open();
  close();
  const real::test::Holdings before = real::test::holdings();
  open();
  EXPECT_NE(real::test::holdings(), before);
  take_offline(3);
  close();
  EXPECT_EQ(real::test::holdings(), before);
}

TEST_F(PerfHotplug, J4_RecordsOfACpuThatWentAwayAreStillInItsRing) {
  open();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(put(3).value(), 0);
  take_offline(3);
  EXPECT_EQ(consume(3), (std::map<std::uint32_t, std::uint64_t>{{3, 5}}));
}

TEST_F(PerfHotplug, J4_NothingIsPutOutForACpuThatWentAway) {
  open();
  ASSERT_EQ(put(3).value(), 0);
  take_offline(3);
  const auto result = put(3);
  ASSERT_FALSE(result) << "it ran on another CPU, whose ring has the record now";
  EXPECT_EQ(result.error().code, ENXIO);
  EXPECT_NE(result.error().attempt.find("CPU 3"), std::string::npos) << result.error();
  EXPECT_EQ(source(3).attempts, 1u);
  for (const std::uint32_t cpu : {0u, 1u, 2u}) EXPECT_TRUE(consume(cpu).empty()) << cpu;
}

TEST_F(PerfHotplug, J5_OutputOnACpuThatCameLaterFailsAndIsCounted) {
  take_offline(1);
  open();
  bring_back(1);
  EXPECT_EQ(put(1).value(), -ENOENT);
  EXPECT_EQ(source(1).failed, (std::map<int, std::uint64_t>{{ENOENT, 1}}));
}

TEST_F(PerfHotplug, J5_TheRingOfACpuThatCameBackTakesNothingMoreAndThatIsCounted) {
  open();
  ASSERT_EQ(put(3).value(), 0);
  take_offline(3);
  bring_back(3);
  // The event has left its CPU for good: a reader must open it anew, as libbpf does not.
  EXPECT_EQ(put(3).value(), -EOPNOTSUPP);
  EXPECT_EQ(source(3).committed, 1u);
  EXPECT_EQ(source(3).failed, (std::map<int, std::uint64_t>{{EOPNOTSUPP, 1}}));
  EXPECT_EQ(consume(3), (std::map<std::uint32_t, std::uint64_t>{{3, 1}}));
}

TEST_F(PerfHotplug, J5_RingsOpenedAfterACpuCameBackHaveItsRecords) {
  take_offline(3);
  bring_back(3);
  open();
  EXPECT_EQ(put(3).value(), 0);
  EXPECT_EQ(consume(3), (std::map<std::uint32_t, std::uint64_t>{{3, 1}}));
  expect_clean("many_cpus");
}

TEST_F(PerfHotplug, J5_ACpuThatGoesAndComesBackDuringAFloodLosesNothingUntold) {
  open({.data_pages = 16, .wakeup_events = 1});
  constexpr std::uint64_t records = 100'000'000;  // far more than there is time for: it is told to stop
  std::vector<real::FloodThread> threads;
  for (std::uint32_t cpu = 0; cpu < 4; ++cpu) threads.push_back({.cpu = cpu, .source = cpu, .records = records});
  auto flood = real::Flood::start(*producers_, threads);
  ASSERT_TRUE(flood) << flood.error();
  std::map<std::uint32_t, std::uint64_t> read;
  const auto drain = [&](std::uint32_t cpu) {
    for (const auto& [number, count] : consume(cpu)) {
      EXPECT_EQ(number, cpu) << "a record of source " << number << " in the ring of CPU " << cpu;
      read[number] += count;
    }
  };
  const auto drain_until = [&](std::uint32_t number, std::uint64_t least) {
    while (read[number] < least) {
      for (std::uint32_t cpu = 0; cpu < 4; ++cpu) drain(cpu);
    }
  };
  drain_until(3, 1000);
  take_offline(3);
  drain_until(0, read[0] + 1000);
  bring_back(3);
  drain_until(0, read[0] + 1000);
  flood->stop();
  const auto ended = flood->join();
  for (std::uint32_t cpu = 0; cpu < 4; ++cpu) drain(cpu);

  ASSERT_FALSE(ended) << "the thread of CPU 3 went on elsewhere";
  EXPECT_EQ(ended.error().code, ENXIO) << ended.error();
  EXPECT_NE(ended.error().attempt.find("CPU 3"), std::string::npos) << ended.error();
  for (std::uint32_t number = 0; number < 4; ++number) {
    const ring::SourceLedger told = source(number);
    EXPECT_EQ(told.attempts, told.committed + told.failed_total()) << number;
    EXPECT_EQ(read[number], told.committed) << number;
  }
}

TEST_F(PerfHotplug, J6_HolesAmongTheCpusHarmNoWaitNoDeadlineAndNoClose) {
  take_offline(1);
  take_offline(3);
  expect_clean("wakeup_events");
  expect_clean("watermark");
}

}  // namespace
}  // namespace ringside::harness
