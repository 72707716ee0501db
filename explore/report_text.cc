// SPDX-License-Identifier: Apache-2.0
//
// The report on a terminal: the verdict, the story, and every step in global order with a column for each thread.
#include <fmt/format.h>

#include <algorithm>

#include "explore/report.h"

namespace ringside::explore {
namespace {

constexpr std::string_view strong = "1";
constexpr std::string_view good = "32";
constexpr std::string_view bad = "31";
constexpr std::string_view faint = "2";

std::string paint(const TextLook& look, std::string_view code, const std::string& text) {
  return look.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

/// Breaks at spaces; each line begins with `indent` spaces.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t columns) {
  std::string all = {};
  std::string line(indent, ' ');
  bool empty = true;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!empty && line.size() + 1 + word.size() > columns) {
      all += line + '\n';
      line.assign(indent, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
    at = end + 1;
  }
  return all + line + '\n';
}

std::string marks_of(const ReportedFailure& failure, std::size_t index) {
  const ReportedStep& step = failure.steps[index];
  std::string marks = {};
  if (!step.missed.empty()) {
    std::vector<std::size_t> missed = step.missed;
    for (std::size_t& one : missed) ++one;
    marks = fmt::format("STALE: missed step{} {}", missed.size() == 1 ? "" : "s", fmt::join(missed, ", "));
  }
  if (step.asleep) marks += marks.empty() ? "SLEEPS" : ", SLEEPS";
  const bool races = failure.rival && (index == *failure.rival || index + 1 == failure.steps.size());
  if (races) marks += marks.empty() ? "RACES" : ", RACES";
  return marks;
}

struct Row {
  std::size_t thread = 0;
  std::string text = {};
  std::string marks = {};
  std::string source = {};
};

std::string table_of(const ProgramReport& report, const TextLook& look) {
  const ReportedFailure& failure = *report.failure;
  std::vector<std::size_t> widths = {};
  for (const std::string& thread : report.threads) widths.push_back(thread.size());
  std::vector<Row> rows = {};
  for (std::size_t index = 0; index < failure.steps.size(); ++index) {
    const ReportedStep& step = failure.steps[index];
    rows.push_back({step.thread, to_text(step), marks_of(failure, index), step.source});
    widths[step.thread] = std::max(widths[step.thread], rows.back().text.size());
  }
  std::string head = "  step";
  for (std::size_t thread = 0; thread < widths.size(); ++thread) {
    head += fmt::format("  {:<{}}", report.threads[thread], widths[thread]);
  }
  std::string text = paint(look, strong, head + "  where") + '\n';
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const Row& row = rows[index];
    text += fmt::format("  {:>4}", index + 1);
    for (std::size_t thread = 0; thread < widths.size(); ++thread) {
      text += fmt::format("  {:<{}}", thread == row.thread ? row.text : "", widths[thread]);
    }
    text += "  " + paint(look, faint, row.source.empty() ? "?" : row.source);
    if (!row.marks.empty()) text += "  " + paint(look, bad, row.marks);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string text_of(const ProgramReport& report, const TextLook& look) {
  const bool failed = report.verdict == Verdict::failed;
  std::string text =
      fmt::format("{}: {}\n", paint(look, strong, report.name), paint(look, failed ? bad : good, verdict_line(report)));
  if (!report.failure) return text;
  const ReportedFailure& failure = *report.failure;
  for (const std::string& paragraph : failure.story) text += '\n' + wrapped(paragraph, 2, look.columns);
  if (!failure.steps.empty()) text += '\n' + table_of(report, look);
  if (!report.missing.empty()) text += fmt::format("\n  ({})\n", report.missing);
  if (failure.compared > 1) {
    text += fmt::format("\n  The simplest of {} failing executions{}.\n", failure.compared,
                        failure.compared_all ? "" : " (there may be more)");
  }
  if (!failure.replay.empty()) text += fmt::format("\n  {}\n", failure.replay);
  return text;
}

}  // namespace ringside::explore
