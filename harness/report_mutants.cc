// SPDX-License-Identifier: Apache-2.0
//
// The table of a trial of the mutants: a row a mutant, by kind of ring, a column a world. The harness is good when
// every mutant is convicted, so here a defect found is the good news.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/report_formats.h"

namespace ringside::harness {
namespace {

struct RowKey {
  std::string mutant;
  ring::RingKind ring;
  ring::DefectKind own;

  bool holds(const MutantResult& result) const {
    return result.mutant == mutant && result.run.spec.ring == ring && result.own == own;
  }
};

std::vector<RowKey> rows_of(const MutantReport& report) {
  std::vector<RowKey> rows;
  for (const MutantResult& result : report.mutants) {
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const RowKey& row) { return row.holds(result); });
    if (!known) rows.push_back({result.mutant, result.run.spec.ring, result.own});
  }
  return rows;
}

std::vector<WorldKind> worlds_of(const MutantReport& report) {
  std::vector<WorldKind> worlds;
  for (const WorldKind world : {WorldKind::model, WorldKind::kernel, WorldKind::explored}) {
    const bool used = std::any_of(report.mutants.begin(), report.mutants.end(),
                                  [world](const MutantResult& result) { return result.run.spec.world == world; });
    if (used) worlds.push_back(world);
  }
  return worlds;
}

std::string kinds_of(const MutantResult& result) {
  std::vector<std::string> names;
  for (const ring::Defect& defect : result.run.verdict.defects) names.emplace_back(ring::name_of(defect.kind));
  return joined(names);
}

const MutantResult* result_at(const MutantReport& report, const RowKey& row, WorldKind world) {
  const auto found = std::find_if(report.mutants.begin(), report.mutants.end(), [&](const MutantResult& result) {
    return row.holds(result) && result.run.spec.world == world;
  });
  return found == report.mutants.end() ? nullptr : &*found;
}

/// The number of a convicted one stands right in a column of that width.
GridCell cell_of(const MutantResult& result, std::size_t width) {
  switch (result.run.outcome) {
    case Outcome::skipped:
      return {"skip", Tone::warning};
    case Outcome::fault:
      return {"FAULT", Tone::bad};
    case Outcome::clean:
      return {"✗ acquitted", Tone::bad};
    case Outcome::defects:
      break;
  }
  if (!result.convicted()) return {"✗ " + kinds_of(result), Tone::bad};
  const std::string named = result.expected == result.own ? "" : fmt::format(" {}", ring::name_of(result.expected));
  return {fmt::format("✓{} {:>{}}  {:.2f} s", named, with_thousands(result.effort()), width, result.run.wall_seconds),
          Tone::good};
}

/// A column of a world: what is `–` was not tried and need not be.
std::vector<GridCell> column_of(const MutantReport& report, const std::vector<RowKey>& rows, WorldKind world) {
  std::size_t width = 0;
  for (const MutantResult& result : report.mutants) {
    if (result.run.spec.world != world || !result.convicted() || result.expected != result.own) continue;
    width = std::max(width, with_thousands(result.effort()).size());
  }
  std::vector<GridCell> column;
  for (const RowKey& row : rows) {
    const MutantResult* const result = result_at(report, row, world);
    if (result == nullptr) {
      column.push_back({"–", Tone::faint});
      continue;
    }
    column.push_back(cell_of(*result, result->expected == result->own ? width : 0));
  }
  return column;
}

/// The rows of one kind of ring after those of another, each under its name.
std::string grid_of(const MutantReport& report, const TextStyle& style) {
  const std::vector<RowKey> all = rows_of(report);
  std::vector<RowKey> rows;
  for (const ring::RingKind kind : {ring::RingKind::ringbuf, ring::RingKind::perf, ring::RingKind::user_ringbuf}) {
    std::ranges::copy_if(all, std::back_inserter(rows), [kind](const RowKey& row) { return row.ring == kind; });
  }
  Grid grid{{"", "its own defect"}, {}, false, {}};
  std::vector<std::vector<GridCell>> columns;
  for (const WorldKind world : worlds_of(report)) {
    grid.header.emplace_back(name_of(world));
    columns.push_back(column_of(report, rows, world));
  }
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const RowKey& row = rows[index];
    if (index == 0 || rows[index - 1].ring != row.ring) {
      grid.rows.push_back({{std::string{ring::name_of(row.ring)}, Tone::strong}});
    }
    std::vector<GridCell> cells{{one_line(row.mutant), Tone::plain},
                                {std::string{ring::name_of(row.own)}, Tone::plain}};
    for (const auto& column : columns) cells.push_back(column[index]);
    grid.rows.push_back(std::move(cells));
  }
  return to_text(grid, style);
}

