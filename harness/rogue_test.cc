// SPDX-License-Identifier: Apache-2.0
//
// Consumers that break the contract in every way we know, each convicted of what it did and of nothing else. What they
// do beside that is right: they are the `callback` strategy with one call replaced.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "consumers/registry.h"
#include "harness/check.h"
#include "harness/scenario.h"
#include "sim/memory.h"

namespace ringside::harness {
namespace {

using ring::DefectKind;

constexpr auto one_mapping = "under ThreadSanitizer the model shows one writable mapping (docs/testing.md)";

const ringside_consumer& honest() { return *consumers::find_strategy("callback")->consumer; }

// The set and host that the rogue under way was opened with. Each rogue runs in a child of its own.
const ringside_ring_set* opened_rings = nullptr;
const ringside_host* opened_host = nullptr;

int remember_and_open(const ringside_ring_set* rings, const ringside_host* host, void** state) {
  opened_rings = rings;
  opened_host = host;
  return honest().open(rings, host, state);
}

ringside_consumer rogue(const char* name) {
  ringside_consumer consumer = honest();
  consumer.name = name;
  consumer.open = remember_and_open;
  return consumer;
}

Scenario small_scenario() {
  auto scenario = parse_scenario(R"(
name = "small"
rings = ["ringbuf"]
[ring]
size = 4096
[[source]]
records = 200
size = 32
interval_ns = 100
)",
                                 "small.toml");
  EXPECT_TRUE(scenario);
  return *scenario;
}

RunResult run(const ringside_consumer& consumer, const Scenario& scenario = small_scenario(),
              std::uint64_t hang_timeout_ms = 60'000) {
  CheckOptions options;
  options.hang_timeout_ms = hang_timeout_ms;
  return run_cell({.consumer = consumer.name, .scenario = scenario.name, .seed = 7}, consumer, scenario, options);
}

std::vector<DefectKind> kinds(const RunResult& result) {
  std::vector<DefectKind> found;
  for (const ring::Defect& defect : result.verdict.defects) found.push_back(defect.kind);
  return found;
}

void expect_only(DefectKind kind, const std::string& detail_part, const RunResult& result) {
  EXPECT_EQ(result.outcome, Outcome::defects) << result.reason;
  EXPECT_EQ(kinds(result), std::vector{kind}) << result.verdict;
  ASSERT_FALSE(result.verdict.defects.empty());
  EXPECT_NE(result.verdict.defects[0].detail.find(detail_part), std::string::npos) << result.verdict;
}

TEST(Rogue, TheHonestOneIsClean) {
  const RunResult result = run(honest());
  EXPECT_EQ(result.outcome, Outcome::clean) << result.reason << result.verdict;
  EXPECT_EQ(result.verdict.accounting.delivered, 200u);
}

TEST(Rogue, ADrainThatNeverReturnsHangs) {
  ringside_consumer consumer = rogue("hangs");
  consumer.drain = [](void*, std::uint64_t) -> std::int64_t {
    for (;;) pause();
  };
  expect_only(DefectKind::hang, "drain did not return within 300 ms", run(consumer, small_scenario(), 300));
}

TEST(Rogue, ANullPointerIsACrash) {
  ringside_consumer consumer = rogue("crashes");
  consumer.drain = [](void*, std::uint64_t) -> std::int64_t {
    raise(SIGSEGV);
    return 0;
  };
  expect_only(DefectKind::crash, "SIGSEGV in drain", run(consumer));
}

TEST(Rogue, AnAbortIsACrash) {
  ringside_consumer consumer = rogue("aborts");
  consumer.wait = [](void*, std::int64_t) -> int { std::abort(); };
  expect_only(DefectKind::crash, "SIGABRT in wait", run(consumer));
}

TEST(Rogue, AnExitIsACrash) {
  ringside_consumer consumer = rogue("exits");
  consumer.wait = [](void*, std::int64_t) -> int { _exit(3); };
  expect_only(DefectKind::crash, "exit status 3 in wait", run(consumer));
}

TEST(Rogue, AStoreToTheDataIsRefusedAndNamed) {
  if (sim::under_thread_sanitizer) GTEST_SKIP() << one_mapping;
  ringside_consumer consumer = rogue("writes_data");
  consumer.drain = [](void*, std::uint64_t) -> std::int64_t {
    *static_cast<volatile char*>(const_cast<void*>(opened_rings->rings[0].data)) = 1;
    return 0;
  };
  expect_only(DefectKind::protocol, "wrote to read-only memory in drain: the data of ring 0, offset 0", run(consumer));
}

TEST(Rogue, AStoreToTheProducerPageIsRefusedAndNamed) {
  if (sim::under_thread_sanitizer) GTEST_SKIP() << one_mapping;
  ringside_consumer consumer = rogue("writes_producer_page");
  consumer.drain = [](void*, std::uint64_t) -> std::int64_t {
    const auto* page = static_cast<const char*>(opened_rings->rings[0].producer_page);
    *const_cast<volatile char*>(page + 8) = 1;
    return 0;
  };
  expect_only(DefectKind::protocol, "the producer page of ring 0, offset 8", run(consumer));
}

TEST(Rogue, AFailedOpenIsNamedWithItsErrno) {
  ringside_consumer consumer = rogue("fails_to_open");
  consumer.open = [](const ringside_ring_set*, const ringside_host*, void**) { return -ENOMEM; };
  const RunResult result = run(consumer);
  EXPECT_EQ(result.outcome, Outcome::defects);
  EXPECT_NE(result.verdict.defects[0].detail.find("open failed with ENOMEM"), std::string::npos) << result.verdict;
}

TEST(Rogue, AWrongCountIsABrokenContract) {
  ringside_consumer consumer = rogue("miscounts");
  consumer.drain = [](void* state, std::uint64_t most) {
    const std::int64_t count = honest().drain(state, most);
    return count > 0 ? count + 1 : count;
  };
  expect_only(DefectKind::protocol, "after it delivered", run(consumer));
}

TEST(Rogue, ADrainOfMoreThanAskedIsUnbounded) {
  Scenario scenario = small_scenario();
  scenario.consumer.max_records = 2;
  scenario.sources[0].burst = 20;
  ringside_consumer consumer = rogue("drains_all");
  consumer.drain = [](void* state, std::uint64_t) {
    std::int64_t total = 0;
    for (std::int64_t count = 1; count > 0; total += count) count = honest().drain(state, 1000);
    return total;
  };
  expect_only(DefectKind::unbounded_drain, "one drain went on after", run(consumer, scenario));
}

TEST(Rogue, RecordsWithoutEndAreAnUnboundedDrain) {
  ringside_consumer consumer = rogue("invents");
  consumer.drain = [](void*, std::uint64_t) -> std::int64_t {
    const ringside_record nothing{.ring = 0, .reserved = 0, .data = "", .size = 0, .token = 0, .time_ns = 0};
    for (;;) opened_host->deliver(opened_host->context, &nothing);
  };
  const RunResult result = run(consumer);
  EXPECT_TRUE(result.verdict.has(DefectKind::unbounded_drain)) << result.verdict;
}

TEST(Rogue, APositionThatMovesBackIsNamed) {
  ringside_consumer consumer = rogue("regresses");
  consumer.drain = [](void* state, std::uint64_t most) {
    const std::int64_t count = honest().drain(state, most);
    auto* position = static_cast<std::uint64_t*>(opened_rings->rings[0].consumer_page);
    if (count == 0 && *position > 4096) *position -= 8;
    return count;
  };
  const RunResult result = run(consumer);
  EXPECT_TRUE(result.verdict.has(DefectKind::position_regressed)) << result.verdict;
}

TEST(Rogue, APositionPastTheProducersIsNamed) {
  ringside_consumer consumer = rogue("overruns");
  consumer.drain = [](void* state, std::uint64_t most) {
    const std::int64_t count = honest().drain(state, most);
    if (count == 0) *static_cast<std::uint64_t*>(opened_rings->rings[0].consumer_page) += 64;
    return count;
  };
  const RunResult result = run(consumer);
  EXPECT_TRUE(result.verdict.has(DefectKind::position_overrun)) << result.verdict;
}

TEST(Rogue, AReadyWaitWithNothingToDrainForEverIsABusySpin) {
  ringside_consumer consumer = rogue("spins");
  consumer.wait = [](void*, std::int64_t) { return RINGSIDE_WAIT_READY; };
  Scenario scenario = small_scenario();
  scenario.sources[0].records = 3;
  scenario.sources[0].interval_ns = 1'000'000;
  const RunResult result = run(consumer, scenario);
  EXPECT_TRUE(result.verdict.has(DefectKind::busy_spin)) << result.verdict;
}

TEST(Rogue, ASleeperInFrontOfAFullRingMissesItsWakeup) {
  Scenario scenario = small_scenario();
  scenario.drive = Drive::free;
  scenario.sources[0].interval_ns = 0;
  scenario.sources[0].records = 10'000;
  scenario.sources[0].retry = true;
  ringside_consumer consumer = rogue("never_reads");
  consumer.trigger = RINGSIDE_EDGE;
  consumer.drain = [](void*, std::uint64_t) -> std::int64_t { return 0; };
  consumer.wait = [](void*, std::int64_t timeout_ns) {
    ringside_ready ready{};
    const int woken = opened_host->wait(opened_host->context, &ready, 1, timeout_ns);
    return woken > 0 ? RINGSIDE_WAIT_READY : woken;
  };
  const RunResult result = run(consumer, scenario);
  EXPECT_TRUE(result.verdict.has(DefectKind::missed_wakeup)) << result.reason << result.verdict;
}

Scenario with_a_deadline() {
  Scenario scenario = small_scenario();
  scenario.sources[0].interval_ns = 10'000'000;
  scenario.consumer.timeout_ns = 1'000'000;
  return scenario;
}

TEST(Rogue, ATimeoutToldAtOnceIsEarly) {
  ringside_consumer consumer = rogue("impatient");
  consumer.wait = [](void*, std::int64_t) { return RINGSIDE_WAIT_TIMEOUT; };
  const RunResult result = run(consumer, with_a_deadline());
  ASSERT_TRUE(result.verdict.has(DefectKind::early_timeout)) << result.verdict;
  EXPECT_NE(result.verdict.defects[0].detail.find("before its deadline"), std::string::npos) << result.verdict;
}

TEST(Rogue, ATimeoutToldLongAfterItsDeadlineMissedIt) {
  ringside_consumer consumer = rogue("dawdles");
  consumer.trigger = RINGSIDE_EDGE;
  consumer.wait = [](void*, std::int64_t timeout_ns) {
    ringside_ready ready{};
    const int woken = opened_host->wait(opened_host->context, &ready, 1, 5 * timeout_ns);
    return woken > 0 ? RINGSIDE_WAIT_READY : woken;
  };
  expect_only(DefectKind::deadline_missed, "4000", run(consumer, with_a_deadline()));
}

ringside_consumer level_triggered(std::uint32_t claims) {
  ringside_consumer consumer = rogue("level");
  consumer.trigger = RINGSIDE_LEVEL;
  consumer.claims = claims;
  consumer.wait = [](void*, std::int64_t timeout_ns) {
    ringside_ready ready{};
    const int woken = opened_host->wait(opened_host->context, &ready, 1, timeout_ns);
    return woken > 0 ? RINGSIDE_WAIT_READY : woken;
  };
  return consumer;
}

RunResult run_level_triggered_on_a_busy_head(std::uint32_t claims) {
  const auto scenario = find_scenario("busy_head");
  EXPECT_TRUE(scenario);
  return run(level_triggered(claims), *scenario);
}

TEST(Rogue, AwakeOnABusyHeadIsADefectForWhoClaimsToSleepThere) {
  expect_only(DefectKind::busy_spin, "while a BUSY record lay at the head",
              run_level_triggered_on_a_busy_head(RINGSIDE_CLAIM_SLEEPS_ON_BUSY));
}

TEST(Rogue, AwakeOnABusyHeadIsANoteForWhoClaimsNothing) {
  const RunResult result = run_level_triggered_on_a_busy_head(0);
  EXPECT_EQ(result.outcome, Outcome::clean) << result.reason << result.verdict;
  ASSERT_EQ(result.verdict.notes.size(), 1u) << result.verdict;
  EXPECT_NE(result.verdict.notes[0].find("case Q2"), std::string::npos);
}

TEST(Rogue, ARecordCommittedInTheLastOfManyWakeUpsExcusesThoseBefore) {
  // Four of these seeds have a stall whose 64th wake-up falls on the record's commit.
  const auto scenario = find_scenario("stalled_producers");
  ASSERT_TRUE(scenario);
  const ringside_consumer consumer = level_triggered(0);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const RunResult result = run_cell({.consumer = consumer.name, .scenario = scenario->name, .seed = seed}, consumer,
                                      *scenario, CheckOptions{});
    EXPECT_EQ(result.outcome, Outcome::clean) << seed << ": " << result.reason << result.verdict;
  }
}

