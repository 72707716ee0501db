// SPDX-License-Identifier: Apache-2.0
//
// What a reader of the table must find. The tests look for lines and order, not for every blank.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "harness/report.h"
#include "harness/report_example.h"

namespace ringside::harness {
namespace {

using example::bad_run;
using example::clean_run;
using example::fault_run;
using example::mutant_of;
using example::report_of;
using example::skipped_run;
using ring::DefectKind;

std::string table(const std::vector<RunResult>& runs, std::size_t columns = 100) {
  return render(report_of(runs), ReportFormat::table, {false, columns});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A line that matches the whole pattern: named holes where the layout may change.
bool has_line(const std::string& text, const std::string& pattern) {
  const std::regex wanted(pattern);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, wanted)) return true;
  }
  return false;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t number = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
  return number;
}

TEST(ReportTable, ShowsScenariosInRowsAndConsumersInColumns) {
  const std::string text = table({clean_run("copy", "steady"), clean_run("libbpf", "steady"), clean_run("copy", "wrap"),
                                  bad_run("libbpf", "wrap", {DefectKind::lost, DefectKind::torn})});
  EXPECT_TRUE(has_line(text, " +copy +libbpf")) << text;
  EXPECT_TRUE(has_line(text, " +steady +ok +ok")) << text;
  EXPECT_TRUE(has_line(text, " +wrap +ok +lost \\+1")) << text;
}

TEST(ReportTable, MarksACellThatDoesNotApplyAndExplainsTheMark) {
  const std::string text = table({clean_run("copy", "steady"), clean_run("libbpf", "wrap")});
  EXPECT_TRUE(has_line(text, " +steady +ok +–")) << text;
  EXPECT_TRUE(has(text, "–: does not apply")) << text;
}

TEST(ReportTable, DoesNotExplainAMarkThatIsNotThere) {
  EXPECT_FALSE(has(table({clean_run("copy", "steady")}), "does not apply"));
}

TEST(ReportTable, PutsTheWorldsOfARingSideBySide) {
  const std::string text = table({clean_run("copy", "steady", WorldKind::model),
                                  bad_run("copy", "steady", {DefectKind::lost}, WorldKind::kernel),
                                  clean_run("reader", "steady", WorldKind::model, ring::RingKind::perf)});
  EXPECT_TRUE(has_line(text, "BPF ring buffer \\(ringbuf\\)")) << text;
  EXPECT_TRUE(has_line(text, " +model +kernel")) << text;
  EXPECT_TRUE(has_line(text, " +copy +copy")) << text;
  EXPECT_TRUE(has_line(text, " +steady +ok +lost")) << text;
  EXPECT_TRUE(has_line(text, "perf event rings \\(perf\\)")) << text;
}

TEST(ReportTable, PutsTheWorldsBelowEachOtherWhereTheyDoNotFit) {
  const std::string text =
      table({clean_run("a_consumer_of_some_length", "steady", WorldKind::model),
             bad_run("a_consumer_of_some_length", "steady", {DefectKind::lost}, WorldKind::kernel)},
            60);
  EXPECT_TRUE(has_line(text, " +model")) << text;
  EXPECT_TRUE(has_line(text, " +steady +ok")) << text;
  EXPECT_TRUE(has_line(text, " +steady +lost")) << text;
}

TEST(ReportTable, SumsTheAccountOfAGroup) {
  // Two runs of 100 attempts; 4 records of the second are missing.
  const std::string text = table({clean_run("copy", "steady"), bad_run("copy", "wrap", {DefectKind::lost})});
  EXPECT_TRUE(has(text, "model: 200 attempts = 176 delivered + 14 discarded + 6 failed + 4 missing")) << text;
  EXPECT_FALSE(has(text, "does not close")) << text;
}

