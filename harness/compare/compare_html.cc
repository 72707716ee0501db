// SPDX-License-Identifier: Apache-2.0
//
// A comparison as one page that needs nothing else: for each touch and size a plot, the fastest at the top, a dot at
// the median and a line over the interval that holds it; then every figure.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/compare/compare_render.h"
#include "harness/compare/preset.h"
#include "ring/html.h"

namespace ringside::harness {

namespace {

using ring::html_escaped;

constexpr double label_width = 150;
constexpr double plot_width = 300;
constexpr double value_width = 66;
constexpr double row_height = 18;
constexpr double head_height = 34;

constexpr const char* style = R"(
.plots { display: flex; flex-wrap: wrap; gap: 1.2rem 2rem; }
figure { margin: 0; } figcaption { font-weight: 600; }
svg { max-width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 12px; } svg .faint { fill: var(--faint); }
svg .grid { stroke: var(--line); } svg .limit { stroke: var(--faint); stroke-dasharray: 4 3; }
svg .whisker { stroke: var(--faint); stroke-width: 2; } svg .dot { fill: var(--faint); }
svg .better .whisker { stroke: var(--good); } svg .better .dot { fill: var(--good); }
svg .worse .whisker { stroke: var(--bad); } svg .worse .dot { fill: var(--bad); }
svg .base .whisker { stroke: var(--seen); } svg .base .dot { fill: var(--seen); }
svg .base text { font-weight: 700; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
@media print { .plots { display: block; } figure { break-inside: avoid; } }
)";

double rate_of(double ns_a_record) { return 1e3 / ns_a_record; }

/// One row of a plot: rates in million records a second.
struct Row {
  const CompareSeries* series = nullptr;
  double rate = 0;
  double low = 0;
  double high = 0;
  const char* kind = "";  ///< base, better, worse, or none of these
};

const char* kind_of(const CompareReport& report, const CompareSeries& series) {
  if (series.consumer == report.base) return "base";
  const int surely = surely_against_base(report, series);
  return surely > 0 ? "better" : surely < 0 ? "worse" : "";
}

std::vector<Row> rows_of(const CompareReport& report, std::uint32_t size, Touch touch) {
  std::vector<Row> rows;
  for (const std::string& consumer : report.consumers) {
    const CompareSeries* series = report.find(consumer, size, touch);
    if (series == nullptr || !series->has_figure()) continue;
    const Estimate wall = estimate(series->wall_ns);
    rows.push_back({.series = series,
                    .rate = rate_of(wall.median),
                    .low = rate_of(wall.high),
                    .high = rate_of(wall.low),
                    .kind = kind_of(report, *series)});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.rate > b.rate; });
  return rows;
}

/// The axis: from 0 to a round number at or above `most`, in steps of 1, 2 or 5 times a power of ten.
struct Axis {
  double step = 1;
  double end = 1;

  double place(double rate) const { return label_width + plot_width * std::min(rate, end) / end; }
};

Axis axis_to(double most) {
  const double power = std::pow(10, std::floor(std::log10(most / 4)));
  Axis axis;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    axis.step = factor * power;
    if (most / axis.step <= 6) break;
  }
  axis.end = axis.step * std::ceil(most / axis.step);
  return axis;
}

std::string grid_of(const Axis& axis, double height) {
  std::string svg;
  for (double rate = 0; rate <= axis.end * 1.0001; rate += axis.step) {
    svg += fmt::format(R"(<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)"
                       R"(<text class="faint" x="{0:.1f}" y="{3}" text-anchor="middle">{4:g}</text>)",
                       axis.place(rate), head_height - 8, height, head_height - 14, rate);
  }
  return svg;
}

std::string row_svg(const Row& row, const Axis& axis, double middle) {
  return fmt::format(
      "<g class=\"{0}\"><title>{1}: {2:.3g} ({3:.3g} to {4:.3g}) million records a second</title>"
      "<text x=\"{5}\" y=\"{6:.1f}\" text-anchor=\"end\">{1}</text>"
      "<line class=\"whisker\" x1=\"{7:.1f}\" x2=\"{8:.1f}\" y1=\"{9:.1f}\" y2=\"{9:.1f}\"/>"
      "<circle class=\"dot\" cx=\"{10:.1f}\" cy=\"{9:.1f}\" r=\"4\"/>"
      "<text x=\"{11}\" y=\"{6:.1f}\">{2:.3g}</text></g>\n",
      row.kind, html_escaped(row.series->consumer), row.rate, row.low, row.high, label_width - 10, middle + 4,
      axis.place(row.low), axis.place(row.high), middle, axis.place(row.rate), label_width + plot_width + 14);
}

