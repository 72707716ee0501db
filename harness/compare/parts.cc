// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/parts.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/subprocess.h"
#include "ring/signals.h"

namespace ringside::harness {

namespace {

using Json = nlohmann::json;

std::vector<std::string> timed_consumers(const CompareReport& report) {
  std::vector<std::string> names;
  for (const CompareSeries& series : report.series) {
    if (series.reason.empty() && std::find(names.begin(), names.end(), series.consumer) == names.end()) {
      names.push_back(series.consumer);
    }
  }
  return names;
}

void add_values(const Json& part, CompareSeries& series) {
  if (part.contains("reason")) series.reason = part.at("reason").get<std::string>();
  for (const auto& [key, values] :
       {std::pair{"wall_ns_a_record", &series.wall_ns}, {"cpu_ns_a_record", &series.cpu_ns}}) {
    if (!part.contains(key)) continue;
    const auto more = part.at(key).at("rounds").get<std::vector<double>>();
    values->insert(values->end(), more.begin(), more.end());
  }
}

bool same_place(const Json& part, const CompareSeries& series) {
  return part.at("consumer") == series.consumer && part.at("size") == series.size &&
         part.at("touch") == std::string(name_of(series.touch));
}

void add_series(const Json& parts, std::vector<CompareSeries>& all) {
  for (const Json& part : parts) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const CompareSeries& one) { return same_place(part, one); });
    if (found != all.end()) add_values(part, *found);
  }
}

ring::Result<void> add_part(const std::string& text, std::uint32_t part, CompareReport& report) {
  const Json json = Json::parse(text, nullptr, false);
  const std::string attempt = fmt::format("read round {} of the comparison", part);
  if (json.is_discarded()) return ring::error(attempt, "its process has written no report");
  try {
    add_series(json.at("series"), report.series);
    add_series(json.at("one_pass"), report.limits);
  } catch (const Json::exception& wrong) {  // the library has no other way to say what is missing
    return ring::error(attempt, one_line(wrong.what()));
  }
  return {};
}

}  // namespace

std::vector<std::string> arguments_of_part(const CompareReport& report, std::uint32_t part) {
  const CompareOptions& options = report.options;
  std::vector<std::string> arguments{"compare",     "--quiet",
                                     "--format",    "json",
                                     "--part",      std::to_string(part),
                                     "--world",     std::string(name_of(options.world)),
                                     "--ring-size", std::to_string(options.ring_bytes)};
  arguments.emplace_back("--consumer");
  for (std::string& name : timed_consumers(report)) arguments.push_back(std::move(name));
  arguments.emplace_back("--size");
  for (const std::uint32_t size : options.sizes) arguments.push_back(std::to_string(size));
  arguments.emplace_back("--touch");
  for (const Touch touch : options.touches) arguments.emplace_back(name_of(touch));
  if (!options.plugin.empty()) arguments.insert(arguments.end(), {"--plugin", options.plugin});
  return arguments;
}

ring::Result<void> measure_in_parts(const CompareProgressSink& progress, CompareReport& report) {
  if (timed_consumers(report).empty()) return {};
  const std::size_t drains = report.planned / (report.options.rounds + 1);
  for (std::uint32_t part = 1; part <= report.options.rounds && ring::interrupted_by() == 0; ++part) {
    progress(
        {.done = drains * (part - 1), .total = drains * report.options.rounds, .now = fmt::format("round {}", part)});
    const auto output = output_of(report.options.command, arguments_of_part(report, part), "");
    if (!output) return tl::unexpected(output.error());
    if (ring::interrupted_by() != 0) return {};
    if (!WIFEXITED(output->status) || WEXITSTATUS(output->status) > 1) {
      return ring::error(fmt::format("measure round {}", part), how_it_ended(*output), "what it wrote above says why");
    }
    if (auto added = add_part(output->text, part, report); !added) return added;
  }
  return {};
}

}  // namespace ringside::harness
