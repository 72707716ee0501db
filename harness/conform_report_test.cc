// SPDX-License-Identifier: Apache-2.0
#include "harness/conform_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "harness/report_example.h"

namespace ringside::harness {
namespace {

using nlohmann::json;

conform::Finding finding() {
  auto script = conform::parse_script(
      "ringside-script 1\nringbuf pages=1 overwrite=no look=asked\noutput size=0 flags=4\nend\n", "example");
  return {
      .index = 12,
      .found_ops = 77,
      .shrunk = {
          .script = *script,
          .deviation = {.op = 0, .operation = "output size=0 flags=4", .what = "result", .kernel = "-22", .model = "0"},
          .tried = 30}};
}

ConformReport conform_report(bool deviates) {
  ConformReport report;
  report.context = example::context();
  report.campaign.kinds = {
      {.kind = ring::RingKind::ringbuf,
       .scripts = 1000,
       .operations = 123456,
       .seconds = 2,
       .finding = deviates ? std::optional(finding()) : std::nullopt},
      {.kind = ring::RingKind::perf, .scripts = 1000, .operations = 7, .seconds = 1, .finding = {}}};
  report.planned = 2000;
  report.duration_seconds = 3;
  return report;
}

RuleReport rule_report() {
  RuleReport report;
  report.context = example::context();
  report.rules = {
      {.rule = sim::Rule::ringbuf_output_flags, .scripts = 12, .operations = 900, .seconds = 0.5, .finding = finding()},
      {.rule = sim::Rule::perf_space, .scripts = 400, .operations = 9000, .seconds = 9, .finding = {}},
      {.rule = sim::Rule::ringbuf_overwrite_walk, .not_on_this_kernel = true, .finding = {}}};
  report.planned = 3;
  report.duration_seconds = 10;
  return report;
}

ReplayReport replay_report(bool deviates) {
  ReplayReport report;
  report.context = example::context();
  report.file = "a.script";
  report.script = finding().shrunk.script;
  report.played.operations = 1;
  if (deviates) report.played.deviation = finding().shrunk.deviation;
  return report;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(ConformReport, TellsOperationsASecondAndThatTheyAgree) {
  const std::string text = render(conform_report(false), ReportFormat::table, {});
  EXPECT_TRUE(has(text, "ringbuf  1,000    123,456     61,728    ✓ agree\n")) << text;
  EXPECT_TRUE(has(text, "the model agrees with the kernel: 123,463 operations in 2,000 scripts; 3.0 s\n")) << text;
}

TEST(ConformReport, ShowsADeviationWithTheScriptToPaste) {
  const std::string text = render(conform_report(true), ReportFormat::table, {});
  EXPECT_TRUE(has(text, "✗ deviates")) << text;
  EXPECT_TRUE(has(text, "after output size=0 flags=4: result is -22 on the kernel, 0 in the model\n")) << text;
  EXPECT_TRUE(has(text, "script 12, cut down from 77 operations to 1:\n    ringside-script 1\n")) << text;
  EXPECT_TRUE(has(text, "    output size=0 flags=4\n    end\n")) << text;
  EXPECT_TRUE(has(text, "DEVIATES: 123,463 operations")) << text;
}

TEST(ConformReport, CarriesTheScriptInItsJson) {
  const json report = json::parse(render(conform_report(true), ReportFormat::json, {}));
  EXPECT_EQ(report["schema"], "ringside-conform/1");
  EXPECT_EQ(report["rings"][0]["operations"], 123456);
  const auto script = conform::parse_script(report["rings"][0]["finding"]["script"].get<std::string>(), "json");
  ASSERT_TRUE(script) << script.error();
  EXPECT_EQ(*script, finding().shrunk.script);
  EXPECT_TRUE(report["rings"][1]["finding"].is_null());
}

TEST(ConformReport, IsOneCaseARingInJunit) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(render(conform_report(true), ReportFormat::junit, {}).c_str()));
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 2);
  EXPECT_EQ(suite.attribute("failures").as_int(), 1);
  EXPECT_STREQ(suite.child("testcase").attribute("name").value(), "ringbuf");
  EXPECT_STREQ(suite.child("testcase").child("failure").attribute("type").value(), "deviation");
}

TEST(ConformReport, SaysThatItWasInterrupted) {
  ConformReport report = conform_report(false);
  report.interrupted_by = SIGINT;
  EXPECT_TRUE(verdict_line(report, {}).starts_with("interrupted by SIGINT after 2,000 of 2,000 scripts; "))
      << verdict_line(report, {});
}

TEST(RuleReport, NamesWhatWasCaughtWhatEscapedAndWhatIsNotHere) {
  const RuleReport report = rule_report();
  EXPECT_EQ(report.escaped(), 1u);
  const std::string text = render(report, ReportFormat::table, {});
  EXPECT_TRUE(has(text, "✓ 1 operation, 0.5 s")) << text;
  EXPECT_TRUE(has(text, "✗ escaped 400 scripts")) << text;
  EXPECT_TRUE(has(text, "– not on this kernel")) << text;
  EXPECT_TRUE(has(text, "rule 1.7: output refuses unknown flags; this model: it ignores them\n")) << text;
  EXPECT_TRUE(has(text, "ESCAPED: 1 of 2 broken rules; 1 not on this kernel; 10.0 s\n")) << text;
}

TEST(RuleReport, SaysThatEveryOneWasCaught) {
  RuleReport report = rule_report();
  report.rules.erase(report.rules.begin() + 1);
  EXPECT_EQ(verdict_line(report, {}), "every one of 1 broken rule was caught; 1 not on this kernel; 10.0 s");
}

TEST(RuleReport, IsOneCaseARuleInJsonAndJunit) {
  const json report = json::parse(render(rule_report(), ReportFormat::json, {}));
  EXPECT_EQ(report["schema"], "ringside-model-mutants/1");
  EXPECT_EQ(report["rules"][0]["rule"], "ringbuf_output_flags");
  EXPECT_EQ(report["rules"][0]["finding"]["operations"], 1);
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(render(rule_report(), ReportFormat::junit, {}).c_str()));
  const pugi::xml_node suites = document.child("testsuites");
  EXPECT_EQ(suites.attribute("failures").as_int(), 1);
  EXPECT_EQ(suites.attribute("skipped").as_int(), 1);
}

TEST(ReplayReport, TellsWhetherTheScriptStillDeviates) {
  const std::string agrees = render(replay_report(false), ReportFormat::table, {});
  EXPECT_TRUE(has(agrees, "a.script\n  1 operation on a ringbuf\n")) << agrees;
  EXPECT_TRUE(has(agrees, "the model agrees with the kernel\n")) << agrees;
  const std::string deviates = render(replay_report(true), ReportFormat::table, {});
  EXPECT_TRUE(has(deviates, "operation 1:\n  after output size=0 flags=4: result is -22")) << deviates;
  EXPECT_TRUE(has(deviates, "DEVIATES: result\n")) << deviates;
  const json report = json::parse(render(replay_report(true), ReportFormat::json, {}));
  EXPECT_EQ(report["deviation"]["kernel"], "-22");
}

}  // namespace
}  // namespace ringside::harness