std::string limit_svg(const CompareReport& report, std::uint32_t size, Touch touch, const Axis& axis, double height) {
  const CompareSeries* limit = report.limit(size, touch);
  if (limit == nullptr || !limit->has_figure()) return {};
  const double rate = rate_of(estimate(limit->wall_ns).median);
  if (rate > axis.end) return {};
  return fmt::format(
      R"(<line class="limit" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"><title>one pass: {3:.3g}</title></line>)"
      "\n",
      axis.place(rate), head_height - 8, height, rate);
}

std::string plot_of(const CompareReport& report, std::uint32_t size, Touch touch) {
  const std::vector<Row> rows = rows_of(report, size, touch);
  if (rows.empty()) return {};
  double most = 0;
  for (const Row& row : rows) most = std::max(most, row.rate);
  const Axis axis = axis_to(most);
  const double height = head_height + row_height * static_cast<double>(rows.size()) + 6;
  const double width = label_width + plot_width + value_width;
  std::string svg = fmt::format(
      "<figure><figcaption>{0} B</figcaption><svg viewBox=\"0 0 {1} {2}\" width=\"{1}\" height=\"{2}\" role=\"img\" "
      "aria-label=\"million records a second by consumer, records of {0} bytes\">\n",
      size, width, height);
  svg += grid_of(axis, height) + limit_svg(report, size, touch, axis, height);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    svg += row_svg(rows[row], axis, head_height + row_height * (static_cast<double>(row) + 0.5));
  }
  return svg + "</svg></figure>\n";
}

std::string figure_row(const CompareReport& report, const CompareSeries& series) {
  if (!series.has_figure()) {
    return fmt::format(
        "<tr><td><code>{}</code></td><td class=\"number\">{}</td><td class=\"bad\" colspan=\"5\">{}</td></tr>\n",
        html_escaped(series.consumer), series.size, html_escaped(series.reason));
  }
  const Estimate wall = estimate(series.wall_ns);
  const auto ratio = ratio_to_base(report, series);
  const auto share = share_of_one_pass(report, series);
  const auto number = [](const std::string& text) { return fmt::format("<td class=\"number\">{}</td>", text); };
  return fmt::format("<tr><td><code>{}</code></td>", html_escaped(series.consumer)) +
         number(std::to_string(series.size)) + number(fmt::format("{:.3g}", rate_of(wall.median))) +
         number(fmt::format("{:.2f} ({:.2f} to {:.2f})", wall.median, wall.low, wall.high)) +
         number(fmt::format("{:.2f}", estimate(series.cpu_ns).median)) +
         number(ratio ? fmt::format("{:.2f} ({:.2f} to {:.2f})", ratio->median, ratio->low, ratio->high) : "–") +
         number(share ? fmt::format("{:.0f} %", 100 * *share) : "–") + "</tr>\n";
}

std::string figures_of(const CompareReport& report, Touch touch) {
  std::string text =
      "<table><thead><tr><th>consumer</th><th>bytes</th><th>M records/s</th><th>ns a record (interval)</th>"
      "<th>CPU ns</th><th>times the base (interval)</th><th>of one pass</th></tr></thead>\n";
  for (const CompareSeries& series : report.series) {
    if (series.touch == touch) text += figure_row(report, series);
  }
  return text + "</table>\n";
}

std::string section_of(const CompareReport& report, Touch touch) {
  std::string text =
      fmt::format("<section><h2>{}: {}</h2>\n<div class=\"plots\">\n", name_of(touch), what_is_done(touch));
  for (const std::uint32_t size : report.options.sizes) text += plot_of(report, size, touch);
  return text + "</div>\n<h3>Every figure</h3>\n" + figures_of(report, touch) + "</section>\n";
}

}  // namespace

std::string html_of(const CompareReport& report) {
  std::string text = ring::html_begin("ringside compare", style);
  text += fmt::format("<p>{}</p>\n", html_escaped(summary_of(report)));
  text += fmt::format("<p class=\"faint\">ringside {} on Linux {}, {}, {} CPUs; {}<br><code>{}</code></p>\n",
                      html_escaped(report.context.ringside_version), html_escaped(report.context.kernel_release),
                      html_escaped(report.context.cpu_model), report.context.cpus, html_escaped(report.context.date),
                      html_escaped(report.context.command_line));
  text +=
      "<p class=\"faint\">Blue: the base. Green and red: faster or slower than it, for sure. The line over a dot is "
      "the interval that holds the median 19 times of 20. Dashed: one pass over the same bytes, where it is on the "
      "axis.</p>\n";
  const std::string besides = preset_text(report, {}) + changes_text(report, {});
  if (!besides.empty()) text += fmt::format("<pre>{}</pre>\n", html_escaped(besides));
  for (const Touch touch : report.options.touches) text += section_of(report, touch);
  text += ring::html_end;
  return text;
}

}  // namespace ringside::harness
