// SPDX-License-Identifier: Apache-2.0
//
// Producers of user ring buffers that break the contract in every way we know, each convicted of what it did. What they
// do beside that is right: they are `user_reserve` with one call replaced.
#include "harness/user_session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "consumers/registry.h"
#include "harness/check.h"
#include "harness/scenario.h"
#include "sim/memory.h"

namespace ringside::harness {
namespace {

using ring::DefectKind;

const ringside_producer& honest() { return *consumers::producer_strategies()[0].producer; }

// What the rogue under way was opened with. Each runs in a child of its own.
const ringside_user_ring* opened_ring = nullptr;
const ringside_producer_host* opened_host = nullptr;

ringside_producer rogue(const char* name) {
  ringside_producer producer = honest();
  producer.name = name;
  producer.open = [](const ringside_user_ring* ring, const ringside_producer_host* host, void** state) {
    opened_ring = ring;
    opened_host = host;
    return honest().open(ring, host, state);
  };
  return producer;
}

Scenario scenario_of(const std::string& more) {
  auto scenario =
      parse_scenario("name = \"small\"\nrings = [\"user_ringbuf\"]\n[ring]\nsize = 4096\n" + more, "small.toml");
  EXPECT_TRUE(scenario) << scenario.error();
  return *scenario;
}

// 300 samples, each of which waits for room: 7 fit, and a drain comes now and then.
Scenario crowded() {
  return scenario_of("[[source]]\nrecords = 300\nsize = 500\nretry = true\n[drain]\ninterval_ns = 5000\n");
}
Scenario crowded_with_deadline() {
  return scenario_of(
      "[[source]]\nrecords = 300\nsize = 500\nretry = true\n[drain]\ninterval_ns = 5000\n"
      "[producer]\ntimeout_ns = 2000\n");
}

RunResult run(const ringside_producer& producer, const Scenario& scenario = crowded(),
              std::uint64_t hang_timeout_ms = 60'000) {
  CheckOptions options;
  options.hang_timeout_ms = hang_timeout_ms;
  return run_cell({.consumer = producer.name,
                   .scenario = scenario.name,
                   .world = WorldKind::model,
                   .ring = ring::RingKind::user_ringbuf,
                   .seed = 7},
                  producer, scenario, options);
}

void expect(DefectKind kind, const std::string& detail_part, const RunResult& result) {
  EXPECT_EQ(result.outcome, Outcome::defects) << result.reason;
  for (const ring::Defect& defect : result.verdict.defects) {
    if (defect.kind != kind) continue;
    EXPECT_NE(defect.detail.find(detail_part), std::string::npos) << result.verdict;
    return;
  }
  ADD_FAILURE() << "no " << kind << ": " << result.reason << result.verdict;
}

void expect_only(DefectKind kind, const std::string& detail_part, const RunResult& result) {
  expect(kind, detail_part, result);
  EXPECT_EQ(result.verdict.defects.size(), 1u) << result.verdict;
}

TEST(UserSession, TheHonestOneIsCleanAndEverySampleIsAccountedFor) {
  const RunResult result = run(honest());
  EXPECT_EQ(result.outcome, Outcome::clean) << result.reason << result.verdict;
  EXPECT_EQ(result.verdict.accounting.attempts, 300u);
  EXPECT_EQ(result.verdict.accounting.delivered, 300u);
  EXPECT_EQ(result.verdict.accounting.failed, 0u);
}

TEST(UserSession, WhatFindsNoRoomAndIsNotTriedAgainHasFailed) {
  const RunResult result =
      run(honest(), scenario_of("[[source]]\nrecords = 300\nsize = 500\n[drain]\ninterval_ns = 5000\n"));
  EXPECT_EQ(result.outcome, Outcome::clean) << result.reason << result.verdict;
  const ring::Accounting& accounting = result.verdict.accounting;
  EXPECT_GT(accounting.failed, 0u);
  EXPECT_EQ(accounting.attempts, accounting.delivered + accounting.failed);
}

TEST(UserSession, TheSameSeedIsTheSameRun) {
  const Scenario scenario = scenario_of("[[source]]\nrecords = 300\nsize = 500\n");
  EXPECT_EQ(run(honest(), scenario).verdict, run(honest(), scenario).verdict);
}

TEST(UserSession, AStoreToTheConsumerPageIsRefused) {
  if (sim::under_thread_sanitizer) GTEST_SKIP() << "under ThreadSanitizer the model shows one writable mapping";
  ringside_producer producer = rogue("writes");
  producer.wait = [](void*, std::uint32_t, std::int64_t) {
    std::memset(const_cast<void*>(opened_ring->consumer_page), 0xff, 8);
    return RINGSIDE_WAIT_READY;
  };
  expect_only(DefectKind::protocol, "wrote to read-only memory in wait: the consumer page of ring 0, offset 0",
              run(producer));
}

TEST(UserSession, ACrashIsTold) {
  ringside_producer producer = rogue("crashes");
  producer.commit = [](void*, void*, std::uint32_t) {
    raise(SIGSEGV);
    return 0;
  };
  expect_only(DefectKind::crash, "SIGSEGV in commit", run(producer));
}

TEST(UserSession, ACallThatDoesNotReturnHangs) {
  ringside_producer producer = rogue("hangs");
  producer.reserve = [](void*, std::uint32_t, void**) -> int {
    for (;;) pause();
  };
  producer.send = nullptr;
  expect_only(DefectKind::hang, "reserve did not return within 300 ms", run(producer, crowded(), 300));
}

TEST(UserSession, AYieldWithoutEndIsASpin) {
  ringside_producer producer = rogue("yields");
  producer.wait = [](void*, std::uint32_t, std::int64_t) -> int {
    for (;;) opened_host->yield(opened_host->context);
  };
  expect(DefectKind::busy_spin, "one call yielded and waited", run(producer));
}

TEST(UserSession, AWaitThatNeverSleepsIsASpinOfWhoClaimsToSleep) {
  ringside_producer producer = rogue("spins");
  producer.wait = [](void*, std::uint32_t, std::int64_t) { return RINGSIDE_WAIT_READY; };
  expect_only(DefectKind::busy_spin, "64 waits in a row returned ready", run(producer));
  producer.claims = 0;
  const RunResult result = run(producer);
  EXPECT_EQ(result.outcome, Outcome::clean) << result.verdict;
  EXPECT_EQ(result.verdict.notes.size(), 1u);
}

TEST(UserSession, AnErrorIsAStatementAboutTheRing) {
  ringside_producer producer = rogue("gives_up");
  producer.reserve = [](void*, std::uint32_t, void**) { return -ENOSPC; };
  producer.send = nullptr;
  expect(DefectKind::protocol, "reserve of 500 bytes failed with ENOSPC, with 0 of 4096 bytes in use", run(producer));
  producer.reserve = [](void*, std::uint32_t, void**) { return -E2BIG; };
  expect(DefectKind::protocol, "failed with E2BIG", run(producer));
}

TEST(UserSession, APayloadOutsideWhatIsReservedIsOutOfBounds) {
  ringside_producer producer = rogue("elsewhere");
  producer.send = nullptr;
  producer.reserve = [](void* state, std::uint32_t size, void** payload) {
    const int error = honest().reserve(state, size, payload);
    if (error == 0) *payload = static_cast<std::byte*>(*payload) + 512;
    return error;
  };
  expect(DefectKind::out_of_bounds, "outside what is reserved", run(producer));
  producer.reserve = [](void*, std::uint32_t, void** payload) {
    *payload = nullptr;
    return 0;
  };
  expect(DefectKind::protocol, "without a payload", run(producer));
}

TEST(UserSession, ASampleSentTwiceIsADuplicate) {
  ringside_producer producer = rogue("repeats");
  producer.reserve = nullptr;
  producer.commit = nullptr;
  producer.send = [](void* state, const void* bytes, std::uint32_t size) {
    const int error = honest().send(state, bytes, size);
    if (error == 0) honest().send(state, bytes, size);
    return error;
  };
  expect_only(DefectKind::duplicate, "", run(producer));
}

TEST(UserSession, ASampleThatIsNeverCommittedIsLostWithAllBehindIt) {
  ringside_producer producer = rogue("forgets");
  producer.send = nullptr;
  producer.commit = [](void* state, void* payload, std::uint32_t fate) {
    static int calls = 0;
    return ++calls == 3 ? 0 : honest().commit(state, payload, fate);
  };
  const RunResult result = run(producer);
  expect(DefectKind::lost, "", result);
  expect(DefectKind::protocol, "the ring stands still at position 1024", result);  // two samples of 508, rounded up
}

TEST(UserSession, WhoSpinsOnARingThatStandsStillIsEnded) {
  ringside_producer producer = rogue("forgets_and_spins");
  producer.send = nullptr;
  producer.claims = 0;
  producer.commit = [](void*, void*, std::uint32_t) { return 0; };
  producer.wait = [](void*, std::uint32_t, std::int64_t) { return RINGSIDE_WAIT_READY; };
  expect(DefectKind::protocol, "the ring stands still at position 0", run(producer));
}

TEST(UserSession, APositionThatGoesBackIsTold) {
  ringside_producer producer = rogue("rewinds");
  producer.wait = [](void* state, std::uint32_t size, std::int64_t timeout_ns) {
    auto* const position = static_cast<std::uint64_t*>(opened_ring->producer_page);
    *position -= 512;
    return honest().wait(state, size, timeout_ns);
  };
  expect(DefectKind::position_regressed, "producer position went back", run(producer));
}

TEST(UserSession, ATimeoutIsAStatementAboutTheClockAndTheRing) {
  ringside_producer producer = rogue("impatient");
  producer.wait = [](void*, std::uint32_t, std::int64_t) { return RINGSIDE_WAIT_TIMEOUT; };
  expect_only(DefectKind::early_timeout, "ns before its deadline", run(producer, crowded_with_deadline()));
  expect_only(DefectKind::protocol, "wait told a timeout though it had no deadline", run(producer));
  producer.wait = [](void*, std::uint32_t, std::int64_t timeout_ns) {
    const std::int64_t end = opened_host->now_ns(opened_host->context) + timeout_ns;
    while (opened_host->now_ns(opened_host->context) < end) {
    }
    return RINGSIDE_WAIT_TIMEOUT;
  };
  expect_only(DefectKind::early_timeout, "a timeout told while there was room for 500 bytes",
              run(producer, crowded_with_deadline()));
  producer.wait = [](void*, std::uint32_t, std::int64_t timeout_ns) {
    for (int times = 0; times < 1000; ++times) opened_host->wait(opened_host->context, timeout_ns);
    return RINGSIDE_WAIT_TIMEOUT;
  };
  expect(DefectKind::deadline_missed, "after its deadline", run(producer, crowded_with_deadline()));
}

TEST(UserSession, ErrorsOfTheOtherCallsAreTold) {
  ringside_producer producer = rogue("fails");
  producer.open = [](const ringside_user_ring*, const ringside_producer_host*, void**) { return -EPERM; };
  expect_only(DefectKind::protocol, "open failed with EPERM", run(producer));
  producer = rogue("fails");
  producer.commit = [](void* state, void* payload, std::uint32_t fate) {
    honest().commit(state, payload, fate);
    return -EIO;
  };
  expect_only(DefectKind::protocol, "commit failed with EIO", run(producer));
  producer = rogue("fails");
  producer.wait = [](void*, std::uint32_t, std::int64_t) { return -EBADF; };
  expect_only(DefectKind::protocol, "wait failed with EBADF", run(producer));
}

TEST(UserSession, WhatIsKeptAfterCloseIsALeak) {
  ringside_producer producer = rogue("leaks");
  producer.open = [](const ringside_user_ring* ring, const ringside_producer_host* host, void** state) {
    static_cast<void>(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return honest().open(ring, host, state);
  };
  expect_only(DefectKind::leak, "1 descriptors and 0 ring mappings are left after close", run(producer));
}

}  // namespace
}  // namespace ringside::harness
