// SPDX-License-Identifier: Apache-2.0
//
// The order of time: who is held to it, where, and what becomes of a producer that stands still. And the two calls of
// the host that came with it: a sleep for a time, and the pause of a ring.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "consumers/registry.h"
#include "harness/check.h"
#include "harness/held_view.h"
#include "harness/scenario.h"

namespace ringside::harness {
namespace {

using ring::DefectKind;

const ringside_consumer& strategy(const char* name) { return *consumers::find_strategy(name)->consumer; }

RunResult run(const ringside_consumer& consumer, const Scenario& scenario, std::uint64_t seed = 7,
              WorldKind world = WorldKind::model) {
  return run_cell({.consumer = consumer.name,
                   .scenario = scenario.name,
                   .world = world,
                   .ring = scenario.runs_on(ring::RingKind::perf) ? ring::RingKind::perf : ring::RingKind::ringbuf,
                   .seed = seed},
                  consumer, scenario, {});
}

/// Delivers by ring, and claims the order of time all the same.
ringside_consumer liar() {
  ringside_consumer consumer = strategy("read_into");
  consumer.ring_kinds = RINGSIDE_PERF;
  consumer.name = "liar";
  consumer.claims |= RINGSIDE_CLAIM_TIME_ORDER;
  return consumer;
}

TEST(TimeOrder, WhoClaimsItTellsTheTimes) {
  const RunResult result = run(liar(), *find_scenario("time_order"));
  ASSERT_TRUE(result.verdict.has(DefectKind::protocol)) << result.verdict;
  EXPECT_EQ(result.verdict.defects.size(), 1u);
  EXPECT_EQ(result.verdict.defects[0].detail, "claims the order of time and delivered records without their time");
}

TEST(TimeOrder, IsNotJudgedWhereSamplesCarryNoTime) {
  EXPECT_EQ(run(liar(), *find_scenario("many_cpus")).outcome, Outcome::clean);
}

TEST(TimeOrder, IsNotJudgedOfWhoDoesNotClaimIt) {
  for (const char* name : {"read_into", "session", "session_watermark", "drain_cpu"}) {
    const RunResult result = run(strategy(name), *find_scenario("time_order"));
    EXPECT_EQ(result.outcome, Outcome::clean) << name << result.verdict;
  }
}

TEST(TimeOrder, IsKeptByWhoHoldsBackUnderEverySeed) {
  const Scenario scenario = *find_scenario("time_order");
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RunResult result = run(strategy("session_merge"), scenario, seed);
    EXPECT_EQ(result.outcome, Outcome::clean) << "seed " << seed << result.verdict;
  }
}

TEST(TimeOrder, AProducerThatStandsStillIsANoteAndItsRecordsCome) {
  const RunResult result = run(strategy("session_merge"), *find_scenario("time_stalled"));
  EXPECT_EQ(result.outcome, Outcome::clean) << result.verdict;
  ASSERT_EQ(result.verdict.notes.size(), 1u);
  EXPECT_EQ(result.verdict.notes[0],
            "a record came after younger ones of other rings: its producer stood still before it published it");
  EXPECT_EQ(result.verdict.accounting.delivered, 6000u + 3u);  // and a closing record a ring
}

/// The record goes through with a time that was added to.
const ringside_host* true_host = nullptr;
std::uint64_t added_ns = 0;

ringside_consumer with_wrong_times(const char* name) {
  static ringside_consumer right;
  static ringside_host between;
  right = strategy(name);
  ringside_consumer consumer = right;
  consumer.name = "wrong_times";
  consumer.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    true_host = host;
    between = *host;
    between.deliver = [](void* context, const ringside_record* record) {
      ringside_record other = *record;
      other.time_ns += added_ns;
      return true_host->deliver(context, &other);
    };
    return right.open(rings, &between, state);
  };
  return consumer;
}

/// All of them are wrong by the same, and so ascend.
TEST(TimeOrder, TimesThatAscendAndAreNotTheRecordsOwnAreFound) {
  for (const auto& [name, scenario] : {std::pair{"session_merge", "time_order"}, std::pair{"time_merge", "stamped"}}) {
    added_ns = 0;
    const RunResult right = run(with_wrong_times(name), *find_scenario(scenario));
    EXPECT_EQ(right.outcome, Outcome::clean) << name << right.verdict;
    added_ns = 1;
    const RunResult wrong = run(with_wrong_times(name), *find_scenario(scenario));
    ASSERT_TRUE(wrong.verdict.has(DefectKind::protocol)) << name << wrong.verdict;
    EXPECT_NE(wrong.verdict.defects[0].detail.find("tells the time"), std::string::npos) << wrong.verdict;
    EXPECT_FALSE(wrong.verdict.has(DefectKind::reordered)) << name;
  }
}

TEST(TimeOrder, ARecordWithoutRoomForItsStampIsTorn) {
  static ringside_host between;
  ringside_consumer consumer = strategy("time_merge");
  consumer.name = "cuts_stamps";
  consumer.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    true_host = host;
    between = *host;
    between.deliver = [](void* context, const ringside_record* record) {
      ringside_record other = *record;
      other.size = 4;
      return true_host->deliver(context, &other);
    };
    return strategy("time_merge").open(rings, &between, state);
  };
  const RunResult result = run(consumer, *find_scenario("stamped"));
  EXPECT_TRUE(result.verdict.has(DefectKind::torn)) << result.verdict;
}

