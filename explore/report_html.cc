// SPDX-License-Identifier: Apache-2.0
//
// The report as one page that needs nothing else, no scripts either: a lane for each thread, time runs down; an arrow
// goes from a store to the load that saw it, a dashed one to the load that missed it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "explore/report.h"
#include "ring/html.h"

namespace ringside::explore {
namespace {

constexpr std::size_t lane_width = 376;  ///< room for most_letters and a margin on either side
constexpr std::size_t lane_gap = 60;
constexpr std::size_t row_height = 30;
constexpr std::size_t box_height = 24;
constexpr std::size_t top = 40;
constexpr std::size_t left = 44;
constexpr std::size_t most_letters = 44;  ///< that a box holds

constexpr const char* style = R"(
.scroll { overflow-x: auto; }
svg text { fill: var(--ink); } svg .faint { fill: var(--faint); }
svg .lane { stroke: var(--line); stroke-dasharray: 2 4; }
svg .box { fill: var(--box); stroke: var(--line); } svg .box.bad { stroke: var(--bad); stroke-width: 2; }
svg .seen { stroke: var(--seen); fill: none; } svg .missed { stroke: var(--bad); fill: none; stroke-dasharray: 5 4; }
svg .tip-seen { fill: var(--seen); } svg .tip-missed { fill: var(--bad); }
)";

std::string shortened(const std::string& text) {
  return text.size() <= most_letters ? text : text.substr(0, most_letters - 3) + "...";
}

bool is_bad(const ReportedFailure& failure, std::size_t index) {
  const ReportedStep& step = failure.steps[index];
  return !part_in(failure, index).empty() || step.asleep || step.repeats || !step.missed.empty();
}

std::size_t lane_left(std::size_t thread) { return left + thread * (lane_width + lane_gap); }
std::size_t row_middle(std::size_t row) { return top + row * row_height + row_height / 2; }

/// By step its row: a thread's accesses of its own memory, one after the other, share one.
std::vector<std::size_t> rows_of(const ReportedFailure& failure) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; rows.size() < failure.steps.size(); ++row) {
    rows.resize(rows.size() + std::max<std::size_t>(own_steps(failure, rows.size()), 1), row);
  }
  return rows;
}

/// From the side of one step's box to that of another; within a lane it goes round on the right.
std::string arrow(const ReportedFailure& failure, const std::vector<std::size_t>& rows, std::size_t from,
                  std::size_t to, const char* kind) {
  const std::size_t a = failure.steps[from].thread;
  const std::size_t b = failure.steps[to].thread;
  const std::size_t x1 = lane_left(a) + (a <= b ? lane_width : 0);
  const std::size_t x2 = lane_left(b) + (a < b ? 0 : lane_width);
  const std::size_t y1 = row_middle(rows[from]);
  const std::size_t y2 = row_middle(rows[to]);
  const auto bent = [](std::size_t x, bool right) { return right ? x + 30 : x - 30; };
  return fmt::format(R"svg(<path class="{}" d="M{},{} C{},{} {},{} {},{}" marker-end="url(#{})"/>)svg"
                     "\n",
                     kind, x1, y1, bent(x1, a <= b), y1, bent(x2, a >= b), y2, x2, y2, kind);
}

std::string lanes_of(const ProgramReport& report) {
  const ReportedFailure& failure = *report.failure;
  const std::size_t width = lane_left(report.threads.size());
  const std::vector<std::size_t> rows = rows_of(failure);
  const std::size_t height = top + (rows.back() + 1) * row_height + 10;
  std::string svg = fmt::format(R"(<div class="scroll"><svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img")"
                                " aria-label=\"what each thread did, in order\">\n<defs>",
                                width, height);
  for (const char* const kind : {"seen", "missed"}) {
    svg += fmt::format(R"(<marker id="{0}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" )"
                       R"(orient="auto"><path class="tip-{0}" d="M0,0 L8,4 L0,8 z"/></marker>)",
                       kind);
  }
  svg += "</defs>\n";
  for (std::size_t thread = 0; thread < report.threads.size(); ++thread) {
    const std::size_t middle = lane_left(thread) + lane_width / 2;
    svg += fmt::format(R"(<text x="{0}" y="20" text-anchor="middle" font-weight="bold">{1}</text>)"
                       R"(<line class="lane" x1="{0}" x2="{0}" y1="28" y2="{2}"/>)"
                       "\n",
                       middle, ring::html_escaped(report.threads[thread]), height);
  }
  for (std::size_t index = 0; index < failure.steps.size(); ++index) {
    if (index > 0 && rows[index] == rows[index - 1]) continue;
    const ReportedStep& step = failure.steps[index];
    const std::size_t x = lane_left(step.thread);
    const std::size_t y = row_middle(rows[index]);
    const std::size_t own = own_steps(failure, index);
    const std::string what = own > 1 ? fmt::format("{} accesses of its own memory", own) : to_text(step);
    svg += fmt::format(
        R"(<text class="faint" x="{}" y="{}" text-anchor="end">{}</text><g><title>{} {}</title>)"
        R"(<rect class="box{}" x="{}" y="{}" width="{}" height="{}" rx="4"/><text x="{}" y="{}">{}</text></g>)"
        "\n",
        left - 12, y + 4, index + 1, ring::html_escaped(what), ring::html_escaped(step.source),
        is_bad(failure, index) ? " bad" : "", x, y - box_height / 2, lane_width, box_height, x + 8, y + 4,
        ring::html_escaped(shortened(what)));
  }
  for (std::size_t index = 0; index < failure.steps.size(); ++index) {
    const ReportedStep& step = failure.steps[index];
    const bool elsewhere = step.reads_from && failure.steps[*step.reads_from].thread != step.thread;
    if (elsewhere) svg += arrow(failure, rows, *step.reads_from, index, "seen");
    if (!step.missed.empty()) svg += arrow(failure, rows, step.missed.back(), index, "missed");
  }
  return svg + "</svg></div>\n";
}

