// SPDX-License-Identifier: Apache-2.0
//
// A comparison for people, for programs, and for whoever plots it elsewhere.
#include <fmt/format.h>

#include <algorithm>

#include "harness/compare/compare_render.h"
#include "harness/compare/preset.h"
#include "harness/report_formats.h"
#include "harness/run_result_json.h"

namespace ringside::harness {

namespace {

using Json = nlohmann::ordered_json;

constexpr double ns_a_second = 1e9;

/// Million records a second, with three digits that count.
std::string rate_text(double ns_a_record) {
  const double rate = ns_a_second / ns_a_record / 1e6;
  return rate >= 100  ? fmt::format("{:.0f}", rate)
         : rate >= 10 ? fmt::format("{:.1f}", rate)
                      : fmt::format("{:.2f}", rate);
}

/// Half the width of the interval as a share of the median.
std::string spread_text(const Estimate& estimate) {
  return fmt::format("±{:.0f}%", 50 * (estimate.high - estimate.low) / estimate.median);
}

std::string ring_text(std::uint64_t bytes) {
  if (bytes >= 1u << 30) return fmt::format("{} GiB", bytes >> 30);
  return bytes >= 1u << 20 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

std::string change_text(const Change& change) {
  const bool slower = change.times_as_long > 1;
  return fmt::format("{} at {} B, {}: {:.2f} times as {} (by chance once in {:.0f} such comparisons)", change.consumer,
                     change.size, name_of(change.touch), slower ? change.times_as_long : 1 / change.times_as_long,
                     slower ? "slow" : "fast", std::min(1e15, 1 / std::max(change.probability, 1e-15)));
}

}  // namespace

std::optional<Estimate> ratio_to_base(const CompareReport& report, const CompareSeries& series) {
  const CompareSeries* base = report.find(report.base, series.size, series.touch);
  const bool both = base != nullptr && base->has_figure() && base->wall_ns.size() == series.wall_ns.size();
  if (!both || !series.has_figure()) return std::nullopt;
  return estimate_of_ratios(base->wall_ns, series.wall_ns);
}

int surely_against_base(const CompareReport& report, const CompareSeries& series) {
  constexpr std::size_t fewest_rounds = 6;
  const auto ratio = ratio_to_base(report, series);
  if (!ratio || series.wall_ns.size() < fewest_rounds) return 0;
  return ratio->low > 1 ? 1 : ratio->high < 1 ? -1 : 0;
}

std::optional<double> share_of_one_pass(const CompareReport& report, const CompareSeries& series) {
  const CompareSeries* limit = report.limit(series.size, series.touch);
  if (limit == nullptr || !series.has_figure() || limit->wall_ns.size() != series.wall_ns.size()) return std::nullopt;
  return estimate_of_ratios(limit->wall_ns, series.wall_ns).median;
}

const char* what_is_done(Touch touch) {
  switch (touch) {
    case Touch::none:
      return "nothing of the payload is read";
    case Touch::line:
      return "the first word of each record is read";
    case Touch::all:
      return "every word of each record is read";
    case Touch::copy:
      return "each record is copied by the application";
  }
  return "?";
}

std::string summary_of(const CompareReport& report) {
  const std::string method = report.method.empty() ? "" : fmt::format(", {}", fmt::join(report.method, ", "));
  return fmt::format(
      "Million records a second out of a full BPF ring of {} ({} world), in one thread{}; medians of {} rounds, ± half "
      "of "
      "the interval that holds the median 19 times of 20, and how many times as fast as {}.",
      ring_text(report.options.ring_bytes), name_of(report.options.world), method, report.options.rounds, report.base);
}

std::string changes_text(const CompareReport& report, const TextStyle& style) {
  if (report.baseline.empty()) return {};
  std::string text = fmt::format("\nAgainst {}\n", one_line(report.baseline));
  if (!report.baseline_remark.empty()) text += wrapped(report.baseline_remark, 2, style.columns);
  std::vector<Change> standing;
  std::copy_if(report.changes.begin(), report.changes.end(), std::back_inserter(standing),
               [](const Change& change) { return change.stands; });
  std::sort(standing.begin(), standing.end(),
            [](const Change& a, const Change& b) { return a.times_as_long > b.times_as_long; });
  for (const Change& change : standing) text += wrapped(change_text(change), 2, style.columns);
  if (standing.empty())
    text += fmt::format("  no change in {} is sure and large enough\n", counted(report.changes.size(), "figure"));
  return text;
}

namespace {

/// `17.4 ±2% 1.00×`: the rate, its spread, and by how much the base takes longer in the same rounds.
GridCell figure_cell(const CompareReport& report, const CompareSeries* series) {
  if (series == nullptr || (series->reason.empty() && series->wall_ns.empty())) return {"–", Tone::faint};
  if (!series->has_figure()) return {"no figure", Tone::bad};
  const Estimate wall = estimate(series->wall_ns);
  std::string text = fmt::format("{} {}", rate_text(wall.median), spread_text(wall));
  const auto ratio = ratio_to_base(report, *series);
  if (!ratio) return {text};
  text += fmt::format(" {:.2f}×", ratio->median);
  // Only what the interval of the ratio says is better or worse is called that.
  const int surely = surely_against_base(report, *series);
  return {std::move(text), surely > 0 ? Tone::good : surely < 0 ? Tone::bad : Tone::plain};
}

Grid grid_of(const CompareReport& report, Touch touch) {
  Grid grid{{""}, {}, false, {}};
  for (const std::uint32_t size : report.options.sizes) grid.header.push_back(fmt::format("{} B", size));
  for (const std::string& consumer : report.consumers) {
    std::vector<GridCell> row{{consumer}};
    for (const std::uint32_t size : report.options.sizes) {
      row.push_back(figure_cell(report, report.find(consumer, size, touch)));
    }
    grid.rows.push_back(std::move(row));
  }
  std::vector<GridCell> limit{{"one pass", Tone::faint}};
  for (const std::uint32_t size : report.options.sizes) {
    GridCell cell = figure_cell(report, report.limit(size, touch));
    cell.tone = Tone::faint;
    limit.push_back(std::move(cell));
  }
  grid.rows.push_back(std::move(limit));
  return grid;
}

std::string reasons_text(const CompareReport& report, const TextStyle& style) {
  std::vector<std::string> told;
  std::string text;
  for (const CompareSeries& series : report.series) {
    if (series.reason.empty()) continue;
    std::string line = fmt::format("{}: {}", series.consumer, series.reason);
    if (std::find(told.begin(), told.end(), line) != told.end()) continue;
    text += wrapped(line, 2, style.columns);
    told.push_back(std::move(line));
  }
  return text.empty() ? text : "\nNo figure\n" + text;
}

std::string table_of(const CompareReport& report, const TextStyle& style) {
  std::string text = heading(report.context, style);
  text += wrapped(summary_of(report), 0, style.columns);
  for (const Touch touch : report.options.touches) {
    text += fmt::format("\n{}: {}\n", name_of(touch), what_is_done(touch));
    text += to_text(grid_of(report, touch), style);
  }
  text += preset_text(report, style);
  text += reasons_text(report, style);
  text += changes_text(report, style);
  text += '\n' + wrapped(
                     "one pass: every byte that records lie in is read once, in order. Who reads every word cannot be "
                     "much faster; who reads less, can.",
                     0, style.columns);
  return text + '\n' + seed_lines(report.context, style) + verdict_line(report, style) + '\n';
}

Json estimate_json(const std::vector<double>& values) {
  const Estimate found = estimate(values);
  return {{"median", found.median}, {"low", found.low}, {"high", found.high}, {"rounds", values}};
}

Json series_json(const CompareReport& report, const CompareSeries& series) {
  Json json;
  json["consumer"] = series.consumer;
  json["size"] = series.size;
  json["touch"] = name_of(series.touch);
  if (!series.has_figure()) {
    json["reason"] = series.reason;
    return json;
  }
  json["wall_ns_a_record"] = estimate_json(series.wall_ns);
  json["cpu_ns_a_record"] = estimate_json(series.cpu_ns);
  if (const auto share = share_of_one_pass(report, series)) json["share_of_one_pass"] = *share;
  return json;
}

std::string json_of(const CompareReport& report) {
  Json json = json_document("ringside-compare/1", report);
  json["world"] = name_of(report.options.world);
  json["ring_bytes"] = report.options.ring_bytes;
  json["rounds"] = report.options.rounds;
  json["base"] = report.base;
  json["method"] = report.method;
  json["preset"] = report.options.preset;
  json["series"] = Json::array();
  for (const CompareSeries& series : report.series) json["series"].push_back(series_json(report, series));
  json["one_pass"] = Json::array();
  for (const CompareSeries& limit : report.limits) json["one_pass"].push_back(series_json(report, limit));
  if (report.baseline.empty()) return dump(json, 2) + '\n';
  json["baseline"] = {{"file", report.baseline}, {"remark", report.baseline_remark}, {"changes", Json::array()}};
  for (const Change& change : report.changes) {
    json["baseline"]["changes"].push_back({{"consumer", change.consumer},
                                           {"size", change.size},
                                           {"touch", name_of(change.touch)},
                                           {"times_as_long", change.times_as_long},
                                           {"probability", change.probability},
                                           {"stands", change.stands}});
  }
  return dump(json, 2) + '\n';
}

std::string csv_of(const CompareReport& report) {
  std::string text = "consumer,size_bytes,touch,round,wall_ns_a_record,cpu_ns_a_record\n";
  const auto add = [&text](const CompareSeries& series) {
    for (std::size_t round = 0; round < series.wall_ns.size(); ++round) {
      text += fmt::format("{},{},{},{},{:.4f},{:.4f}\n", series.consumer, series.size, name_of(series.touch), round + 1,
                          series.wall_ns[round], series.cpu_ns[round]);
    }
  };
  for (const CompareSeries& series : report.series) add(series);
  for (const CompareSeries& limit : report.limits) add(limit);
  return text;
}

}  // namespace

std::string render(const CompareReport& report, CompareFormat format, const TextStyle& style) {
  if (format == CompareFormat::html) return html_of(report);
  if (format == CompareFormat::json) return json_of(report);
  return format == CompareFormat::csv ? csv_of(report) : table_of(report, style);
}

std::string verdict_line(const CompareReport& report, const TextStyle& style) {
  std::size_t figures = 0;
  for (const CompareSeries& series : report.series) figures += series.has_figure() ? 1u : 0u;
  const std::vector<std::string> without = report.convicted();
  std::string text = fmt::format("{} of {} consumers", counted(figures, "figure"), report.consumers.size());
  if (!without.empty()) {
    text += paint(style, Tone::bad, fmt::format("; no figure for {}", fmt::join(without, ", ")));
  }
  if (const std::size_t slower = report.slower(); slower > 0) {
    text += paint(style, Tone::bad, fmt::format("; slower than the baseline: {}", counted(slower, "figure")));
  }
  if (report.interrupted_by != 0) text += "; interrupted";
  return text + "; " + duration_text(report.duration_seconds);
}

}  // namespace ringside::harness
