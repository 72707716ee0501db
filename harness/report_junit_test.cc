// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <pugixml.hpp>

#include "harness/report.h"
#include "harness/report_example.h"

namespace ringside::harness {
namespace {

using example::bad_run;
using example::clean_run;
using example::fault_run;
using example::skipped_run;
using ring::DefectKind;

struct Parsed {
  pugi::xml_document document;
  pugi::xml_node suites() const { return document.child("testsuites"); }
  pugi::xml_node test(const char* name) const {
    return document.find_node([name](const pugi::xml_node& node) {
      return std::string_view{node.name()} == "testcase" && std::string_view{node.attribute("name").value()} == name;
    });
  }
};

template <class AnyReport>
void parse(const AnyReport& report, Parsed& parsed) {
  const std::string text = render(report, ReportFormat::junit, {});
  const pugi::xml_parse_result result = parsed.document.load_buffer(text.data(), text.size());
  ASSERT_TRUE(result) << result.description() << "\n" << text;
}

TEST(ReportJunit, MakesOneCaseACell) {
  Parsed parsed;
  parse(example::report_of(
            {clean_run("copy", "steady"), bad_run("copy", "wrap", {DefectKind::torn, DefectKind::phantom}),
             skipped_run("copy", "steady_there", "no CAP_BPF"), fault_run("copy", "busy", "fork: EAGAIN")}),
        parsed);
  EXPECT_EQ(parsed.suites().attribute("tests").as_int(), 4);
  EXPECT_EQ(parsed.suites().attribute("failures").as_int(), 1);
  EXPECT_EQ(parsed.suites().attribute("errors").as_int(), 1);
  EXPECT_EQ(parsed.suites().attribute("skipped").as_int(), 1);
  EXPECT_EQ(std::string{parsed.test("copy.steady").attribute("classname").value()}, "model.ringbuf");
  EXPECT_FALSE(parsed.test("copy.steady").first_child());
  EXPECT_EQ(std::string{parsed.test("copy.steady_there").attribute("classname").value()}, "kernel.ringbuf");
  EXPECT_EQ(std::string{parsed.test("copy.steady_there").child("skipped").attribute("message").value()}, "no CAP_BPF");
  EXPECT_EQ(std::string{parsed.test("copy.busy").child("error").attribute("message").value()}, "fork: EAGAIN");
}

TEST(ReportJunit, PutsDefectsAndTheRepeatLineIntoTheFailure) {
  Parsed parsed;
  parse(example::report_of({bad_run("copy", "wrap", {DefectKind::torn, DefectKind::phantom})}), parsed);
  const pugi::xml_node failure = parsed.test("copy.wrap").child("failure");
  EXPECT_EQ(std::string{failure.attribute("type").value()}, "torn");
  EXPECT_EQ(std::string{failure.attribute("message").value()}, "torn, phantom");
  const std::string body = failure.child_value();
  EXPECT_NE(body.find("source 1 record 77 is the first one"), std::string::npos) << body;
  EXPECT_NE(body.find("repeat: ringside check --consumer copy --scenario wrap"), std::string::npos) << body;
}

TEST(ReportJunit, StaysXmlWhateverADetailHolds) {
  RunResult run = bad_run("copy", "wrap", {DefectKind::torn});
  run.verdict.defects[0].detail = std::string("<&>\"' \x01\x1b ]]> ") + '\0';
  run.reason = "\x02";
  Parsed parsed;
  parse(example::report_of({run}), parsed);
  const std::string body = parsed.test("copy.wrap").child("failure").child_value();
  EXPECT_NE(body.find("<&>\"' ?? ]]> ?"), std::string::npos) << body;
}

TEST(ReportJunit, CarriesTheSeed) {
  Parsed parsed;
  parse(example::report_of({clean_run("copy", "steady")}), parsed);
  const pugi::xml_node seed =
      parsed.suites().child("testsuite").child("properties").find_child_by_attribute("name", "seed");
  EXPECT_EQ(std::string{seed.attribute("value").value()}, "0x00000000000000ff");
}

TEST(ReportJunit, SaysOfWhatAMutantWasConvictedAndAfterHowMuch) {
  MutantReport report;
  report.context = example::context();
  report.mutants = {example::mutant_of(bad_run("m", "s", {DefectKind::torn}), DefectKind::torn),
                    example::explored_mutant("n", DefectKind::torn, DefectKind::data_race, DefectKind::data_race),
                    example::explored_mutant("o", DefectKind::torn, DefectKind::data_race, DefectKind::torn)};
  Parsed parsed;
  parse(report, parsed);
  EXPECT_EQ(std::string{parsed.test("m.s").child_value("system-out")}, "convicted of torn after 1,204 records");
  EXPECT_EQ(std::string{parsed.test("n.n").child_value("system-out")}, "convicted of data_race after 105 executions");
  EXPECT_EQ(std::string{parsed.test("n.n").attribute("classname").value()}, "explored.ringbuf");
  EXPECT_FALSE(parsed.test("o.o").child("system-out"));
  const std::string body = parsed.test("o.o").child_value("failure");
  EXPECT_EQ(body, "torn: asleep beside a record: consumer\nrepeat: ringside explore o");
}

TEST(ReportJunit, FailsTheCaseOfAnEscapedMutantOnly) {
  MutantReport report;
  report.context = example::context();
  report.mutants = {example::mutant_of(bad_run("m", "s", {DefectKind::torn}), DefectKind::torn),
                    example::mutant_of(bad_run("n", "s", {DefectKind::torn}), DefectKind::lost)};
  Parsed parsed;
  parse(report, parsed);
  EXPECT_FALSE(parsed.test("m.s").child("failure"));
  EXPECT_EQ(std::string{parsed.test("n.s").child("failure").attribute("message").value()},
            "should be convicted of lost, was convicted of torn");
}

}  // namespace
}  // namespace ringside::harness