TEST(HeldView, ChangesWithItsStampAndWithItsRecord) {
  std::array<std::byte, 32> bytes{};
  bytes[0] = std::byte{5};
  const ring::RecordIdentity identity{1, ring::RecordState::committed, 24, 7};
  ring::write_record(std::span(bytes).subspan(8), identity);
  const ringside_record record{
      .ring = 0, .reserved = 0, .data = bytes.data(), .size = bytes.size(), .token = 1, .time_ns = 5};
  const Stamped parts = part(record, 8);
  ASSERT_EQ(parts.time_ns, 5u);
  const HeldView view{
      .record = record,
      .reading = ring::read_record(parts.record, 0, [](std::uint16_t, ring::RecordState) { return 7u; }),
      .padding = 0,
      .stamp_ns = 5,
      .position = std::nullopt};
  ASSERT_EQ(view.reading.kind, ring::RecordReading::Kind::proven);
  EXPECT_TRUE(view.unchanged(8));
  bytes[1] = std::byte{1};
  EXPECT_FALSE(view.unchanged(8));
  bytes[1] = std::byte{0};
  bytes[30] ^= std::byte{1};
  EXPECT_FALSE(view.unchanged(8));
}

TEST(TimeOrder, OfStampsIsExactUnderEverySeed) {
  for (const char* name : {"stamped", "stamped_many", "stamped_busy", "stamped_stalled"}) {
    const Scenario scenario = *find_scenario(name);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const RunResult result = run(strategy("time_merge"), scenario, seed);
      EXPECT_EQ(result.outcome, Outcome::clean) << name << ", seed " << seed << result.verdict;
      EXPECT_TRUE(std::none_of(result.verdict.notes.begin(), result.verdict.notes.end(),
                               [](const std::string& note) { return note.find("came after") != std::string::npos; }))
          << name << ", seed " << seed;
    }
  }
}

bool notes(const RunResult& result, std::string_view text) {
  return std::any_of(result.verdict.notes.begin(), result.verdict.notes.end(),
                     [text](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST(TimeOrder, AStampFromBeforeTheReservationIsANoteAndItsRecordsCome) {
  const RunResult result = run(strategy("time_merge"), *find_scenario("stamped_before"));
  EXPECT_EQ(result.outcome, Outcome::clean) << result.verdict;
  EXPECT_TRUE(notes(result, "stood still between its stamp and its reservation")) << result.verdict;
  EXPECT_EQ(result.verdict.accounting.delivered, 6000u);
}

TEST(TimeOrder, AnInterruptBehindAReservationIsANote) {
  const RunResult result = run(strategy("time_merge"), *find_scenario("stamped_nested"));
  EXPECT_EQ(result.outcome, Outcome::clean) << result.verdict;
  EXPECT_TRUE(notes(result, "an interrupt wrote it")) << result.verdict;
}

const ringside_host* opened_host = nullptr;
const ringside_ring_set* opened_rings = nullptr;

/// By the call that is put to the test.
int pass_time(std::int64_t ns) {
  const auto call = opened_host->sleep;
  return call(opened_host->context, ns);
}

ringside_consumer remembering(const char* name) {
  ringside_consumer consumer = strategy("drain_all");
  consumer.name = name;
  consumer.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    opened_host = host;
    opened_rings = rings;
    return strategy("drain_all").open(rings, host, state);
  };
  return consumer;
}

/// A wait of a microsecond, whatever the rings do.
TEST(HostSleep, TakesTheTimeAndLetsTheProducersMove) {
  ringside_consumer consumer = remembering("sleeps");
  consumer.wait = [](void*, std::int64_t) -> int {
    const std::int64_t begun_ns = opened_host->now_ns(opened_host->context);
    const int slept = pass_time(1000);
    const std::int64_t took_ns = opened_host->now_ns(opened_host->context) - begun_ns;
    if (slept == 0 && took_ns < 1000) std::abort();
    return slept < 0 ? slept : RINGSIDE_WAIT_READY;
  };
  consumer.claims |= RINGSIDE_CLAIM_BUSY_POLLS;
  const RunResult result = run(consumer, *find_scenario("many_cpus"));
  EXPECT_EQ(result.outcome, Outcome::clean) << result.verdict;
  EXPECT_EQ(result.verdict.accounting.failed, 0u);
}

/// Every wait pauses the ring for ten microseconds: what is put out meanwhile is lost, and told.
TEST(HostPause, MakesLossesThatAreTold) {
  ringside_consumer consumer = remembering("pauses");
  consumer.wait = [](void* state, std::int64_t timeout_ns) -> int {
    if (opened_host->pause(opened_host->context, 0, 1) != 0) std::abort();
    const int slept = pass_time(10'000);
    if (opened_host->pause(opened_host->context, 0, 0) != 0) std::abort();
    if (opened_host->pause(opened_host->context, opened_rings->ring_count, 1) != -EINVAL) std::abort();
    return slept < 0 ? slept : strategy("drain_all").wait(state, timeout_ns);
  };
  const RunResult result = run(consumer, *find_scenario("many_cpus"));
  EXPECT_EQ(result.outcome, Outcome::clean) << result.verdict;
  EXPECT_GT(result.verdict.accounting.failed, 0u);
  EXPECT_EQ(result.verdict.accounting.reported_lost, result.verdict.accounting.failed);
}

}  // namespace
}  // namespace ringside::harness
