// SPDX-License-Identifier: Apache-2.0
//
// Reports of failures: their names, places, stories and forms.
#include "explore/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <regex>

#include "explore/search.h"

namespace ringside::explore {
namespace {

struct Memory {
  Atomic<std::uint64_t> mine, yours, sleeping;
  std::uint64_t data = 0;
};
Memory memory;
Atomic<std::uint32_t> a_static_flag;

/// Each stores its own word and looks at the other's; whoever sees nothing is sure that the other will wake it.
Program both_asleep(Order store, Order load, bool fence) {
  const auto side = [=](Atomic<std::uint64_t>& own, Atomic<std::uint64_t>& other, bool sleeper) {
    return [=, &own, &other] {
      own.store(0x10, store);
      if (fence) atomic_fence(Order::seq_cst);
      const bool seen = other.load(load) != 0;
      if (sleeper && !seen) memory.sleeping.await_equal(1);
      if (!sleeper && seen) memory.sleeping.store(1, Order::release);
    };
  };
  return {
      .begin = [] { memory = Memory{}; },
      .threads = {side(memory.mine, memory.yours, false), side(memory.yours, memory.mine, true)},
      .end = {},
      .names = {{&memory.mine, 8, "producer_pos"}, {&memory.yours, 8, "consumer_pos"}, {&memory.sleeping, 8, "wake"}},
      .thread_names = {"producer", "consumer"}};
}

ProgramReport reported(const Program& program, MemoryModel model = MemoryModel::c11) {
  const SearchOptions options{.model = model};
  const SearchResult result = search(program, options);
  std::optional<Minimum> minimum;
  if (result.failure) minimum = minimise(program, *result.failure, options);
  return report_of({.name = "it", .program = program, .model = model, .result = result}, minimum, Places{});
}

std::string story(const ProgramReport& report) {
  std::string all;
  for (const std::string& paragraph : report.failure->story) all += paragraph + '\n';
  return all;
}

std::size_t step_of(const ReportedFailure& failure, const std::string& text) {
  const auto found = std::find_if(failure.steps.begin(), failure.steps.end(),
                                  [&](const ReportedStep& step) { return to_text(step).starts_with(text); });
  return static_cast<std::size_t>(found - failure.steps.begin());
}

TEST(Report, TellsAMissedWakeUpByItsNamesAndItsCircle) {
  const ProgramReport report = reported(both_asleep(Order::release, Order::acquire, false));
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->defect, "deadlock");
  EXPECT_EQ(report.failure->what, "waiting for ever: consumer");
  EXPECT_EQ(report.failure->steps.size(), 5u);
  EXPECT_EQ(report.failure->interruptions + report.failure->stale, 1u);
  const std::string told = story(report);
  EXPECT_NE(told.find("although"), std::string::npos) << told;
  EXPECT_NE(told.find("However"), std::string::npos) << told;
  EXPECT_NE(told.find("a full fence (seq_cst) between them"), std::string::npos) << told;
  EXPECT_NE(told.find("consumer at wake sleeps for ever"), std::string::npos) << told;
}

TEST(Report, AFullFenceOnBothSidesLeavesNothingToTell) {
  const ProgramReport report = reported(both_asleep(Order::release, Order::acquire, true));
  EXPECT_FALSE(report.failure);
  EXPECT_EQ(report.verdict, Verdict::proved);
  EXPECT_EQ(verdict_line(report).substr(0, 16), "proved under c11");
}

TEST(Report, StepsStandWhereTheSourceHasThem) {
  const ProgramReport report = reported(both_asleep(Order::release, Order::acquire, false));
  ASSERT_TRUE(report.failure);
  for (const ReportedStep& step : report.failure->steps) {
    EXPECT_TRUE(std::regex_search(step.source, std::regex("^report_test\\.cc:[0-9]+$"))) << step.source;
  }
}

TEST(Report, AStaticVariableWithoutAnotherNameHasItsOwn) {
  const Program program{.begin = [] { a_static_flag.set(0); },
                        .threads = {[] { a_static_flag.await_equal(2); }, [] { a_static_flag.store(1); }},
                        .end = {}};
  const ProgramReport report = reported(program);
  ASSERT_TRUE(report.failure);
  ASSERT_FALSE(report.failure->steps.empty());
  EXPECT_NE(report.failure->steps.front().memory.find("a_static_flag"), std::string::npos)
      << report.failure->steps.front().memory;
  EXPECT_EQ(report.threads, (std::vector<std::string>{"thread 0", "thread 1"}));
}

TEST(Report, APartOfNamedMemoryIsToldByItsBytes) {
  Program program = both_asleep(Order::release, Order::acquire, false);
  program.names = {{&memory, sizeof memory, "page"}, {&memory.sleeping, 8, "wake"}};
  const ProgramReport report = reported(program);
  ASSERT_TRUE(report.failure);
  EXPECT_LT(step_of(*report.failure, "store page[0..8) = 0x10 (release)"), report.failure->steps.size());
  EXPECT_LT(step_of(*report.failure, "load wake = 0 (acquire)"), report.failure->steps.size());
}

Program racy(Order store, Order load) {
  return {.begin = [] { memory = Memory{}; },
          .threads = {[store] {
                        plain_write(&memory.data, 8);
                        memory.mine.store(1, store);
                      },
                      [load] {
                        if (memory.mine.load(load) == 1) plain_read(&memory.data, 8);
                      }},
          .end = {},
          .names = {{&memory.mine, 8, "flag"}, {&memory.data, 8, "data"}},
          .thread_names = {"writer", "reader"}};
}

[[gnu::noinline]] const void* outer_function() { return __builtin_extract_return_addr(__builtin_return_address(0)); }

/// A return address within that function; without it the compiler would jump there.
[[gnu::noinline]] std::vector<const void*> inside_of_a_caller(std::size_t) {
  std::vector<const void*> callers{outer_function()};
  return callers;
}

TEST(Report, TellsHowTheThreadsOfARaceCameToIt) {
  Program program = racy(Order::release, Order::relaxed);
  program.callers = inside_of_a_caller;
  const ProgramReport report = reported(program);
  ASSERT_TRUE(report.failure);
  ASSERT_EQ(called_steps(*report.failure), (std::vector<std::size_t>{0, report.failure->steps.size() - 1}));
  for (const std::size_t index : called_steps(*report.failure)) {
    const std::vector<ReportedCall>& callers = report.failure->steps[index].callers;
    ASSERT_EQ(callers.size(), 1u);
    EXPECT_TRUE(callers.front().function.ends_with("inside_of_a_caller")) << callers.front().function;
    EXPECT_TRUE(std::regex_match(callers.front().source, std::regex("report_test\\.cc:[0-9]+")));
  }
  const std::string text = text_of(report, {});
  const std::string call = "called by inside_of_a_caller at report_test.cc:";
  EXPECT_NE(text.find("step 1, writer, in "), std::string::npos) << text;
  EXPECT_NE(text.find(call), std::string::npos) << text;
  EXPECT_NE(text.find(call, text.find(call) + 1), std::string::npos) << text;
  EXPECT_NE(html_of({report}).find("inside_of_a_caller"), std::string::npos);
  const auto again = reports_from_json(json_of({report}));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->front(), report);
}