TEST(Rogue, ADrainThatIgnoresDeliversStopIsUnbounded) {
  ringside_consumer consumer = rogue("ignores_stop");
  consumer.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    static ringside_host deaf;
    deaf = *host;
    opened_host = host;
    deaf.context = nullptr;
    deaf.deliver = [](void*, const ringside_record* record) {
      opened_host->deliver(opened_host->context, record);
      return 0;
    };
    deaf.now_ns = [](void*) { return opened_host->now_ns(opened_host->context); };
    deaf.yield = [](void*) { opened_host->yield(opened_host->context); };
    deaf.wait = [](void*, ringside_ready* ready, std::uint32_t most, std::int64_t timeout_ns) {
      return opened_host->wait(opened_host->context, ready, most, timeout_ns);
    };
    return honest().open(rings, &deaf, state);
  };
  Scenario scenario = small_scenario();
  scenario.sources[0].burst = 20;
  expect_only(DefectKind::unbounded_drain, "after deliver said stop", run(consumer, scenario));
}

TEST(Rogue, PhantomsWithoutEndEndTheRun) {
  ringside_consumer consumer = rogue("repeats");
  consumer.drain = [](void* state, std::uint64_t most) {
    const std::int64_t count = honest().drain(state, most);
    if (count != 0) return count;
    const ringside_record nothing{.ring = 0, .reserved = 0, .data = "", .size = 0, .token = 0, .time_ns = 0};
    opened_host->deliver(opened_host->context, &nothing);
    return std::int64_t{1};
  };
  const RunResult result = run(consumer);
  EXPECT_TRUE(result.verdict.has(DefectKind::phantom)) << result.reason << result.verdict;
}

