// SPDX-License-Identifier: Apache-2.0
//
// The table of a check. One grid a ring kind: a row a scenario, a column a consumer, the worlds side by side where they
// fit, so that one look shows which consumer fails where and whether model and kernel agree. Below the grids,
// everything that is not plain `ok` is told once: defects by consumer and kind, skips by reason, notes by sentence,
// each with the cells it concerns.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "harness/report_formats.h"

namespace ringside::harness {
namespace {

constexpr std::size_t detail_indent = 4;
/// Sentences of one kind that the table prints; the rest is counted and stands in the json report.
constexpr std::size_t sentence_limit = 24;

using Runs = std::vector<const RunResult*>;

void add_unique(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// The distinct values that `name` gives over the runs, in their first order.
std::vector<std::string> distinct(const Runs& runs, const std::function<std::string(const RunResult&)>& name) {
  std::vector<std::string> names;
  for (const RunResult* run : runs) add_unique(names, one_line(name(*run)));
  return names;
}

std::string consumer_of(const RunResult& run) { return run.spec.consumer; }
std::string scenario_of(const RunResult& run) { return run.spec.scenario; }

std::string title_of(ring::RingKind ring) {
  std::string_view title = "BPF ring buffer";
  if (ring == ring::RingKind::perf) title = "perf event rings";
  if (ring == ring::RingKind::user_ringbuf) title = "user ring buffer, its producers";
  return fmt::format("{} ({})", title, ring::name_of(ring));
}

/// Where the runs were, as short as it can be said: `model: steady, wrap; kernel: steady`.
std::string places(const Runs& runs) {
  std::vector<std::string> parts;
  for (const WorldKind world : {WorldKind::model, WorldKind::kernel}) {
    Runs here;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(here),
                 [world](const RunResult* run) { return run->spec.world == world; });
    if (here.empty()) continue;
    parts.push_back(fmt::format("{}: {}", name_of(world), joined(distinct(here, scenario_of))));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

GridCell cell_of(const RunResult* run) {
  if (run == nullptr) return {"–", Tone::faint};
  switch (run->outcome) {
    case Outcome::clean:
      return {"ok", Tone::good};
    case Outcome::skipped:
      return {"skip", Tone::warning};
    case Outcome::fault:
      return {"FAULT", Tone::bad};
    case Outcome::defects:
      break;
  }
  const std::vector<ring::Defect>& defects = run->verdict.defects;
  if (defects.empty()) return {"defects", Tone::bad};
  std::string text{ring::name_of(defects.front().kind)};
  if (defects.size() > 1) text += fmt::format(" +{}", defects.size() - 1);
  return {text, Tone::bad};
}

const RunResult* find_run(const Runs& runs, const std::string& scenario, const std::string& consumer) {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunResult* run) {
    return one_line(run->spec.scenario) == scenario && one_line(run->spec.consumer) == consumer;
  });
  return found == runs.end() ? nullptr : *found;
}

/// The runs of one ring kind in one world.
struct WorldRuns {
  WorldKind world;
  Runs runs;
};

/// The worlds side by side under their names.
Grid grid_of(const std::vector<WorldRuns>& worlds) {
  Runs all;
  Grid grid{{""}, {}, false, {}};
  for (const WorldRuns& world : worlds) all.insert(all.end(), world.runs.begin(), world.runs.end());
  for (const std::string& scenario : distinct(all, scenario_of)) grid.rows.push_back({{scenario, Tone::plain}});
  for (const WorldRuns& world : worlds) {
    grid.spans.emplace_back(grid.header.size(), name_of(world.world));
    for (const std::string& consumer : distinct(world.runs, consumer_of)) {
      grid.header.push_back(consumer);
      for (std::vector<GridCell>& row : grid.rows) row.push_back(cell_of(find_run(world.runs, row[0].text, consumer)));
    }
  }
  return grid;
}

std::string grids_text(const std::vector<WorldRuns>& worlds, const TextStyle& style) {
  const Grid together = grid_of(worlds);
  if (worlds.size() < 2 || width_of(together) <= style.columns) return to_text(together, style);
  std::string text;
  for (const WorldRuns& world : worlds) {
    if (!text.empty()) text += '\n';
    text += to_text(grid_of({world}), style);
  }
  return text;
}

/// `12 attempts = 10 delivered + 2 discarded + 0 missing`: the terms that are 0 are left out, except the two that a
/// reader looks for. An account that does not close is told loudly.
std::string accounting_text(WorldKind world, const ring::Accounting& sum, const TextStyle& style) {
  std::vector<std::string> terms{with_thousands(sum.delivered) + " delivered"};
  const auto term = [&terms](std::uint64_t number, const char* name) {
    if (number != 0) terms.push_back(fmt::format("{} {}", with_thousands(number), name));
  };
  term(sum.discarded, "discarded");
  term(sum.failed, "failed");
  term(sum.malformed, "malformed");
  term(sum.left, "left");
  term(sum.overwritten, "overwritten");
  terms.push_back(with_thousands(sum.missing) + " missing");
  std::string text =
      fmt::format("{}: {} = {}", name_of(world), counted(sum.attempts, "attempt"), fmt::join(terms, " + "));
  if (sum.reported_lost != 0) text += fmt::format("; {} reported lost", with_thousands(sum.reported_lost));
  if (sum.extra != 0) text += fmt::format("; {} delivered that were no new record", with_thousands(sum.extra));
  std::string out = wrapped(text, 2, style.columns);
  if (accounted_for(sum) != sum.attempts) {
    const std::string alarm = fmt::format("this account does not close: {} attempts, {} accounted for",
                                          with_thousands(sum.attempts), with_thousands(accounted_for(sum)));
    out += fmt::format("  {}\n", paint(style, Tone::bad, alarm));
  }
  return out;
}

/// A world that could not run at all is one line and no columns of skips.
bool all_skipped(const WorldRuns& world) {
  return std::all_of(world.runs.begin(), world.runs.end(),
                     [](const RunResult* run) { return run->outcome == Outcome::skipped; });
}

std::string skipped_world_text(const WorldRuns& world, const TextStyle& style) {
  const std::string line =
      fmt::format("{}: all {} skipped, see below", name_of(world.world), counted(world.runs.size(), "cell"));
  return fmt::format("  {}\n", paint(style, Tone::warning, line));
}

std::string ring_text(ring::RingKind ring, const std::vector<WorldRuns>& worlds, const TextStyle& style) {
  std::vector<WorldRuns> shown;
  std::copy_if(worlds.begin(), worlds.end(), std::back_inserter(shown), std::not_fn(all_skipped));
  std::string text = fmt::format("\n{}\n", paint(style, Tone::strong, title_of(ring)));
  if (!shown.empty()) text += grids_text(shown, style) + '\n';
  for (const WorldRuns& world : worlds) {
    ring::Accounting sum;
    for (const RunResult* run : world.runs) add(sum, run->verdict.accounting);
    text += all_skipped(world) ? skipped_world_text(world, style) : accounting_text(world.world, sum, style);
  }
  return text;
}

std::string rings_text(const Report& report, const TextStyle& style) {
  std::string text;
  for (const ring::RingKind ring : {ring::RingKind::ringbuf, ring::RingKind::perf, ring::RingKind::user_ringbuf}) {
    std::vector<WorldRuns> worlds;
    for (const WorldKind world : {WorldKind::model, WorldKind::kernel}) {
      WorldRuns here{world, {}};
      for (const RunResult& run : report.runs) {
        if (run.spec.ring == ring && run.spec.world == world) here.runs.push_back(&run);
      }
      if (!here.runs.empty()) worlds.push_back(std::move(here));
    }
    if (!worlds.empty()) text += ring_text(ring, worlds, style);
  }
  return text;
}

/// One kind of defect of one consumer on one ring kind, wherever it showed.
struct DefectGroup {
  const RunResult* first_run;
  const ring::Defect* first;
  std::uint64_t count = 0;
  Runs runs;
};

std::vector<DefectGroup> group_defects(const Report& report) {
  std::vector<DefectGroup> groups;
  for (const RunResult& run : report.runs) {
    for (const ring::Defect& defect : run.verdict.defects) {
      auto group = std::find_if(groups.begin(), groups.end(), [&](const DefectGroup& known) {
        return known.first->kind == defect.kind && known.first_run->spec.consumer == run.spec.consumer &&
               known.first_run->spec.ring == run.spec.ring;
      });
      if (group == groups.end()) group = groups.insert(groups.end(), DefectGroup{&run, &defect, 0, {}});
      group->count += defect.count;
      group->runs.push_back(&run);
    }
  }
  return groups;
}

std::string paste_line(const char* label, const std::string& line) {
  return fmt::format("{:{}}{}: {}\n", "", detail_indent, label, line);
}

std::string defects_text(const Report& report, const TextStyle& style) {
  const std::vector<DefectGroup> groups = group_defects(report);
  if (groups.empty()) return {};
  std::string text = fmt::format("\n{}\n", paint(style, Tone::strong, "Defects"));
  for (const DefectGroup& group : groups) {
    const RunSpec& spec = group.first_run->spec;
    text += fmt::format("  {} in {} ({}), {} in {}\n", paint(style, Tone::bad, ring::name_of(group.first->kind)),
                        paint(style, Tone::strong, one_line(spec.consumer)), ring::name_of(spec.ring),
                        counted(group.count, "time"), counted(group.runs.size(), "cell"));
    text += wrapped(places(group.runs), detail_indent, style.columns);
    text += wrapped("first: " + one_line(group.first->detail), detail_indent, style.columns);
    text += paste_line("repeat", group.first_run->repeat);
  }
  return text;
}

/// Runs that share a sentence, but for the numbers in it.
struct SentenceGroup {
  std::string pattern;                 ///< the sentence with every number taken out
  std::vector<std::string> sentences;  ///< the distinct ones
  Runs runs;
};

std::string without_numbers(const std::string& sentence) {
  std::string pattern;
  for (const char letter : sentence) {
    const bool digit = letter >= '0' && letter <= '9';
    if (!digit) pattern += letter;
    if (digit && (pattern.empty() || pattern.back() != '#')) pattern += '#';
  }
  return pattern;
}

void add_sentence(std::vector<SentenceGroup>& groups, const std::string& sentence, const RunResult& run) {
  const std::string pattern = without_numbers(sentence);
  auto group =
      std::find_if(groups.begin(), groups.end(), [&](const SentenceGroup& known) { return known.pattern == pattern; });
  if (group == groups.end()) group = groups.insert(groups.end(), SentenceGroup{pattern, {}, {}});
  add_unique(group->sentences, sentence);
  group->runs.push_back(&run);
}

enum class Where : std::uint8_t { told, left_out };  ///< whether the runs of a sentence are named below it

/// `head` gives what stands before a sentence.
std::string sentences_text(const std::string& title, const std::vector<SentenceGroup>& groups, const TextStyle& style,
                           const std::function<std::string(const SentenceGroup&)>& head, Where where = Where::told) {
  if (groups.empty()) return {};
  std::string text = fmt::format("\n{}\n", paint(style, Tone::strong, title));
  const std::size_t shown = std::min(groups.size(), sentence_limit);
  for (std::size_t index = 0; index < shown; ++index) {
    const SentenceGroup& group = groups[index];
    std::string sentence = head(group) + one_line(group.sentences.front());
    if (group.sentences.size() > 1) sentence += fmt::format(" (and {} with other numbers)", group.sentences.size() - 1);
    text += wrapped(sentence, 2, style.columns);
    if (where == Where::left_out) continue;
    const std::string who = fmt::format("{}; {}", joined(distinct(group.runs, consumer_of)), places(group.runs));
    text += wrapped(who, detail_indent, style.columns);
  }
  if (shown < groups.size()) text += fmt::format("  and {} more, see --format json\n", groups.size() - shown);
  return text;
}

std::string no_head(const SentenceGroup&) { return {}; }

std::string skips_text(const Report& report, const TextStyle& style) {
  std::vector<SentenceGroup> groups;
  for (const RunResult& run : report.runs) {
    if (run.outcome == Outcome::skipped) add_sentence(groups, run.reason, run);
  }
  return sentences_text("Skipped", groups, style,
                        [](const SentenceGroup& group) { return counted(group.runs.size(), "cell") + ": "; });
}

std::string notes_text(const Report& report, const TextStyle& style) {
  std::vector<SentenceGroup> blind;
  std::vector<SentenceGroup> notes;
  for (const RunResult& run : report.runs) {
    for (const std::string& sentence : run.verdict.not_observable) add_sentence(blind, sentence, run);
    for (const std::string& sentence : run.verdict.notes) add_sentence(notes, sentence, run);
  }
  // What a world cannot show is so in every run of it: a list of them would bury the verdict of a clean check.
  return sentences_text("Not observable", blind, style, no_head, Where::left_out) +
         sentences_text("Notes", notes, style, no_head);
}

std::string faults_text(const Report& report, const TextStyle& style) {
  std::string text;
  for (const RunResult& run : report.runs) {
    if (run.outcome != Outcome::fault) continue;
    if (text.empty()) text = fmt::format("\n{}\n", paint(style, Tone::strong, "Faults of ringside itself"));
    text += fmt::format("  {} ({}), {}: {}\n", one_line(run.spec.consumer), ring::name_of(run.spec.ring),
                        name_of(run.spec.world), one_line(run.spec.scenario));
    text += wrapped(one_line(run.reason), detail_indent, style.columns);
    text += paste_line("repeat", run.repeat);
  }
  return text;
}

/// Words for the signs that a newcomer meets, where they stand.
std::string legend_text(const std::string& grids, const TextStyle& style) {
  if (grids.empty()) return {};
  std::string text = "model: the kernel's side rebuilt in userspace; kernel: rings of the running kernel";
  if (grids.find("–") != std::string::npos) text += "; –: does not apply";
  return '\n' + paint(style, Tone::faint, text) + '\n';
}

/// `busy_spin in libbpf, crash in libbpf_perf and 2 more`: as many as keep the verdict one short line.
std::string defect_names(const Report& report) {
  constexpr std::size_t most_characters = 60;
  const std::vector<DefectGroup> groups = group_defects(report);
  std::string text;
  std::size_t named = 0;
  for (const DefectGroup& group : groups) {
    const std::string name =
        fmt::format("{} in {}", ring::name_of(group.first->kind), one_line(group.first_run->spec.consumer));
    if (named != 0 && text.size() + name.size() > most_characters) break;
    text += (named == 0 ? "" : ", ") + name;
    ++named;
  }
  if (groups.size() > named) text += fmt::format(" and {} more", groups.size() - named);
  return text;
}

}  // namespace

std::string table_of(const Report& report, const TextStyle& style) {
  std::string text = heading(report.context, style);
  const std::string grids = rings_text(report, style);
  text += grids + legend_text(grids, style);
  text += defects_text(report, style);
  text += faults_text(report, style);
  text += skips_text(report, style);
  text += notes_text(report, style);
  text += '\n' + seed_lines(report.context, style);
  return text + verdict_line(report, style) + '\n';
}

std::string verdict_line(const Report& report, const TextStyle& style) {
  const OutcomeCounts counts = count_outcomes(report);
  const std::size_t judged = counts.clean + counts.defects;
  ring::Accounting sum;
  for (const RunResult& run : report.runs) add(sum, run.verdict.accounting);
  std::string text = interruption(report.interrupted_by, report.runs.size(), report.planned, "cell");
  Tone tone = Tone::good;
  if (counts.defects != 0) {
    tone = Tone::bad;
    text +=
        fmt::format("DEFECTS in {} of {}: {}", counts.defects, counted(judged, "judged cell"), defect_names(report));
  } else if (judged != 0) {
    text += fmt::format("clean: {}, every one of {} accounted for", counted(judged, "cell"),
                        counted(sum.attempts, "attempt"));
  } else {
    tone = Tone::warning;
    text += "nothing was judged";
  }
  if (counts.fault != 0) {
    tone = Tone::bad;
    text += fmt::format("; {} met a fault of ringside itself", counted(counts.fault, "cell"));
  }
  if (counts.skipped != 0) text += fmt::format("; {} skipped", counted(counts.skipped, "cell"));
  text += fmt::format("; {}", duration_text(report.duration_seconds));
  return paint(style, tone, text);
}

}  // namespace ringside::harness