TEST(Report, TellsWhyWhatWasHandedOverDoesNotOrderARace) {
  const ProgramReport relaxed_load = reported(racy(Order::release, Order::relaxed));
  ASSERT_TRUE(relaxed_load.failure);
  EXPECT_EQ(relaxed_load.failure->rival, 0u);
  EXPECT_NE(story(relaxed_load).find("is relaxed and does not acquire it"), std::string::npos) << story(relaxed_load);
  const ProgramReport relaxed_store = reported(racy(Order::relaxed, Order::acquire));
  ASSERT_TRUE(relaxed_store.failure);
  EXPECT_NE(story(relaxed_store).find("that store is relaxed and does not release"), std::string::npos)
      << story(relaxed_store);
  EXPECT_FALSE(reported(racy(Order::release, Order::acquire)).failure);
}

TEST(Report, TellsWhenSpaceWasHandedBackTooEarly) {
  const Program program{.begin = [] { memory = Memory{}; },
                        .threads = {[] {
                                      if (memory.mine.load(Order::acquire) == 1) plain_write(&memory.data, 8);
                                    },
                                    [] {
                                      memory.mine.store(1, Order::release);
                                      plain_read(&memory.data, 8);
                                    }},
                        .end = {},
                        .names = {{&memory.mine, 8, "consumer_pos"}, {&memory.data, 8, "data"}},
                        .thread_names = {"producer", "consumer"}};
  const ProgramReport report = reported(program);
  ASSERT_TRUE(report.failure);
  EXPECT_NE(story(report).find("consumer stored that before it reads data"), std::string::npos) << story(report);
}