TEST(ReportTable, CountsWhatTheRingOverwroteOnlyWhereItDid) {
  EXPECT_FALSE(has(table({clean_run("copy", "steady")}), "overwritten"));
  RunResult run = clean_run("copy", "steady");
  run.verdict.accounting.delivered -= 20;
  run.verdict.accounting.overwritten = 20;
  const std::string text = table({run});
  EXPECT_TRUE(has(text, "100 attempts = 70 delivered + 7 discarded + 3 failed + 20 overwritten + 0 missing")) << text;
  EXPECT_FALSE(has(text, "does not close")) << text;
}

TEST(ReportTable, CriesOutWhenAnAccountDoesNotClose) {
  RunResult run = clean_run("copy", "steady");
  run.verdict.accounting.delivered -= 1;
  EXPECT_TRUE(has(table({run}), "this account does not close: 100 attempts, 99 accounted for"));
}

TEST(ReportTable, TellsADefectOnceForAllItsCells) {
  const std::string text =
      table({bad_run("copy", "steady", {DefectKind::lost}), bad_run("copy", "wrap", {DefectKind::lost}),
             bad_run("copy", "steady", {DefectKind::lost}, WorldKind::kernel)});
  EXPECT_TRUE(has_line(text, " +lost in copy \\(ringbuf\\), 12 times in 3 cells")) << text;
  EXPECT_TRUE(has_line(text, " +model: steady, wrap; kernel: steady")) << text;
  EXPECT_TRUE(has_line(text, " +first: source 1 record 77 is the first one")) << text;
  EXPECT_TRUE(has_line(text, " +repeat: ringside check --consumer copy --scenario steady")) << text;
  EXPECT_EQ(count(text, "repeat:"), 1u) << text;
}

TEST(ReportTable, TellsEverySkipWithItsReasonAndCount) {
  const std::string text = table({clean_run("copy", "steady"), skipped_run("copy", "steady", "no CAP_BPF"),
                                  skipped_run("copy", "wrap", "no CAP_BPF")});
  EXPECT_TRUE(has_line(text, " +2 cells: no CAP_BPF")) << text;
  EXPECT_TRUE(has(text, "all 2 cells skipped")) << text;
  EXPECT_TRUE(has(text, "clean: 1 cell, every one of 100 attempts accounted for; 2 cells skipped")) << text;
}

TEST(ReportTable, TellsANoteOnceWithAllThatItConcerns) {
  RunResult first = clean_run("copy", "steady");
  RunResult second = clean_run("callback", "wrap");
  first.verdict.notes = second.verdict.notes = {"spins while a BUSY record is at the head"};
  const std::string text = table({first, second});
  EXPECT_EQ(count(text, "spins while"), 1u) << text;
  EXPECT_TRUE(has_line(text, " +copy, callback; model: steady, wrap")) << text;
}

TEST(ReportTable, TellsWhatCannotBeObservedOnceAndWithoutItsRuns) {
  RunResult first = clean_run("copy", "steady");
  RunResult second = clean_run("callback", "wrap");
  first.verdict.not_observable = second.verdict.not_observable = {"how often the kernel woke"};
  const std::string text = table({first, second});
  EXPECT_EQ(count(text, "how often the kernel woke"), 1u) << text;
  EXPECT_FALSE(has(text, "copy, callback")) << text;
}

TEST(ReportTable, TellsNotesThatDifferInNumbersOnce) {
  RunResult first = clean_run("copy", "steady");
  RunResult second = clean_run("copy", "wrap");
  first.verdict.notes = {"it had delivered 16 of 20 records"};
  second.verdict.notes = {"it had delivered 7 of 9 records"};
  const std::string text = table({first, second});
  EXPECT_TRUE(has_line(text, " +it had delivered 16 of 20 records \\(and 1 with other numbers\\)")) << text;
  EXPECT_FALSE(has(text, "7 of 9")) << text;
}

TEST(ReportTable, SaysHowManyNotesItLeavesOut) {
  RunResult run = clean_run("copy", "steady");
  for (char letter = 'a'; letter <= 'z'; ++letter) run.verdict.notes.push_back(std::string("note ") + letter);
  // 26 letters, 24 notes shown.
  EXPECT_TRUE(has(table({run}), "and 2 more, see --format json"));
}

