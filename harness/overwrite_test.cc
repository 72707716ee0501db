// SPDX-License-Identifier: Apache-2.0
//
// Overwrite rings in `check`: who runs on them, what is laid to whom, and the watch on a kernel's ring, tried on the
// model's, which knows the truth.
#include <gtest/gtest.h>

#include <algorithm>

#include "consumers/registry.h"
#include "harness/check.h"
#include "harness/overwrite_watch.h"
#include "harness/scenario.h"
#include "real/inspect.h"
#include "sim/machine.h"

namespace ringside::harness {
namespace {

using ring::DefectKind;

std::unique_ptr<sim::Machine> overwrite_machine() {
  sim::MachineOptions options;
  options.sources = 3;
  options.overwrite = true;
  options.kernel = {6, 19};
  auto machine = sim::Machine::create(options);
  EXPECT_TRUE(machine);
  return std::move(*machine);
}

void publish(const ringside_ring& ring, std::uint64_t position) { real::set_consumer_position(ring, position); }

TEST(Overwrite, OnlyConsumersThatClaimItRunThere) {
  CheckOptions options;
  options.worlds = {WorldKind::model};
  options.scenarios = {"overwrite_lapped", "wrap"};
  options.rings = {ring::RingKind::ringbuf};
  const auto specs = plan_check(options);
  ASSERT_TRUE(specs) << specs.error();
  for (const RunSpec& spec : *specs) {
    EXPECT_TRUE(spec.scenario == "wrap" || spec.consumer == "overwrite_snapshot") << spec.consumer;
  }
  EXPECT_EQ(std::count_if(specs->begin(), specs->end(),
                          [](const RunSpec& spec) { return spec.consumer == "overwrite_snapshot"; }),
            2);
  options.scenarios = {"overwrite_lapped"};
  options.consumers = {"copy"};
  EXPECT_FALSE(plan_check(options));
}

TEST(Overwrite, ALappedConsumerHasNothingMissing) {
  CheckOptions options;
  options.worlds = {WorldKind::model};
  options.scenarios = {"overwrite_lapped", "overwrite_steady"};
  options.consumers = {"overwrite_snapshot"};
  const auto results = run_check(options, {});
  ASSERT_TRUE(results) << results.error();
  ASSERT_EQ(results->size(), 2u);
  const ring::Accounting& lapped = results->at(0).verdict.accounting;
  EXPECT_EQ(results->at(0).outcome, Outcome::clean) << results->at(0).verdict;
  EXPECT_GT(lapped.overwritten, lapped.delivered);
  EXPECT_GT(lapped.delivered, 500u);
  EXPECT_EQ(results->at(1).outcome, Outcome::clean) << results->at(1).verdict;
  EXPECT_EQ(results->at(1).verdict.accounting.overwritten, 0u);
}

/// overwrite_snapshot that keeps every tenth record to itself.
ringside_consumer swallower() {
  static const ringside_consumer* const honest = consumers::find_strategy("overwrite_snapshot")->consumer;
  static const ringside_host* opened_host = nullptr;
  static ringside_host between;
  static std::uint64_t records = 0;
  static std::int64_t swallowed = 0;  // in the drain under way
  ringside_consumer consumer = *honest;
  consumer.name = "swallower";
  consumer.open = [](const ringside_ring_set* rings, const ringside_host* host, void** state) {
    opened_host = host;
    between = *host;
    between.deliver = [](void* context, const ringside_record* record) {
      if (++records % 10 != 0) return opened_host->deliver(context, record);
      ++swallowed;
      return 0;
    };
    return honest->open(rings, &between, state);
  };
  consumer.drain = [](void* state, std::uint64_t most) -> std::int64_t {
    swallowed = 0;
    const std::int64_t count = honest->drain(state, most);
    return count < 0 ? count : count - swallowed;
  };
  return consumer;
}

TEST(Overwrite, WhatTheConsumerPassedByIsLostAndNotOverwritten) {
  const auto scenario = find_scenario("overwrite_lapped");
  ASSERT_TRUE(scenario) << scenario.error();
  const ringside_consumer consumer = swallower();
  const RunResult result =
      run_cell({.consumer = consumer.name, .scenario = scenario->name, .seed = 3}, consumer, *scenario, {});
  const ring::Accounting& sum = result.verdict.accounting;
  ASSERT_EQ(result.verdict.defects.size(), 1u) << result.verdict << result.reason;
  EXPECT_EQ(result.verdict.defects[0].kind, DefectKind::lost);
  EXPECT_EQ(sum.missing, sum.delivered / 9) << result.verdict;
  EXPECT_GT(sum.overwritten, sum.delivered);
}

TEST(OverwriteWatch, SeesOnAnotherRingWhatTheModelKnows) {
  const auto machine = overwrite_machine();
  const ringside_ring ring = machine->user_view(0);
  OverwriteWatch watch(ring);
  const std::uint32_t sizes[] = {100, 0, 300, 16, 2000, 0, 504};
  for (std::uint32_t i = 0; i < 300; ++i) {
    ring::Operation operation{.action = i % 5 == 4 ? ring::Action::discard : ring::Action::submit,
                              .source = static_cast<std::uint16_t>(i % 3),
                              .size = sizes[i % 7]};
    if (i % 50 == 20) operation = {.action = ring::Action::hold, .source = 2, .size = 64};
    if (i % 50 > 20 && i % 50 < 24) operation.source = static_cast<std::uint16_t>(i % 2);
    if (i % 50 == 24) operation = {.action = ring::Action::settle_submit, .source = 2};
    machine->run(operation);
    watch.look();
    if (i % 60 == 0) publish(ring, real::positions_of(ring).producer);
  }
  EXPECT_TRUE(watch.overwritten().known);
  EXPECT_EQ(watch.overwritten().empties, machine->overwritten().empties);
  std::uint64_t taken = 0;
  for (std::uint32_t source = 0; source < 3; ++source) {
    for (std::uint64_t number = 0; number < 300; ++number) {
      const bool truth = machine->overwritten().contains(source, number);
      EXPECT_EQ(watch.overwritten().contains(source, number), truth) << source << " " << number;
      taken += truth ? 1u : 0u;
    }
  }
  EXPECT_GT(taken, 50u);
}

TEST(OverwriteWatch, SaysWhenARecordCameAndWentUnseen) {
  const auto machine = overwrite_machine();
  const ringside_ring ring = machine->user_view(0);
  OverwriteWatch watch(ring);
  for (int i = 0; i < 20; ++i) machine->run({.action = ring::Action::submit, .source = 0, .size = 504});
  watch.look();
  EXPECT_FALSE(watch.overwritten().known);
}

TEST(OverwriteWatch, AtTheEndKnowsOnlyWhetherAnythingWasOverwritten) {
  for (const int records : {7, 8}) {  // 7 spans of 512 fit beside one another
    const auto machine = overwrite_machine();
    const ringside_ring ring = machine->user_view(0);
    OverwriteWatch watch(ring);
    for (int i = 0; i < records; ++i) machine->run({.action = ring::Action::submit, .source = 0, .size = 504});
    watch.look_at_the_end();
    EXPECT_EQ(watch.overwritten().known, records == 7);
  }
}

TEST(Overwrite, InspectionBeginsWhereALappedRingDoes) {
  const auto machine = overwrite_machine();
  const ringside_ring ring = machine->user_view(0);
  for (int i = 0; i < 12; ++i) machine->run({.action = ring::Action::submit, .source = 0, .size = 504});
  EXPECT_EQ(real::positions_of(ring).first_unread(), 2560u);
  EXPECT_TRUE(real::has_deliverable(ring));
  EXPECT_EQ(real::head_of(ring), real::Head::committed);
  EXPECT_EQ(real::left_in(ring, 3).by_source, (std::vector<std::uint64_t>{7, 0, 0}));
}

}  // namespace
}  // namespace ringside::harness
