// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/compare/rank_test.h"
#include "harness/text_file.h"

namespace ringside::harness {

namespace {

using Json = nlohmann::json;

/// Of all changes together at most one in a hundred comparisons names one that is none.
constexpr double level = 0.01;

std::vector<double> multiples_of(const std::vector<double>& times, const std::vector<double>& one_pass) {
  std::vector<double> multiples;
  for (std::size_t round = 0; round < std::min(times.size(), one_pass.size()); ++round) {
    multiples.push_back(times[round] / one_pass[round]);
  }
  return multiples;
}

std::vector<double> rounds_of(const Json& series) {
  if (!series.contains("wall_ns_a_record")) return {};
  return series.at("wall_ns_a_record").at("rounds").get<std::vector<double>>();
}

std::string setting_of(const std::string& world, std::uint64_t ring_bytes) {
  return fmt::format("rings of {} bytes in the {} world", ring_bytes, world);
}
std::string machine_of(const std::string& kernel, const std::string& cpu) {
  return fmt::format("{} on {}", kernel, cpu);
}

Baseline baseline_of(const Json& json) {
  Baseline baseline;
  const Json& context = json.at("context");
  baseline.machine =
      machine_of(context.at("kernel_release").get<std::string>(), context.at("cpu_model").get<std::string>());
  baseline.setting = setting_of(json.at("world").get<std::string>(), json.at("ring_bytes").get<std::uint64_t>());
  std::map<std::pair<std::uint32_t, std::string>, std::vector<double>> one_pass;
  const auto place = [](const Json& series) {
    return std::pair{series.at("size").get<std::uint32_t>(), series.at("touch").get<std::string>()};
  };
  for (const Json& series : json.at("one_pass")) one_pass[place(series)] = rounds_of(series);
  for (const Json& series : json.at("series")) {
    const auto [size, touch] = place(series);
    auto multiples = multiples_of(rounds_of(series), one_pass[{size, touch}]);
    if (multiples.empty()) continue;
    baseline.multiples[{series.at("consumer").get<std::string>(), size, touch}] = std::move(multiples);
  }
  return baseline;
}

double median_of(const std::vector<double>& values) { return estimate(values).median; }

}  // namespace

ring::Result<Baseline> read_baseline(const std::string& path) {
  const std::string attempt = fmt::format("read the baseline \"{}\"", one_line(path));
  const char* const remedy = "name a file that `ringside compare --format json --output FILE` wrote";
  const auto text = read_text_file(path, "baseline", remedy);
  if (!text) return tl::unexpected(text.error());
  const Json json = Json::parse(*text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || json.value("schema", "") != "ringside-compare/1") {
    return ring::error(attempt, "it is no report of a comparison (ringside-compare/1)", remedy);
  }
  try {
    Baseline baseline = baseline_of(json);
    baseline.path = path;
    return baseline;
  } catch (const Json::exception& wrong) {  // the library has no other way to say what is missing
    return ring::error(attempt, one_line(wrong.what()), remedy);
  }
}

ring::Result<void> hold_against(const Baseline& baseline, double least, CompareReport& report) {
  const std::string attempt = fmt::format("hold against the baseline \"{}\"", one_line(baseline.path));
  const std::string setting = setting_of(std::string(name_of(report.options.world)), report.options.ring_bytes);
  if (setting != baseline.setting) {
    return ring::error(attempt, fmt::format("it has {}, this run {}", baseline.setting, setting),
                       "compare on the same rings");
  }
  std::vector<double> probabilities;
  for (const CompareSeries& series : report.series) {
    const auto then = baseline.multiples.find({series.consumer, series.size, std::string(name_of(series.touch))});
    const CompareSeries* limit = report.limit(series.size, series.touch);
    if (then == baseline.multiples.end() || limit == nullptr) continue;
    const auto now = multiples_of(series.wall_ns, limit->wall_ns);
    if (now.empty()) continue;
    probabilities.push_back(rank_test(now, then->second));
    report.changes.push_back({.consumer = series.consumer,
                              .size = series.size,
                              .touch = series.touch,
                              .times_as_long = median_of(now) / median_of(then->second),
                              .probability = probabilities.back()});
  }
  if (probabilities.empty()) {
    return ring::error(attempt, "it has no consumer on records of a size in common with this run",
                       "compare the same consumers, sizes and touches");
  }
  const std::vector<bool> stands = stand_together(probabilities, level);
  for (std::size_t index = 0; index < stands.size(); ++index) {
    Change& change = report.changes[index];
    change.stands = stands[index] && (change.times_as_long > 1 + least || change.times_as_long < 1 / (1 + least));
  }
  report.baseline = baseline.path;
  const std::string machine = machine_of(report.context.kernel_release, report.context.cpu_model);
  if (machine != baseline.machine) {
    report.baseline_remark =
        fmt::format("the baseline is of another machine: {}; this is {}", baseline.machine, machine);
  }
  return {};
}

}  // namespace ringside::harness