TEST(ReportTable, KeepsAFaultOfRingsideApartFromDefects) {
  const std::string text = table({fault_run("copy", "steady", "fork: EAGAIN")});
  EXPECT_TRUE(has_line(text, "Faults of ringside itself")) << text;
  EXPECT_TRUE(has(text, "fork: EAGAIN")) << text;
  EXPECT_TRUE(has(text, "nothing was judged; 1 cell met a fault of ringside itself")) << text;
}

TEST(ReportTable, EndsWithSeedLineAndVerdict) {
  const std::string text = table({bad_run("copy", "steady", {DefectKind::torn})});
  EXPECT_TRUE(has(text,
                  "seed 0x00000000000000ff, the same again: ringside check --seed 0x00000000000000ff\n"
                  "DEFECTS in 1 of 1 judged cell: torn in copy; 1.5 s\n"))
      << text;
}

TEST(ReportTable, SaysWhereASignalCutIt) {
  Report report = report_of({clean_run("copy", "steady")});
  report.planned = 40;
  report.interrupted_by = 2;
  EXPECT_EQ(verdict_line(report, {}),
            "interrupted by SIGINT after 1 of 40 cells; clean: 1 cell, every one of 100 attempts accounted for; 1.5 s");
}

TEST(ReportTable, HasNoEscapeSequenceWithoutColour) {
  RunResult run = bad_run("copy", "steady", {DefectKind::torn});
  run.verdict.defects[0].detail = "\x1b[31mpainted\x1b[0m by a plugin";
  EXPECT_EQ(table({run}).find('\x1b'), std::string::npos);
}

TEST(ReportTable, FitsIntoItsColumns) {
  std::vector<RunResult> runs;
  for (int number = 0; number < 30; ++number) {
    runs.push_back(bad_run("consumer_number_" + std::to_string(number), "steady", {DefectKind::use_after_release}));
    runs.back().repeat = "again";
  }
  std::istringstream lines(table(runs, 100));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 100u) << line;
}

std::string mutants_table(const std::vector<MutantResult>& mutants) {
  MutantReport report;
  report.context = example::context();
  report.mutants = mutants;
  report.planned = mutants.size();
  return render(report, ReportFormat::table, {false, 100});
}

TEST(MutantTable, ShowsAMutantConvictedOfItsOwnDefectAfterHowManyRecordsAndInWhatTime) {
  const std::string text = mutants_table(
      {mutant_of(bad_run("ignore_busy", "busy_head", {DefectKind::torn, DefectKind::phantom}), DefectKind::phantom),
       mutant_of(bad_run("ignore_busy", "busy_head", {DefectKind::phantom}, WorldKind::kernel), DefectKind::phantom)});
  EXPECT_TRUE(has_line(text, " +its own defect +model +kernel")) << text;
  EXPECT_TRUE(has_line(text, "  ringbuf")) << text;
  EXPECT_TRUE(has_line(text, " +ignore_busy +phantom +✓ 1,204  0.25 s +✓ 1,204  0.25 s")) << text;
  EXPECT_TRUE(has(text, "convicted of its own defect in every one of 2 trials")) << text;
}

TEST(MutantTable, NamesWhatTheExplorerFoundOnlyWhereItIsNotTheMutantsOwnDefect) {
  const std::string text = mutants_table(
      {example::explored_mutant("a", DefectKind::missed_wakeup, DefectKind::missed_wakeup, DefectKind::missed_wakeup),
       example::explored_mutant("b", DefectKind::phantom, DefectKind::data_race, DefectKind::data_race)});
  EXPECT_TRUE(has_line(text, " +its own defect +explored")) << text;
  EXPECT_TRUE(has_line(text, " +a +missed_wakeup +✓ 105  0.01 s")) << text;
  EXPECT_TRUE(has_line(text, " +b +phantom +✓ data_race 105  0.01 s")) << text;
}

