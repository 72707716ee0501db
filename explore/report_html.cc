// SPDX-License-Identifier: Apache-2.0
//
// The report as one page that needs nothing else, no scripts either: a lane for each thread, time runs down; an arrow
// goes from a store to the load that saw it, a dashed one to the load that missed it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "explore/report.h"

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
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #ffffff; --faint: #6b7280; --line: #d1d5db; --box: #f3f4f6;
  --bad: #b91c1c; --good: #15803d; --seen: #2563eb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e7eb; --paper: #111418; --faint: #9ca3af; --line: #374151;
  --box: #1f2630; --bad: #f87171; --good: #4ade80; --seen: #60a5fa; } }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
code, pre, svg text, td.what { font-family: ui-monospace, monospace; font-size: 13px; }
pre { background: var(--box); padding: .6rem .8rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
.bad { color: var(--bad); } .good { color: var(--good); } .faint { color: var(--faint); }
.scroll { overflow-x: auto; }
svg text { fill: var(--ink); } svg .faint { fill: var(--faint); }
svg .lane { stroke: var(--line); stroke-dasharray: 2 4; }
svg .box { fill: var(--box); stroke: var(--line); } svg .box.bad { stroke: var(--bad); stroke-width: 2; }
svg .seen { stroke: var(--seen); fill: none; } svg .missed { stroke: var(--bad); fill: none; stroke-dasharray: 5 4; }
svg .tip-seen { fill: var(--seen); } svg .tip-missed { fill: var(--bad); }
@media print { body { max-width: none; margin: 0; } svg { max-width: 100%; height: auto; }
  section { break-before: page; } section:first-of-type { break-before: auto; } tr { break-inside: avoid; } }
)";

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

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
                       middle, escaped(report.threads[thread]), height);
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
        left - 12, y + 4, index + 1, escaped(what), escaped(step.source), is_bad(failure, index) ? " bad" : "", x,
        y - box_height / 2, lane_width, box_height, x + 8, y + 4, escaped(shortened(what)));
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
                        index + 1, escaped(report.threads[step.thread]), escaped(to_text(step)),
                        notes_of(*report.failure, index), escaped(step.source.empty() ? "?" : step.source));
  }
  return text + "</table>\n";
}

std::string calls_of(const ProgramReport& report) {
  std::string text;
  for (const std::size_t index : called_steps(*report.failure)) {
    const ReportedStep& step = report.failure->steps[index];
    text += fmt::format("<p>Step {}, {}, in <code>{}</code></p>\n<ol>", index + 1, escaped(report.threads[step.thread]),
                        escaped(step.function));
    for (const ReportedCall& call : step.callers) {
      text += fmt::format(R"(<li>called by <code>{}</code> <span class="faint">at {}</span></li>)",
                          escaped(call.function), escaped(call.source));
    }
    text += "</ol>\n";
  }
  return text;
}

std::string failure_of(const ProgramReport& report) {
  const ReportedFailure& failure = *report.failure;
  std::string text = fmt::format("<section><h2>{}</h2>\n<p class=\"bad\">{}</p>\n", escaped(report.name),
                                 escaped(verdict_line(report)));
  for (const std::string& paragraph : failure.story) text += fmt::format("<p>{}</p>\n", escaped(paragraph));
  if (!failure.replay.empty()) {
    text += fmt::format("<p>To repeat it exactly:</p><pre>{}</pre>\n", escaped(failure.replay));
  }
  if (!failure.steps.empty()) {
    text += lanes_of(report);
    text += R"(<p class="faint">Time runs down. A solid arrow: a load saw that store; a dashed one: it missed it.</p>)";
    text += "\n<h3>Every step</h3>\n" + steps_of(report) + calls_of(report);
  }
  if (!report.missing.empty()) text += fmt::format("<p class=\"faint\">{}</p>\n", escaped(report.missing));
  return text + "</section>\n";
}

}  // namespace

std::string html_of(const std::vector<ProgramReport>& reports) {
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>ringside explore</title><style>{}</style></head><body>\n<h1>ringside explore</h1>\n<table>"
      "<thead><tr><th>program</th><th>verdict</th></tr></thead>\n",
      style);
  for (const ProgramReport& report : reports) {
    text += fmt::format("<tr><td><code>{}</code></td><td class=\"{}\">{}</td></tr>\n", escaped(report.name),
                        report.verdict == Verdict::failed ? "bad" : "good", escaped(verdict_line(report)));
  }
  text += "</table>\n";
  for (const ProgramReport& report : reports) {
    if (report.failure) text += failure_of(report);
  }
  return text + "</body></html>\n";
}

}  // namespace ringside::explore
