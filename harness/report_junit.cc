// SPDX-License-Identifier: Apache-2.0
//
// The report for CI services: JUnit XML. One suite a world and ring kind, one case a cell; `failure` is a defect of the
// consumer (or a mutant that escaped), `error` a fault of ringside itself, `skipped` carries its reason.
#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>

#include "harness/report_formats.h"
#include "harness/report_junit.h"
#include "harness/run_result_json.h"

namespace ringside::harness {
namespace {

/// XML 1.0 has no way to write most control characters, not even escaped.
std::string xml_text(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    const bool allowed = code >= 0x20 || byte == '\n' || byte == '\t';
    out += allowed ? byte : '?';
  }
  return out;
}

void set(pugi::xml_node& node, const char* name, std::string_view value) {
  node.append_attribute(name).set_value(xml_text(value).c_str());
}

void set(pugi::xml_node& node, const char* name, std::size_t value) {
  node.append_attribute(name).set_value(static_cast<unsigned long long>(value));
}

void set_seconds(pugi::xml_node& node, double seconds) { set(node, "time", fmt::format("{:.6f}", seconds)); }

void property(pugi::xml_node& properties, const char* name, std::string_view value) {
  pugi::xml_node node = properties.append_child("property");
  set(node, "name", name);
  set(node, "value", value);
}

void add_context(pugi::xml_node& suite, const ReportContext& context) {
  pugi::xml_node properties = suite.append_child("properties");
  property(properties, "ringside_version", context.ringside_version);
  property(properties, "kernel_release", context.kernel_release);
  property(properties, "cpu_model", context.cpu_model);
  property(properties, "cpus", std::to_string(context.cpus));
  property(properties, "seed", seed_text(context.seed));
  property(properties, "command_line", context.command_line);
}

void fill_outcome(JunitCase& result, const RunResult& run) {
  if (run.outcome == Outcome::skipped) {
    result.outcome = "skipped";
    result.message = run.reason;
  } else if (run.outcome == Outcome::fault) {
    result.outcome = "error";
    result.type = "fault";
    result.message = run.reason;
    result.body = "repeat: " + run.repeat;
  }
}

std::string lines_of(const RunResult& run) {
  std::ostringstream lines;
  for (const ring::Defect& defect : run.verdict.defects) lines << defect << '\n';
  if (run.spec.world != WorldKind::explored) lines << "accounting: " << run.verdict.accounting << '\n';
  lines << "repeat: " << run.repeat;
  return lines.str();
}

std::string kinds_of(const RunResult& run) {
  std::vector<std::string> names;
  for (const ring::Defect& defect : run.verdict.defects) names.emplace_back(ring::name_of(defect.kind));
  return joined(names);
}

std::string suite_of(WorldKind world, ring::RingKind ring) {
  return fmt::format("{}.{}", name_of(world), ring::name_of(ring));
}

/// A case of that run that has passed so far.
JunitCase plain_case_of(const RunResult& run) {
  return {.suite = suite_of(run.spec.world, run.spec.ring),
          .name = fmt::format("{}.{}", run.spec.consumer, run.spec.scenario),
          .seconds = run.wall_seconds,
          .type = {},
          .message = {},
          .body = {}};
}

JunitCase case_of(const RunResult& run) {
  JunitCase result = plain_case_of(run);
  fill_outcome(result, run);
  if (run.outcome == Outcome::defects) {
    result.outcome = "failure";
    result.type = run.verdict.defects.empty() ? "defects" : std::string{ring::name_of(run.verdict.defects[0].kind)};
    result.message = kinds_of(run);
    result.body = lines_of(run);
  }
  return result;
}

JunitCase case_of(const MutantResult& mutant) {
  JunitCase result = plain_case_of(mutant.run);
  fill_outcome(result, mutant.run);
  if (result.outcome == nullptr && !mutant.convicted()) {
    const std::string found = mutant.run.verdict.defects.empty() ? "nothing" : kinds_of(mutant.run);
    result.outcome = "failure";
    result.type = "escaped";
    result.message =
        fmt::format("should be convicted of {}, was convicted of {}", ring::name_of(mutant.expected), found);
    result.body = lines_of(mutant.run);
  }
  if (mutant.convicted()) {
    const char* const noun = mutant.run.spec.world == WorldKind::explored ? "execution" : "record";
    result.said =
        fmt::format("convicted of {} after {}", ring::name_of(mutant.expected), counted(mutant.effort(), noun));
  }
  return result;
}

void append_case(pugi::xml_node& suite, const JunitCase& result) {
  pugi::xml_node node = suite.append_child("testcase");
  set(node, "classname", suite.attribute("name").value());
  set(node, "name", result.name);
  set_seconds(node, result.seconds);
  if (!result.said.empty()) {
    node.append_child("system-out").append_child(pugi::node_pcdata).set_value(xml_text(result.said).c_str());
  }
  if (result.outcome == nullptr) return;
  pugi::xml_node outcome = node.append_child(result.outcome);
  if (!result.type.empty()) set(outcome, "type", result.type);
  set(outcome, "message", result.message);
  if (!result.body.empty()) outcome.append_child(pugi::node_pcdata).set_value(xml_text(result.body).c_str());
}

void set_totals(pugi::xml_node& node, const std::vector<const JunitCase*>& cases) {
  const auto count = [&cases](std::string_view outcome) {
    std::size_t number = 0;
    for (const JunitCase* one : cases) number += one->outcome != nullptr && outcome == one->outcome ? 1u : 0u;
    return number;
  };
  set(node, "tests", cases.size());
  set(node, "failures", count("failure"));
  set(node, "errors", count("error"));
  set(node, "skipped", count("skipped"));
}

void append_suite(pugi::xml_node& root, const std::string& name, const std::vector<JunitCase>& cases,
                  const ReportContext& context) {
  std::vector<const JunitCase*> here;
  double seconds = 0;
  for (const JunitCase& one : cases) {
    if (one.suite != name) continue;
    here.push_back(&one);
    seconds += one.seconds;
  }
  if (here.empty()) return;
  pugi::xml_node suite = root.append_child("testsuite");
  set(suite, "name", name);
  set_totals(suite, here);
  set_seconds(suite, seconds);
  set(suite, "timestamp", context.date);
  add_context(suite, context);
  for (const JunitCase* one : here) append_case(suite, *one);
}

/// Of runs: worlds in their order, in each the kinds of ring.
std::vector<std::string> suites_of_runs() {
  std::vector<std::string> suites;
  for (const WorldKind world : {WorldKind::model, WorldKind::kernel, WorldKind::explored}) {
    for (const ring::RingKind ring : {ring::RingKind::ringbuf, ring::RingKind::perf, ring::RingKind::user_ringbuf}) {
      suites.push_back(suite_of(world, ring));
    }
  }
  return suites;
}

}  // namespace

std::string junit_document(const char* name, const std::vector<std::string>& suites,
                           const std::vector<JunitCase>& cases, const ReportContext& context, double seconds) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("testsuites");
  set(root, "name", name);
  std::vector<const JunitCase*> all;
  for (const JunitCase& one : cases) all.push_back(&one);
  set_totals(root, all);
  set_seconds(root, seconds);
  for (const std::string& suite : suites) append_suite(root, suite, cases, context);
  std::ostringstream text;
  document.save(text, "  ", pugi::format_indent, pugi::encoding_utf8);
  return text.str();
}

std::string junit_of(const Report& report) {
  std::vector<JunitCase> cases;
  for (const RunResult& run : report.runs) cases.push_back(case_of(run));
  return junit_document("ringside check", suites_of_runs(), cases, report.context, report.duration_seconds);
}

std::string junit_of(const MutantReport& report) {
  std::vector<JunitCase> cases;
  for (const MutantResult& result : report.mutants) cases.push_back(case_of(result));
  return junit_document("ringside mutants", suites_of_runs(), cases, report.context, report.duration_seconds);
}

}  // namespace ringside::harness
