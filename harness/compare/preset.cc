// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/preset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace ringside::harness {

namespace {

constexpr const char* zero_copy_debate = "zero-copy-debate";
constexpr const char* copying = "read_into";
constexpr const char* viewing = "peek_consume";

/// One row of the table by which zero-copy views were proposed for cilium/ebpf: million records a second.
struct Published {
  std::uint32_t size;
  double copy;
  double view;
};
constexpr std::array published{Published{128, 45.63, 49.83}, Published{512, 25.03, 34.94}, Published{1024, 8.90, 34.94},
                               Published{2048, 4.57, 29.56}};

/// How many times as fast the view is, `1.40×`.
std::string times(double view, double copy) { return fmt::format("{:.2f}×", view / copy); }

/// The same of this run, round by round; `–` where there is no figure.
std::string times_here(const CompareReport& report, std::uint32_t size, Touch touch) {
  const CompareSeries* copy = report.find(copying, size, touch);
  const CompareSeries* view = report.find(viewing, size, touch);
  const bool both = copy != nullptr && view != nullptr && copy->has_figure() && view->has_figure() &&
                    copy->wall_ns.size() == view->wall_ns.size();
  return both ? fmt::format("{:.2f}×", estimate_of_ratios(copy->wall_ns, view->wall_ns).median) : "–";
}

Grid grid_of(const CompareReport& report) {
  Grid grid{{"", "copy", "view", "view/copy", "first word", "every word"}, {}, false, {}};
  grid.spans = {{1, "published, M/s"}, {4, "here, view/copy"}};
  for (const Published& row : published) {
    grid.rows.push_back({{fmt::format("{} B", row.size)},
                         {fmt::format("{:.2f}", row.copy)},
                         {fmt::format("{:.2f}", row.view)},
                         {times(row.view, row.copy)},
                         {times_here(report, row.size, Touch::line)},
                         {times_here(report, row.size, Touch::all)}});
  }
  return grid;
}

constexpr const char* what_it_hides =
    "The view never touches a payload beyond its first 8 bytes: from one cache line on it is a walk from header to "
    "header beside a walk and a copy. An application that reads every byte pays for that in either way, and a view "
    "gains less: see the column \"every word\".\n"
    "The ring is full and its producer has ended: nobody contends for the positions, nobody is woken.\n"
    "Published was one drain of each, the copy always first, without a spread.\n"
    "Records are given back one by one in both: what a batch saves is not in it (batch_release), nor what asking for "
    "headers ahead does (prefetch_view).\n";

}  // namespace

std::vector<std::string> preset_names() { return {zero_copy_debate}; }

std::optional<CompareOptions> preset_options(std::string_view name) {
  if (name != zero_copy_debate) return std::nullopt;
  CompareOptions options;
  options.preset = zero_copy_debate;
  options.consumers = {copying, viewing, "libbpf", "batch_release", "prefetch_view"};
  options.sizes.clear();
  for (const Published& row : published) options.sizes.push_back(row.size);
  options.touches = {Touch::line, Touch::all};
  options.ring_bytes = 1u << 30;
  options.base = copying;
  return options;
}

std::string preset_text(const CompareReport& report, const TextStyle& style) {
  if (report.options.preset != zero_copy_debate) return {};
  std::string text =
      "\nThe zero-copy debate: a view (peek and consume) beside a copy into a buffer that is used again\n";
  text += to_text(grid_of(report), style);
  text += "\nWhat such a table hides\n";
  std::istringstream sentences(what_it_hides);
  for (std::string sentence; std::getline(sentences, sentence);) text += wrapped(sentence, 2, style.columns);
  return text;
}

}  // namespace ringside::harness