/// A consumer hands a record of 16 bytes back and reads its payload.
Program on_a_ring(bool reads_first, Order store, bool filled = true) {
  struct Ring {
    Atomic<std::uint64_t> consumed, produced;
    alignas(8) std::array<std::byte, 32> data{};
  };
  static Ring ring;
  return {.begin = [] { ring = Ring{}; },
          .threads = {[filled] {
                        plain_write(&ring.data[0], filled ? 16 : 8);
                        ring.produced.store(16, Order::release);
                      },
                      [=] {
                        ring.produced.await_equal(16);
                        if (reads_first) plain_read(&ring.data[8], 8);
                        ring.consumed.store(16, store);
                        if (!reads_first) plain_read(&ring.data[8], 8);
                      }},
          .end = {},
          .kernel_threads = {0},
          .rings = {{.name = "the ring",
                     .consumed = &ring.consumed,
                     .produced = &ring.produced,
                     .data = ring.data.data(),
                     .size_bytes = ring.data.size()}},
          .names = {{&ring.consumed, 8, "consumer_pos"},
                    {&ring.produced, 8, "producer_pos"},
                    {&ring.data[8], 8, "payload"}},
          .thread_names = {"producer", "consumer"}};
}

TEST(Report, TellsWhatWasHandedBackAndByWhichStep) {
  const ProgramReport late = reported(on_a_ring(false, Order::release));
  ASSERT_TRUE(late.failure);
  EXPECT_EQ(late.failure->what, "consumer reads positions 0x8 to 0x10 of the ring, which it had handed back");
  EXPECT_NE(story(late).find("That hands back positions 0 to 0x10 of the ring"), std::string::npos) << story(late);
  EXPECT_NE(story(late).find("Only after that it reads payload"), std::string::npos) << story(late);
  const ProgramReport relaxed = reported(on_a_ring(true, Order::relaxed));
  ASSERT_TRUE(relaxed.failure);
  EXPECT_NE(story(relaxed).find("consumer reads payload"), std::string::npos) << story(relaxed);
  EXPECT_NE(story(relaxed).find("the store is relaxed and does not release"), std::string::npos) << story(relaxed);
  EXPECT_FALSE(reported(on_a_ring(true, Order::release)).failure);
}

TEST(Report, TellsWhatNobodyWroteAndWhoClaimedIt) {
  const ProgramReport report = reported(on_a_ring(true, Order::release, false));
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->defect, "uninitialised_read");
  EXPECT_NE(story(report).find("claims positions 0 to 0x10 of the ring"), std::string::npos) << story(report);
  EXPECT_NE(story(report).find("nobody has written bytes 8 to 15 when consumer reads payload"), std::string::npos)
      << story(report);
}

TEST(Report, MarksTheStepsOfEachDefect) {
  const auto marks = [](const Program& program) {
    const ReportedFailure failure = *reported(program).failure;
    std::vector<std::string> all;
    for (std::size_t index = 0; index < failure.steps.size(); ++index) all.emplace_back(part_in(failure, index));
    std::erase(all, "");
    return all;
  };
  using Marks = std::vector<std::string>;
  EXPECT_EQ(marks(on_a_ring(false, Order::release)), (Marks{"hands back", "handed back"}));
  EXPECT_EQ(marks(on_a_ring(true, Order::relaxed)), (Marks{"handed back", "hands back"}));
  EXPECT_EQ(marks(on_a_ring(true, Order::release, false)), (Marks{"claims", "not written"}));
  EXPECT_EQ(marks(racy(Order::relaxed, Order::acquire)), (Marks{"races", "races"}));
  EXPECT_NE(text_of(reported(on_a_ring(false, Order::release)), {}).find("  HANDED BACK\n"), std::string::npos);
}

TEST(Report, WhatTheProgramItselfFindsHasNoBytesToTellOf) {
  Program program = on_a_ring(true, Order::release);
  program.end = [] { fail(DefectKind::use_after_release, "a view has changed"); };
  const ProgramReport report = reported(program);
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->defect, "use_after_release");
  EXPECT_FALSE(of_ring_bytes(*report.failure));
  for (std::size_t index = 0; index < report.failure->steps.size(); ++index) {
    EXPECT_EQ(part_in(*report.failure, index), "") << index;
  }
  EXPECT_NE(story(report).find("use_after_release: a view has changed."), std::string::npos) << story(report);
}

TEST(Report, ARaceIsToldWithBothLines) {
  const ProgramReport report = reported(racy(Order::relaxed, Order::acquire));
  ASSERT_TRUE(report.failure);
  EXPECT_TRUE(std::regex_match(report.failure->what,
                               std::regex("plain write of writer and plain read of reader race for 8 bytes; at "
                                          "report_test\\.cc:[0-9]+ and [a-z_]+\\.cc:[0-9]+")))
      << report.failure->what;
}