TEST(Rogue, AReaderThatNeverHandsSpaceBackEndsInFreeDriveToo) {
  Scenario scenario = small_scenario();
  scenario.drive = Drive::free;
  scenario.sources[0].interval_ns = 0;
  scenario.sources[0].records = 10'000;
  scenario.sources[0].retry = true;
  ringside_consumer consumer = rogue("keeps_all");
  consumer.drain = [](void*, std::uint64_t) -> std::int64_t { return 0; };
  consumer.wait = [](void*, std::int64_t) { return RINGSIDE_WAIT_READY; };
  const RunResult result = run(consumer, scenario);
  EXPECT_TRUE(result.verdict.has(DefectKind::busy_spin)) << result.reason << result.verdict;
}

TEST(Rogue, APositionThatPassesAHeldViewIsUseAfterRelease) {
  ringside_consumer consumer = *consumers::find_strategy("zero_copy")->consumer;
  consumer.name = "publishes_held";
  consumer.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    opened_rings = rings;
    return consumers::find_strategy("zero_copy")->consumer->open(rings, host, state);
  };
  consumer.drain = [](void* state, std::uint64_t most) {
    const std::int64_t count = consumers::find_strategy("zero_copy")->consumer->drain(state, most);
    const auto* produced = static_cast<const std::uint64_t*>(opened_rings->rings[0].producer_page);
    if (count > 0) *static_cast<std::uint64_t*>(opened_rings->rings[0].consumer_page) = *produced;
    return count;
  };
  const RunResult result = run(consumer);
  EXPECT_TRUE(result.verdict.has(DefectKind::use_after_release)) << result.reason << result.verdict;
}

