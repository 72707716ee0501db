// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "explore/report.h"

namespace ringside::explore {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* schema = "ringside-explored/1";

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class T>
std::optional<T> optional_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional<T>(json.get<T>());
}

/// Steps are numbered from 1 for readers.
Json numbers_of(const std::vector<std::size_t>& indices) {
  Json numbers = Json::array();
  for (const std::size_t index : indices) numbers.push_back(index + 1);
  return numbers;
}

std::vector<std::size_t> indices_of(const Json& numbers, std::size_t steps) {
  std::vector<std::size_t> indices;
  for (const Json& number : numbers) {
    const auto index = number.get<std::size_t>() - 1;
    if (index >= steps) throw std::out_of_range("a step that is not there");
    indices.push_back(index);
  }
  return indices;
}

std::optional<std::size_t> index_of(const Json& number, std::size_t steps) {
  if (number.is_null()) return std::nullopt;
  return indices_of(Json::array({number}), steps).front();
}

Json to_json(const ReportedStep& step, std::size_t index) {
  Json json;
  json["step"] = index + 1;
  json["thread"] = step.thread;
  json["kind"] = step.kind;
  json["order"] = step.order;
  json["memory"] = step.memory;
  json["size_bytes"] = step.size_bytes;
  json["value"] = or_null(step.value);
  json["before"] = or_null(step.before);
  json["asleep"] = step.asleep;
  json["timed"] = step.timed;
  json["repeats"] = step.repeats;
  json["own"] = step.own;
  json["source"] = step.source;
  json["function"] = step.function;
  json["callers"] = Json::array();
  for (const ReportedCall& call : step.callers) {
    json["callers"].push_back({{"function", call.function}, {"source", call.source}});
  }
  json["reads_from"] = step.reads_from ? Json(*step.reads_from + 1) : Json(nullptr);
  json["missed"] = numbers_of(step.missed);
  json["too_early"] = numbers_of(step.too_early);
  return json;
}

std::vector<ReportedCall> calls_from(const Json& json) {
  std::vector<ReportedCall> calls;
  for (const Json& call : json) calls.push_back({call.at("function"), call.at("source")});
  return calls;
}

ReportedStep step_from(const Json& json, std::size_t steps) {
  return {.thread = json.at("thread"),
          .kind = json.at("kind"),
          .order = json.at("order"),
          .memory = json.at("memory"),
          .size_bytes = json.at("size_bytes"),
          .value = optional_of<std::uint64_t>(json.at("value")),
          .before = optional_of<std::uint64_t>(json.at("before")),
          .asleep = json.at("asleep"),
          .timed = json.at("timed"),
          .repeats = json.at("repeats"),
          .own = json.at("own"),
          .source = json.at("source"),
          .function = json.at("function"),
          .callers = calls_from(json.at("callers")),
          .reads_from = index_of(json.at("reads_from"), steps),
          .missed = indices_of(json.at("missed"), steps),
          .too_early = indices_of(json.at("too_early"), steps)};
}

Json to_json(const RingSpan& span, const std::string& memory) {
  Json json;
  json["ring"] = span.ring;
  json["from"] = span.from;
  json["to"] = span.to;
  json["position"] = span.position;
  json["size_bytes"] = span.size_bytes;
  json["under_way"] = span.under_way;
  json["memory"] = memory;
  return json;
}

RingSpan span_from(const Json& json) {
  return {.ring = json.at("ring"),
          .from = json.at("from"),
          .to = json.at("to"),
          .position = json.at("position"),
          .size_bytes = json.at("size_bytes"),
          .under_way = json.at("under_way")};
}

Json to_json(const ReportedFailure& failure) {
  Json json;
  json["defect"] = failure.defect;
  json["what"] = failure.what;
  json["interruptions"] = failure.interruptions;
  json["stale"] = failure.stale;
  json["compared"] = failure.compared;
  json["compared_all"] = failure.compared_all;
  json["rival"] = failure.rival ? Json(*failure.rival + 1) : Json(nullptr);
  json["span"] = failure.span ? to_json(*failure.span, failure.span_memory) : Json(nullptr);
  json["token"] = failure.token;
  json["replay"] = failure.replay;
  json["story"] = failure.story;
  json["steps"] = Json::array();
  for (std::size_t index = 0; index < failure.steps.size(); ++index) {
    json["steps"].push_back(to_json(failure.steps[index], index));
  }
  return json;
}

ReportedFailure failure_from(const Json& json, std::size_t threads) {
  ReportedFailure failure{.defect = json.at("defect"), .what = json.at("what")};
  const std::size_t steps = json.at("steps").size();
  for (const Json& step : json.at("steps")) failure.steps.push_back(step_from(step, steps));
  for (const ReportedStep& step : failure.steps) {
    if (step.thread >= threads) throw std::out_of_range("a thread that is not there");
  }
  failure.rival = index_of(json.at("rival"), steps);
  failure.interruptions = json.at("interruptions");
  failure.stale = json.at("stale");
  failure.compared = json.at("compared");
  failure.compared_all = json.at("compared_all");
  failure.story = json.at("story").get<std::vector<std::string>>();
  if (const Json& span = json.at("span"); !span.is_null()) {
    failure.span = span_from(span);
    failure.span_memory = span.at("memory");
  }
  failure.token = json.at("token");
  failure.replay = json.at("replay");
  return failure;
}

Json to_json(const ProgramReport& report) {
  Json json;
  json["name"] = report.name;
  json["memory"] = report.memory;
  json["verdict"] = name_of(report.verdict);
  json["bounds"] = report.bounds;
  json["complete"] = report.complete;
  json["blocked"] = report.blocked;
  json["seconds"] = report.seconds;
  json["threads"] = report.threads;
  json["missing"] = report.missing;
  json["failure"] = report.failure ? to_json(*report.failure) : Json(nullptr);
  return json;
}

Verdict verdict_from(const std::string& name) {
  for (const Verdict verdict : {Verdict::proved, Verdict::bounded, Verdict::failed}) {
    if (name == name_of(verdict)) return verdict;
  }
  throw std::out_of_range("a verdict that nobody knows");
}

ProgramReport report_from(const Json& json) {
  ProgramReport report{.name = json.at("name"),
                       .memory = json.at("memory"),
                       .verdict = verdict_from(json.at("verdict")),
                       .bounds = json.at("bounds").get<std::vector<std::string>>(),
                       .complete = json.at("complete"),
                       .blocked = json.at("blocked"),
                       .seconds = json.at("seconds"),
                       .threads = json.at("threads").get<std::vector<std::string>>(),
                       .missing = json.at("missing")};
  const Json& failure = json.at("failure");
  if (!failure.is_null()) report.failure = failure_from(failure, report.threads.size());
  return report;
}

}  // namespace

Json json_programs(const std::vector<ProgramReport>& reports) {
  Json programs = Json::array();
  for (const ProgramReport& report : reports) programs.push_back(to_json(report));
  return programs;
}

std::string json_of(const std::vector<ProgramReport>& reports) {
  Json json;
  json["schema"] = schema;
  json["programs"] = json_programs(reports);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

ring::Result<std::vector<ProgramReport>> reports_from_json(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("schema") != schema) throw std::out_of_range(fmt::format("its schema is not {}", schema));
    std::vector<ProgramReport> reports;
    for (const Json& report : json.at("programs")) reports.push_back(report_from(report));
    return reports;
  } catch (const std::exception& fault) {
    return ring::error("read what an explored program reported", fault.what(),
                       "build the program and ringside from the same tree");
  }
}

}  // namespace ringside::explore