TEST(Report, TellsWhatLiesUnread) {
  Program program = on_a_ring(true, Order::release);
  program.threads[1] = [] { memory.sleeping.await_equal(1); };
  program.unread = [] { return true; };
  const ProgramReport report = reported(program);
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->defect, "missed_wakeup");
  EXPECT_EQ(report.failure->what, "asleep beside a record: consumer");
  EXPECT_NE(story(report).find("positions 0 to 0x10 of the ring, committed and consumed by nobody"), std::string::npos)
      << story(report);
}

TEST(Report, TheTableHasAColumnForEachThreadAndMarksWhatIsStale) {
  const ProgramReport report = reported(both_asleep(Order::release, Order::acquire, false));
  const std::string text = text_of(report, {});
  EXPECT_TRUE(std::regex_search(text, std::regex("\n  step  producer +consumer +where\n"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("STALE: missed step [0-9]"))) << text;
  EXPECT_NE(text.find("SLEEPS"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text_of(report, {.colour = true}).find('\x1b'), std::string::npos);
}

TEST(Report, AccessesOfAThreadsOwnMemoryAreShownAsOne) {
  static std::array<std::uint64_t, 3> own;
  static std::uint64_t named;
  Program program = racy(Order::relaxed, Order::acquire);
  program.names.push_back({&named, 8, "state"});
  program.threads[0] = [write = program.threads[0]] {
    for (std::uint64_t& word : own) plain_write(&word, 8);
    plain_write(&named, 8);
    write();
  };
  const ProgramReport report = reported(program);
  ASSERT_TRUE(report.failure);
  const std::string text = text_of(report, {});
  EXPECT_TRUE(std::regex_search(text, std::regex("\n +1  \\(3 accesses of its own memory\\).*\n +4  write state")))
      << text;
  const std::string page = html_of({report});
  EXPECT_NE(page.find(">3 accesses of its own memory</text>"), std::string::npos);
  EXPECT_TRUE(std::regex_search(page, std::regex("<td>3</td><td>writer</td><td class=\"what\">write ")))
      << "the page's table has every step";
  EXPECT_EQ(own_steps(*report.failure, 0), 3u);
  // What races is shown, whoever names it.
  EXPECT_FALSE(report.failure->steps.back().own || report.failure->steps[*report.failure->rival].own);
}

TEST(Report, IsTheSameAfterJson) {
  std::vector<ProgramReport> reports{
      reported(both_asleep(Order::release, Order::acquire, false)), reported(racy(Order::release, Order::acquire)),
      reported(racy(Order::relaxed, Order::acquire)), reported(on_a_ring(false, Order::release))};
  reports[0].failure->token = "t";
  const auto again = reports_from_json(json_of(reports));
  ASSERT_TRUE(again) << ring::to_string(again.error());
  EXPECT_EQ(*again, reports);
}

TEST(Report, RefusesJsonThatIsNone) {
  EXPECT_FALSE(reports_from_json("{}"));
  EXPECT_FALSE(reports_from_json(R"({"schema": "ringside-explored/9", "programs": []})"));
  std::string text = json_of({reported(both_asleep(Order::release, Order::acquire, false))});
  EXPECT_TRUE(reports_from_json(text));
  const std::string rival = "\"rival\": null";
  text.replace(text.find(rival), rival.size(), "\"rival\": 9");
  EXPECT_FALSE(reports_from_json(text));
}

TEST(Report, TheHtmlPageNeedsNothingElse) {
  Program program = both_asleep(Order::release, Order::acquire, false);
  program.thread_names[0] = "<producer>";
  const ProgramReport report = reported(program);
  const std::string page = html_of({report});
  EXPECT_EQ(page.find("<producer>"), std::string::npos);
  EXPECT_NE(page.find("&lt;producer&gt;"), std::string::npos);
  EXPECT_FALSE(std::regex_search(page, std::regex("<script|src=|<link|@import|https?:")));
  const std::string boxes = "class=\"box";
  std::size_t count = 0;
  for (std::size_t at = page.find(boxes); at != std::string::npos; at = page.find(boxes, at + 1)) ++count;
  EXPECT_EQ(count, report.failure->steps.size());
  EXPECT_NE(page.find("class=\"missed\""), std::string::npos);
}

}  // namespace
}  // namespace ringside::explore