/// How to read the grid.
std::string legend(const TextStyle& style) {
  return wrapped(
      "✓ convicted of its own defect, or of the one named; after so many records, in the explored world after so many "
      "executions; in so long. – need not be convicted there.",
      2, style.columns);
}

bool escaped(const MutantResult& result) {
  return (result.run.outcome == Outcome::clean || result.run.outcome == Outcome::defects) && !result.convicted();
}

std::string escapes_text(const MutantReport& report, const TextStyle& style) {
  std::string text;
  for (const MutantResult& result : report.mutants) {
    if (!escaped(result)) continue;
    if (text.empty()) text = fmt::format("\n{}\n", paint(style, Tone::strong, "Escaped"));
    const RunSpec& spec = result.run.spec;
    const std::string found = result.run.verdict.defects.empty() ? "nothing" : kinds_of(result);
    text += wrapped(fmt::format("{} ({}), {}, {}: should be convicted of {}, was convicted of {}",
                                one_line(result.mutant), ring::name_of(spec.ring), name_of(spec.world),
                                one_line(spec.scenario), ring::name_of(result.expected), found),
                    2, style.columns);
    text += fmt::format("    repeat: {}\n", result.run.repeat);
  }
  return text;
}

std::string unjudged_text(const MutantReport& report, const TextStyle& style) {
  std::string text;
  for (const MutantResult& result : report.mutants) {
    if (result.run.outcome != Outcome::skipped && result.run.outcome != Outcome::fault) continue;
    if (text.empty()) text = fmt::format("\n{}\n", paint(style, Tone::strong, "Not tried"));
    const RunSpec& spec = result.run.spec;
    text += wrapped(fmt::format("{} ({}), {}: {}: {}", one_line(result.mutant), ring::name_of(spec.ring),
                                name_of(spec.world), name_of(result.run.outcome), one_line(result.run.reason)),
                    2, style.columns);
  }
  return text;
}

/// How each convicted mutant gave itself away: the evidence is what a reader wants to judge the judge by.
std::string evidence_text(const MutantReport& report, const TextStyle& style) {
  std::string text;
  for (const RowKey& row : rows_of(report)) {
    const auto found = std::find_if(report.mutants.begin(), report.mutants.end(), [&](const MutantResult& result) {
      return row.holds(result) && result.convicted();
    });
    if (found == report.mutants.end()) continue;
    if (text.empty()) text = fmt::format("\n{}\n", paint(style, Tone::strong, "Evidence"));
    text += wrapped(fmt::format("{} ({}), {}: {}", one_line(row.mutant), name_of(found->run.spec.world),
                                one_line(found->run.spec.scenario), one_line(found->conviction()->detail)),
                    2, style.columns);
  }
  return text;
}

}  // namespace

std::string table_of(const MutantReport& report, const TextStyle& style) {
  std::string text = heading(report.context, style);
  text += fmt::format("\n{}\n", paint(style, Tone::strong, "Mutants: consumers broken on purpose"));
  text += grid_of(report, style) + '\n' + legend(style);
  text += evidence_text(report, style) + escapes_text(report, style) + unjudged_text(report, style);
  text += '\n' + seed_lines(report.context, style);
  return text + verdict_line(report, style) + '\n';
}

std::string verdict_line(const MutantReport& report, const TextStyle& style) {
  const MutantCounts counts = count_mutants(report);
  const std::size_t tried = counts.convicted + counts.escaped;
  std::string text = interruption(report.interrupted_by, report.mutants.size(), report.planned, "trial");
  Tone tone = Tone::good;
  if (counts.escaped != 0) {
    tone = Tone::bad;
    text += fmt::format("ESCAPED in {} of {}", counts.escaped, counted(tried, "trial"));
  } else if (tried != 0) {
    text += fmt::format("convicted of its own defect in every one of {}", counted(tried, "trial"));
  } else {
    tone = Tone::warning;
    text += "no mutant was tried";
  }
  if (counts.fault != 0) {
    tone = Tone::bad;
    text += fmt::format("; {} met a fault of ringside itself", counted(counts.fault, "trial"));
  }
  if (counts.skipped != 0) text += fmt::format("; {} skipped", counted(counts.skipped, "trial"));
  text += fmt::format("; {}", duration_text(report.duration_seconds));
  return paint(style, tone, text);
}

}  // namespace ringside::harness
