// SPDX-License-Identifier: Apache-2.0
//
// The report on a terminal: the verdict, the story, and every step in global order with a column for each thread.
#include <fmt/format.h>

#include <algorithm>

#include "explore/report.h"

namespace ringside::explore {
namespace {

using ring::paint;
using ring::TextStyle;
using ring::Tone;

char upper(char letter) { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter; }

std::string marks_of(const ReportedFailure& failure, std::size_t index) {
  const ReportedStep& step = failure.steps[index];
  std::string marks = {};
  if (!step.missed.empty()) {
    std::vector<std::size_t> missed = step.missed;
    for (std::size_t& one : missed) ++one;
    marks = fmt::format("STALE: missed step{} {}", missed.size() == 1 ? "" : "s", fmt::join(missed, ", "));
  }
  if (step.asleep) marks += marks.empty() ? "SLEEPS" : ", SLEEPS";
  if (step.repeats) marks += marks.empty() ? "AGAIN" : ", AGAIN";
  std::string part{part_in(failure, index)};
  std::transform(part.begin(), part.end(), part.begin(), [](char letter) { return upper(letter); });
  if (!part.empty()) marks += (marks.empty() ? "" : ", ") + part;
  return marks;
}

struct Row {
  std::size_t number = 0;  ///< of the step, the first where they are several
  std::size_t thread = 0;
  std::string text = {};
  std::string marks = {};
  std::string source = {};
};

std::string table_of(const ProgramReport& report, const TextStyle& style) {
  const ReportedFailure& failure = *report.failure;
  std::vector<std::size_t> widths = {};
  for (const std::string& thread : report.threads) widths.push_back(thread.size());
  std::vector<Row> rows = {};
  for (std::size_t index = 0; index < failure.steps.size();) {
    const ReportedStep& step = failure.steps[index];
    const std::size_t own = own_steps(failure, index);
    if (own > 1) {
      rows.push_back({index + 1, step.thread, fmt::format("({} accesses of its own memory)", own), "", step.source});
    } else {
      rows.push_back({index + 1, step.thread, to_text(step), marks_of(failure, index), step.source});
    }
    index += std::max<std::size_t>(own, 1);
    widths[step.thread] = std::max(widths[step.thread], rows.back().text.size());
  }
  std::string head = "  step";
  for (std::size_t thread = 0; thread < widths.size(); ++thread) {
    head += fmt::format("  {:<{}}", report.threads[thread], widths[thread]);
  }
  std::string text = paint(style, Tone::strong, head + "  where") + '\n';
  for (const Row& row : rows) {
    text += fmt::format("  {:>4}", row.number);
    for (std::size_t thread = 0; thread < widths.size(); ++thread) {
      text += fmt::format("  {:<{}}", thread == row.thread ? row.text : "", widths[thread]);
    }
    text += "  " + paint(style, Tone::faint, row.source.empty() ? "?" : row.source);
    if (!row.marks.empty()) text += "  " + paint(style, Tone::bad, row.marks);
    text += '\n';
  }
  return text;
}

/// How the threads came to the steps that make the failure.
std::string calls_of(const ProgramReport& report, const TextStyle& style) {
  std::string text;
  for (const std::size_t index : called_steps(*report.failure)) {
    const ReportedStep& step = report.failure->steps[index];
    text += fmt::format("\n  {}\n", paint(style, Tone::strong,
                                          fmt::format("step {}, {}, in {}", index + 1, report.threads[step.thread],
                                                      step.function.empty() ? "?" : step.function)));
    for (const ReportedCall& call : step.callers) {
      text += fmt::format("    called by {} {}\n", call.function, paint(style, Tone::faint, "at " + call.source));
    }
  }
  return text;
}

}  // namespace

std::string text_of(const ProgramReport& report, const TextStyle& style) {
  const bool failed = report.verdict == Verdict::failed;
  std::string text = fmt::format("{}: {}\n", paint(style, Tone::strong, report.name),
                                 paint(style, failed ? Tone::bad : Tone::good, verdict_line(report)));
  if (!report.failure) return text;
  const ReportedFailure& failure = *report.failure;
  for (const std::string& paragraph : failure.story) text += '\n' + ring::wrapped(paragraph, 2, style.columns);
  if (!failure.steps.empty()) text += '\n' + table_of(report, style) + calls_of(report, style);
  if (!report.missing.empty()) text += fmt::format("\n  ({})\n", report.missing);
  if (failure.compared > 1) {
    text += fmt::format("\n  The simplest of {} failing executions{}.\n", failure.compared,
                        failure.compared_all ? "" : " (there may be more)");
  }
  if (!failure.replay.empty()) text += fmt::format("\n  {}\n", failure.replay);
  return text;
}

}  // namespace ringside::explore
