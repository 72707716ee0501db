// SPDX-License-Identifier: Apache-2.0
//
// Claims of batches, held against the rings: the `callback` strategy with claims around its drains.
#include "harness/batch_check.h"

#include <gtest/gtest.h>

#include "consumers/registry.h"
#include "harness/check.h"
#include "harness/scenario.h"

namespace ringside::harness {
namespace {

using ring::DefectKind;

const ringside_consumer& honest() { return *consumers::find_strategy("callback")->consumer; }

// The host that the consumer under way was opened with, what the consumer has for one instead, and whether deliver said
// stop. Each consumer runs in a child of its own.
const ringside_host* opened_host = nullptr;
ringside_host between;
bool stopped = false;

ringside_consumer claiming(const char* name, std::int64_t (*drain)(void* state, std::uint64_t most)) {
  ringside_consumer consumer = honest();
  consumer.name = name;
  consumer.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    opened_host = host;
    between = *host;
    between.deliver = [](void* context, const ringside_record* record) {
      const int answer = opened_host->deliver(context, record);
      stopped |= answer != 0;
      return answer;
    };
    return honest().open(rings, &between, state);
  };
  consumer.drain = drain;
  return consumer;
}

RunResult run(const ringside_consumer& consumer, const char* scenario_name) {
  const auto scenario = find_scenario(scenario_name);
  EXPECT_TRUE(scenario) << scenario.error();
  CheckOptions options;
  options.worlds = {WorldKind::model};
  return run_cell({.consumer = consumer.name, .scenario = scenario_name, .seed = 7}, consumer, *scenario, options);
}

void expect_only(DefectKind kind, const std::string& detail_part, const RunResult& result) {
  ASSERT_EQ(result.verdict.defects.size(), 1u) << result.reason << result.verdict;
  EXPECT_EQ(result.verdict.defects[0].kind, kind);
  EXPECT_NE(result.verdict.defects[0].detail.find(detail_part), std::string::npos) << result.verdict;
}

/// Claims what holds of a drain that nothing cut short: all from before it.
std::int64_t drain_and_claim_before(void* state, std::uint64_t most) {
  stopped = false;
  opened_host->batch_begin(opened_host->context);
  const std::int64_t delivered = honest().drain(state, most);
  const bool whole = !stopped && static_cast<std::uint64_t>(delivered) < most;
  if (whole) opened_host->batch_end(opened_host->context, RINGSIDE_BATCH_BEFORE);
  return delivered;
}

TEST(BatchCheck, AllFromBeforeHoldsOfAWholeDrainUpToTheBusyRecordAndTheDiscarded) {
  for (const char* scenario : {"batches", "busy_head", "discards", "position_wrap_64"}) {
    const RunResult result = run(claiming("claims_before", drain_and_claim_before), scenario);
    EXPECT_EQ(result.outcome, Outcome::clean) << scenario << result.reason << result.verdict;
    EXPECT_GT(result.verdict.accounting.delivered, 0u) << scenario;
  }
}

TEST(BatchCheck, AllFromBeforeIsRefutedByWhatWasNotRead) {
  const RunResult result = run(claiming("reads_one",
                                        [](void* state, std::uint64_t) {
                                          opened_host->batch_begin(opened_host->context);
                                          const std::int64_t delivered = honest().drain(state, 1);
                                          opened_host->batch_end(opened_host->context, RINGSIDE_BATCH_BEFORE);
                                          return delivered;
                                        }),
                               "batches");
  expect_only(DefectKind::batch_incomplete, "ring 0, committed up to ", result);
}

TEST(BatchCheck, EmptyRingsAreRefutedByARecordBehindTheLastLook) {
  const RunResult result = run(claiming("claims_empty",
                                        [](void* state, std::uint64_t most) {
                                          opened_host->batch_begin(opened_host->context);
                                          const std::int64_t delivered = honest().drain(state, most);
                                          opened_host->batch_end(opened_host->context, RINGSIDE_BATCH_EMPTY);
                                          return delivered;
                                        }),
                               "batches");
  expect_only(DefectKind::batch_incomplete, "every ring is empty, and ring 0 holds", result);
}

TEST(BatchCheck, AnEndWithoutABeginningBreaksTheContract) {
  const RunResult result = run(claiming("ends_twice",
                                        [](void* state, std::uint64_t most) {
                                          opened_host->batch_end(opened_host->context, RINGSIDE_BATCH_BEFORE);
                                          return honest().drain(state, most);
                                        }),
                               "batches");
  expect_only(DefectKind::protocol, "ended a batch that it had not begun", result);
}

TEST(BatchCheck, AnUnknownClaimBreaksTheContract) {
  const RunResult result = run(claiming("claims_more",
                                        [](void* state, std::uint64_t most) {
                                          opened_host->batch_begin(opened_host->context);
                                          opened_host->batch_end(opened_host->context, 4);
                                          return honest().drain(state, most);
                                        }),
                               "batches");
  expect_only(DefectKind::protocol, "unknown claim 4", result);
}

TEST(BatchCheck, ASideOfRingsThatHaveNoneBreaksTheContract) {
  const RunResult result = run(claiming("claims_side",
                                        [](void* state, std::uint64_t most) {
                                          opened_host->batch_begin(opened_host->context);
                                          opened_host->batch_end(opened_host->context, RINGSIDE_BATCH_SIDE);
                                          return honest().drain(state, most);
                                        }),
                               "batches");
  expect_only(DefectKind::protocol, "a side of rings that have none", result);
}

}  // namespace
}  // namespace ringside::harness