TEST(Rogue, AnExitWithStatus0IsACrashToo) {
  ringside_consumer consumer = rogue("exits_well");
  consumer.drain = [](void*, std::uint64_t) -> std::int64_t { _exit(0); };
  expect_only(DefectKind::crash, "exit status 0 in drain", run(consumer));
}

// A consumer is not to blame for wake-ups for nothing that the scenario itself makes, however many.
TEST(Rogue, TheHonestOneIsCleanWhenEveryWaitIsDisturbed) {
  for (const char* fault : {"eintr_every", "spurious_every", "hangup_every"}) {
    auto scenario = parse_scenario(std::string("name = \"disturbed\"\nrings = [\"ringbuf\"]\n[ring]\nsize = 4096\n"
                                               "[[source]]\nrecords = 200\ninterval_ns = 100000\n[faults]\n") +
                                       fault + " = 1\n",
                                   "disturbed.toml");
    ASSERT_TRUE(scenario) << scenario.error();
    const RunResult result = run(honest(), *scenario);
    EXPECT_EQ(result.outcome, Outcome::clean) << fault << result.reason << result.verdict;
  }
}

/// Waits without a deadline, but in slices of a millisecond.
TEST(Rogue, AWaitInSlicesIsClean) {
  ringside_consumer consumer = rogue("slices");
  consumer.trigger = RINGSIDE_EDGE;
  consumer.wait = [](void*, std::int64_t) {
    for (;;) {
      ringside_ready ready{};
      const int woken = opened_host->wait(opened_host->context, &ready, 1, 1'000'000);
      if (woken != 0) return woken > 0 ? RINGSIDE_WAIT_READY : woken;
    }
  };
  const auto scenario = find_scenario("faults");
  ASSERT_TRUE(scenario);
  const RunResult result = run(consumer, *scenario);
  EXPECT_EQ(result.outcome, Outcome::clean) << result.reason << result.verdict;
}