TEST(MutantTable, ShowsWhereAMutantNeedNotBeConvicted) {
  const std::string text = mutants_table(
      {mutant_of(bad_run("a", "s", {DefectKind::torn}), DefectKind::torn),
       example::explored_mutant("b", DefectKind::data_race, DefectKind::data_race, DefectKind::data_race)});
  EXPECT_TRUE(has_line(text, " +a +torn +✓ 1,204  0.25 s +–")) << text;
  EXPECT_TRUE(has_line(text, " +b +data_race +– +✓ 105  0.01 s")) << text;
}

TEST(MutantTable, HasTheMutantsOfEachKindOfRingTogether) {
  const std::string text = mutants_table(
      {mutant_of(bad_run("of_perf", "s", {DefectKind::torn}, WorldKind::model, ring::RingKind::perf), DefectKind::torn),
       mutant_of(bad_run("of_ringbuf", "s", {DefectKind::torn}), DefectKind::torn)});
  EXPECT_LT(text.find("\n  ringbuf\n  of_ringbuf "), text.find("\n  perf\n  of_perf ")) << text;
}

TEST(MutantTable, OfAnExploredMutantThatEscapedSaysTheLineThatExploresItAgain) {
  const std::string text = mutants_table(
      {example::explored_mutant("a", DefectKind::phantom, DefectKind::data_race, DefectKind::uninitialised_read)});
  EXPECT_TRUE(has_line(text, " +a +phantom +✗ uninitialised_read")) << text;
  EXPECT_TRUE(has(text, "a (ringbuf), explored, a: should be convicted of data_race, was convicted of")) << text;
  EXPECT_TRUE(has_line(text, "    repeat: ringside explore a")) << text;
  EXPECT_TRUE(has(text, "ESCAPED in 1 of 1 trial")) << text;
}

TEST(MutantTable, FitsIntoItsColumns) {
  std::vector<MutantResult> results;
  for (const char* const name : {"user_consumer_pos_relaxed", "overwrite_no_second_look"}) {
    for (const WorldKind world : {WorldKind::model, WorldKind::kernel}) {
      results.push_back(
          mutant_of(bad_run(name, "s", {DefectKind::use_after_release}, world), DefectKind::use_after_release));
      results.back().run.repeat = "again";
    }
    results.push_back(example::explored_mutant(name, DefectKind::use_after_release, DefectKind::uninitialised_read,
                                               DefectKind::uninitialised_read));
  }
  for (const std::size_t columns : {80u, 120u}) {
    MutantReport report;
    report.context = example::context();
    report.mutants = results;
    const std::string text = render(report, ReportFormat::table, {false, columns});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool to_paste = line.starts_with("seed ");
      EXPECT_TRUE(to_paste || display_width(line) <= columns) << line;
    }
    // In the widest one all worlds stand side by side.
    EXPECT_EQ(has_line(text, " +its own defect +model +kernel +explored"), columns == 120) << text;
  }
}

TEST(MutantTable, ShowsAMutantConvictedOfTheWrongDefectAsEscaped) {
  const std::string text = mutants_table({mutant_of(bad_run("m", "s", {DefectKind::torn}), DefectKind::lost)});
  EXPECT_TRUE(has_line(text, " +m +lost +✗ torn")) << text;
  EXPECT_TRUE(has(text, "should be convicted of lost, was convicted of torn")) << text;
  EXPECT_TRUE(has(text, "ESCAPED in 1 of 1 trial")) << text;
}

TEST(MutantTable, ShowsAnAcquittedMutantAsEscaped) {
  const std::string text = mutants_table({mutant_of(clean_run("m", "s"), DefectKind::lost)});
  EXPECT_TRUE(has_line(text, " +m +lost +✗ acquitted")) << text;
  EXPECT_TRUE(has(text, "was convicted of nothing")) << text;
}

}  // namespace
}  // namespace ringside::harness
