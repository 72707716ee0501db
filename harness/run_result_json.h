// SPDX-License-Identifier: Apache-2.0
//
// A run as a JSON value, for the reports that embed runs in a document of their own. The line form is in run_result.h.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/run_result.h"

namespace ringside::harness {

/// The run with every key in the order of the structure. A seed is a string ("0x9f3a000000000001"): it uses all 64
/// bits, and many JSON readers keep only 53 of a number.
nlohmann::ordered_json to_json(const RunResult& result);

/// `0x` and 16 hexadecimal digits.
std::string seed_text(std::uint64_t seed);

/// The keys that every report begins with. `schema` names and numbers the rest.
template <class AnyReport>
nlohmann::ordered_json json_document(const char* schema, const AnyReport& report) {
  nlohmann::ordered_json json;
  json["schema"] = schema;
  nlohmann::ordered_json& context = json["context"];
  context["ringside_version"] = report.context.ringside_version;
  context["kernel_release"] = report.context.kernel_release;
  context["cpu_model"] = report.context.cpu_model;
  context["cpus"] = report.context.cpus;
  context["date"] = report.context.date;
  context["command_line"] = report.context.command_line;
  context["seed"] = seed_text(report.context.seed);
  json["duration_seconds"] = report.duration_seconds;
  json["interrupted_by"] = report.interrupted_by;
  json["planned"] = report.planned;
  return json;
}

/// The value as text. Bytes that are no UTF-8 are replaced, so it never fails.
std::string dump(const nlohmann::ordered_json& value, int indent);

}  // namespace ringside::harness