TEST(Rogue, ADescriptorLeftOpenIsALeak) {
  ringside_consumer consumer = rogue("leaks");
  consumer.close = [](void* state) {
    [[maybe_unused]] const int kept = ::open("/dev/null", O_RDONLY);
    honest().close(state);
  };
  expect_only(DefectKind::leak, "1 descriptors and 0 ring mappings are left after close", run(consumer));
}

TEST(Rogue, AnUnknownTokenIsABrokenContract) {
  ringside_consumer consumer = *consumers::find_strategy("zero_copy")->consumer;
  consumer.name = "refuses_tokens";
  consumer.release = [](void*, std::uint64_t) { return -EINVAL; };
  const RunResult result = run(consumer);
  EXPECT_TRUE(result.verdict.has(DefectKind::protocol)) << result.verdict;
}

TEST(Rogue, AReportedLossOnABpfRingIsMiscounted) {
  ringside_consumer consumer = rogue("invents_loss");
  consumer.close = [](void* state) {
    opened_host->lost(opened_host->context, 0, 5);
    honest().close(state);
  };
  expect_only(DefectKind::loss_miscounted, "", run(consumer));  // whether or not it claims to report losses
}

TEST(Rogue, ATimeoutWithoutADeadlineIsABrokenContract) {
  ringside_consumer consumer = rogue("times_out");
  consumer.wait = [](void*, std::int64_t) { return RINGSIDE_WAIT_TIMEOUT; };
  const RunResult result = run(consumer);
  EXPECT_TRUE(result.verdict.has(DefectKind::protocol)) << result.verdict;
}

}  // namespace
}  // namespace ringside::harness