std::string notes_of(const ReportedFailure& failure, std::size_t index) {
  const ReportedStep& step = failure.steps[index];
  std::vector<std::string> notes;
  if (!step.missed.empty()) {
    std::vector<std::size_t> missed = step.missed;
    for (std::size_t& one : missed) ++one;
    notes.push_back(fmt::format("stale: missed step {}", fmt::join(missed, ", ")));
  }
  if (step.asleep) notes.emplace_back(step.timed ? "sleeps until its timeout" : "sleeps for ever");
  if (step.repeats) notes.emplace_back("again and again");
  if (const std::string_view part = part_in(failure, index); !part.empty()) notes.emplace_back(part);
  return fmt::format("{}", fmt::join(notes, "; "));
}

std::string steps_of(const ProgramReport& report) {
  std::string text =
      "<table><thead><tr><th>step</th><th>thread</th><th>what</th><th></th><th>where</th></tr></thead>\n";
  for (std::size_t index = 0; index < report.failure->steps.size(); ++index) {
    const ReportedStep& step = report.failure->steps[index];
    text += fmt::format(R"(<tr><td>{}</td><td>{}</td><td class="what">{}</td><td class="bad">{}</td>)"
                        R"(<td class="what faint">{}</td></tr>)"
                        "\n",
                        index + 1, ring::html_escaped(report.threads[step.thread]), ring::html_escaped(to_text(step)),
                        notes_of(*report.failure, index), ring::html_escaped(step.source.empty() ? "?" : step.source));
  }
  return text + "</table>\n";
}

std::string calls_of(const ProgramReport& report) {
  std::string text;
  for (const std::size_t index : called_steps(*report.failure)) {
    const ReportedStep& step = report.failure->steps[index];
    text += fmt::format("<p>Step {}, {}, in <code>{}</code></p>\n<ol>", index + 1,
                        ring::html_escaped(report.threads[step.thread]), ring::html_escaped(step.function));
    for (const ReportedCall& call : step.callers) {
      text += fmt::format(R"(<li>called by <code>{}</code> <span class="faint">at {}</span></li>)",
                          ring::html_escaped(call.function), ring::html_escaped(call.source));
    }
    text += "</ol>\n";
  }
  return text;
}

std::string failure_of(const ProgramReport& report) {
  const ReportedFailure& failure = *report.failure;
  std::string text = fmt::format("<section><h2>{}</h2>\n<p class=\"bad\">{}</p>\n", ring::html_escaped(report.name),
                                 ring::html_escaped(verdict_line(report)));
  for (const std::string& paragraph : failure.story) text += fmt::format("<p>{}</p>\n", ring::html_escaped(paragraph));
  if (!failure.replay.empty()) {
    text += fmt::format("<p>To repeat it exactly:</p><pre>{}</pre>\n", ring::html_escaped(failure.replay));
  }
  if (!failure.steps.empty()) {
    text += lanes_of(report);
    text += R"(<p class="faint">Time runs down. A solid arrow: a load saw that store; a dashed one: it missed it.</p>)";
    text += "\n<h3>Every step</h3>\n" + steps_of(report) + calls_of(report);
  }
  if (!report.missing.empty()) text += fmt::format("<p class=\"faint\">{}</p>\n", ring::html_escaped(report.missing));
  return text + "</section>\n";
}

}  // namespace

std::string html_of(const std::vector<ProgramReport>& reports) {
  std::string text =
      ring::html_begin("ringside explore", style) + "<table><thead><tr><th>program</th><th>verdict</th></tr></thead>\n";
  for (const ProgramReport& report : reports) {
    text += fmt::format("<tr><td><code>{}</code></td><td class=\"{}\">{}</td></tr>\n", ring::html_escaped(report.name),
                        report.verdict == Verdict::failed ? "bad" : "good", ring::html_escaped(verdict_line(report)));
  }
  text += "</table>\n";
  for (const ProgramReport& report : reports) {
    if (report.failure) text += failure_of(report);
  }
  text += ring::html_end;
  return text;
}

}  // namespace ringside::explore
