// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <map>

#include "harness/nearest.h"

namespace ringside::cli {
namespace {

using harness::WorldKind;

std::map<std::string, std::string> variables;

const char* test_environment(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

class CommandLine : public testing::Test {
 protected:
  void SetUp() override { variables.clear(); }

  static ring::Result<Invocation> parse(const std::vector<std::string>& words) {
    std::vector<const char*> argv{"ringside"};
    for (const std::string& word : words) argv.push_back(word.c_str());
    return parse_command_line(static_cast<int>(argv.size()), argv.data(), test_environment);
  }

  static Invocation read(const std::vector<std::string>& words) {
    const ring::Result<Invocation> invocation = parse(words);
    EXPECT_TRUE(invocation.has_value()) << invocation.error();
    return invocation.value_or(Invocation{});
  }

  static std::string complaint(const std::vector<std::string>& words) {
    const ring::Result<Invocation> invocation = parse(words);
    return invocation ? "it was read" : ring::to_string(invocation.error());
  }
};

TEST_F(CommandLine, ReadsEveryFlagOfCompare) {
  const Invocation invocation =
      read({"compare", "--world", "model",       "--consumer", "copy",     "callback", "--plugin", "p.so",     "--size",
            "8,1K",    "64",      "--ring-size", "1G",         "--touch",  "none",     "copy",     "--rounds", "30",
            "--base",  "copy",    "--seed",      "7",          "--format", "csv",      "--quiet"});
  EXPECT_EQ(invocation.command, Command::compare);
  const harness::CompareOptions& options = invocation.compare;
  EXPECT_EQ(options.world, WorldKind::model);
  EXPECT_EQ(options.consumers, (std::vector<std::string>{"copy", "callback"}));
  EXPECT_EQ(options.plugin, "p.so");
  EXPECT_EQ(options.sizes, (std::vector<std::uint32_t>{8, 1024, 64}));
  EXPECT_EQ(options.ring_bytes, 1u << 30);
  EXPECT_EQ(options.touches, (std::vector{harness::Touch::none, harness::Touch::copy}));
  EXPECT_EQ(options.rounds, 30u);
  EXPECT_EQ(options.base, "copy");
  EXPECT_EQ(options.seed, 7u);
  EXPECT_EQ(invocation.compare_format, harness::CompareFormat::csv);
  EXPECT_EQ(read({"compare"}).compare.world, WorldKind::kernel);
}

TEST_F(CommandLine, APresetIsChangedByOtherFlags) {
  const harness::CompareOptions options =
      read({"compare", "--preset", "zero-copy-debate", "--ring-size", "64M", "--rounds", "3"}).compare;
  EXPECT_EQ(options.sizes, (std::vector<std::uint32_t>{128, 512, 1024, 2048}));
  EXPECT_EQ(options.ring_bytes, 64u << 20);
  EXPECT_EQ(options.rounds, 3u);
  EXPECT_EQ(options.base, "read_into");
  EXPECT_EQ(complaint({"compare", "--preset", "debate"}),
            "read --preset: \"debate\" is not known; valid: zero-copy-debate");
}

TEST_F(CommandLine, RefusesWhatNoComparisonIs) {
  EXPECT_EQ(complaint({"compare", "--world", "both"}),
            "read --world: a comparison is of one world; write model or kernel");
  EXPECT_EQ(complaint({"compare", "--format", "junit"}),
            "read --format: \"junit\" is no format of a comparison; use table, json, csv or html");
  EXPECT_NE(complaint({"compare", "--size", "8G"}).find("above 2^32"), std::string::npos);
  EXPECT_NE(complaint({"compare", "--touch", "lime"}).find("did you mean \"line\"?"), std::string::npos);
}

TEST_F(CommandLine, ReadsEveryFlagOfCheck) {
  const Invocation invocation =
      read({"check",     "--world",    "model",    "--ring",     "perf",           "--consumer", "copy",
            "libbpf",    "--consumer", "callback", "--scenario", "steady,wrap",    "--plugin",   "p.so",
            "--records", "10K",        "--seed",   "0xff",       "--hang-timeout", "2s",         "--format",
            "json",      "--output",   "out.json", "--quiet"});
  EXPECT_EQ(invocation.command, Command::check);
  EXPECT_EQ(invocation.options.worlds, std::vector{WorldKind::model});
  EXPECT_TRUE(invocation.worlds_named);
  EXPECT_EQ(invocation.options.rings, std::vector{ring::RingKind::perf});
  EXPECT_EQ(invocation.options.consumers, (std::vector<std::string>{"copy", "libbpf", "callback"}));
  EXPECT_EQ(invocation.options.scenarios, (std::vector<std::string>{"steady", "wrap"}));
  EXPECT_EQ(invocation.options.plugin, "p.so");
  EXPECT_EQ(invocation.options.records, 10'000u);
  EXPECT_EQ(invocation.options.seed, 255u);
  EXPECT_EQ(invocation.options.hang_timeout_ms, 2'000u);
  EXPECT_EQ(invocation.format, harness::ReportFormat::json);
  EXPECT_EQ(invocation.output, "out.json");
  EXPECT_TRUE(invocation.quiet);
}

TEST_F(CommandLine, RepeatsWhatWasSaidWithItsSeedAndWithoutWhereTheReportGoes) {
  EXPECT_EQ(
      read({"check", "--seed", "255", "--consumer", "copy", "--format", "json", "--scenario", "a b/c.toml"}).repeat,
      "ringside check --consumer copy --scenario 'a b/c.toml' --seed 0x00000000000000ff");
}

TEST_F(CommandLine, TheRepeatLineMeansTheSame) {
  const Invocation first = read({"mutants", "--consumer=ignore_busy", "--world=kernel"});
  const std::string seed = first.repeat.substr(first.repeat.rfind(' ') + 1);
  const Invocation again = read({"mutants", "--world", "kernel", "--consumer", "ignore_busy", "--seed", seed});
  EXPECT_EQ(again.options.seed, first.options.seed);
  EXPECT_EQ(again.repeat, first.repeat);
}

TEST_F(CommandLine, ReadsEveryFlagOfConform) {
  const Invocation invocation = read({"conform", "--ring", "user_ringbuf", "perf", "--scripts", "2K", "--jobs", "3",
                                      "--mutants", "--rule", "perf_space", "--seed", "9"});
  EXPECT_EQ(invocation.command, Command::conform);
  EXPECT_EQ(invocation.conform.rings, (std::vector{ring::RingKind::user_ringbuf, ring::RingKind::perf}));
  EXPECT_EQ(invocation.conform.scripts, 2000u);
  EXPECT_EQ(invocation.conform.jobs, 3u);
  EXPECT_TRUE(invocation.conform.mutants);
  EXPECT_FALSE(invocation.conform.rules);
  EXPECT_EQ(invocation.conform.only, std::vector<std::string>{"perf_space"});
  EXPECT_EQ(invocation.repeat,
            "ringside conform --ring user_ringbuf perf --scripts 2K --seed 0x0000000000000009 --jobs 3 --mutants "
            "--rule perf_space");
}

TEST_F(CommandLine, LeavesASwitchThatIsOffOutOfTheRepeatLine) {
  EXPECT_EQ(read({"conform", "--mutants=0", "--seed", "1"}).repeat, "ringside conform --seed 0x0000000000000001");
}

TEST_F(CommandLine, ReadsTheFileOfAReplay) {
  EXPECT_EQ(read({"replay", "a.script"}).file, "a.script");
  EXPECT_EQ(complaint({"replay"}),
            "run ringside replay: no file was named; name a script or a token: ringside replay FILE");
}

TEST_F(CommandLine, DrawsANewSeedEachTime) { EXPECT_NE(read({"check"}).options.seed, read({"check"}).options.seed); }

TEST_F(CommandLine, LeavesTheWorldsOpenWhenNoneIsNamed) {
  const Invocation invocation = read({"check"});
  EXPECT_FALSE(invocation.worlds_named);
  EXPECT_EQ(invocation.options.worlds, (std::vector{WorldKind::model, WorldKind::kernel}));
}

TEST_F(CommandLine, TriesMutantsInTheExploredWorldAsWell) {
  EXPECT_EQ(read({"mutants"}).options.worlds, (std::vector{WorldKind::model, WorldKind::kernel, WorldKind::explored}));
  EXPECT_EQ(read({"mutants", "--world", "both"}).options.worlds, (std::vector{WorldKind::model, WorldKind::kernel}));
  EXPECT_EQ(read({"mutants", "--world", "explored"}).options.worlds, std::vector{WorldKind::explored});
}

TEST_F(CommandLine, RefusesToCheckInTheExploredWorld) {
  EXPECT_EQ(complaint({"check", "--world", "explored"}),
            "read --world: consumers are not checked in the explored world; `ringside explore` explores programs, "
            "`ringside mutants --world explored` mutants");
}

TEST_F(CommandLine, TakesEveryFlagFromTheEnvironment) {
  variables = {{"RINGSIDE_WORLD", "kernel"},   {"RINGSIDE_RING", "ringbuf"},    {"RINGSIDE_CONSUMER", "copy,libbpf"},
               {"RINGSIDE_SCENARIO", "wrap"},  {"RINGSIDE_PLUGIN", "q.so"},     {"RINGSIDE_RECORDS", "3M"},
               {"RINGSIDE_SEED", "7"},         {"RINGSIDE_HANG_TIMEOUT", "1s"}, {"RINGSIDE_FORMAT", "junit"},
               {"RINGSIDE_OUTPUT", "out.xml"}, {"RINGSIDE_QUIET", "1"}};
  const Invocation invocation = read({"check"});
  EXPECT_EQ(invocation.options.worlds, std::vector{WorldKind::kernel});
  EXPECT_TRUE(invocation.worlds_named);
  EXPECT_EQ(invocation.options.rings, std::vector{ring::RingKind::ringbuf});
  EXPECT_EQ(invocation.options.consumers, (std::vector<std::string>{"copy", "libbpf"}));
  EXPECT_EQ(invocation.options.scenarios, std::vector<std::string>{"wrap"});
  EXPECT_EQ(invocation.options.plugin, "q.so");
  EXPECT_EQ(invocation.options.records, 3'000'000u);
  EXPECT_EQ(invocation.options.seed, 7u);
  EXPECT_EQ(invocation.options.hang_timeout_ms, 1'000u);
  EXPECT_EQ(invocation.format, harness::ReportFormat::junit);
  EXPECT_EQ(invocation.output, "out.xml");
  EXPECT_TRUE(invocation.quiet);
}

TEST_F(CommandLine, LetsTheFlagWinOverTheEnvironment) {
  variables = {{"RINGSIDE_SEED", "7"}, {"RINGSIDE_CONSUMER", "copy"}};
  const Invocation invocation = read({"check", "--seed", "8", "--consumer", "libbpf"});
  EXPECT_EQ(invocation.options.seed, 8u);
  EXPECT_EQ(invocation.options.consumers, std::vector<std::string>{"libbpf"});
}

TEST_F(CommandLine, TakesAnEmptyVariableForNone) {
  variables = {{"RINGSIDE_FORMAT", ""}};
  EXPECT_EQ(read({"check"}).format, harness::ReportFormat::table);
}

TEST_F(CommandLine, NamesTheVariableThatIsWrong) {
  variables = {{"RINGSIDE_SEED", "seven"}};
  EXPECT_EQ(complaint({"check"}),
            "read RINGSIDE_SEED: \"seven\" is no seed; write a number of 64 bits, such as 42 or 0x9f3a");
}

TEST_F(CommandLine, ReadsTheValueOfASwitchAsItsVariable) {
  EXPECT_TRUE(read({"check", "--quiet"}).quiet);
  EXPECT_TRUE(read({"check", "--quiet", "--quiet"}).quiet);
  EXPECT_TRUE(read({"check", "--quiet=yes"}).quiet);
  EXPECT_FALSE(read({"check", "--quiet=0"}).quiet);
  EXPECT_EQ(complaint({"check", "--quiet=banana"}), "read --quiet: \"banana\" is neither on nor off; write 1 or 0");
  variables = {{"RINGSIDE_QUIET", "banana"}};
  EXPECT_EQ(complaint({"check"}), "read RINGSIDE_QUIET: \"banana\" is neither on nor off; write 1 or 0");
}

TEST_F(CommandLine, ReadsTheTopicOfAListEvenWhenItIsAlsoACommand) {
  EXPECT_EQ(read({"list", "mutants"}).topic, "mutants");
  EXPECT_EQ(read({"list"}).topic, "");
}

TEST_F(CommandLine, PrintsHelpAndVersion) {
  EXPECT_NE(read({"--help"}).text.find("Exit status"), std::string::npos);
  EXPECT_NE(read({"check", "--help"}).text.find("RINGSIDE_HANG_TIMEOUT"), std::string::npos);
  EXPECT_TRUE(read({"--version"}).text.starts_with("ringside "));
}

TEST_F(CommandLine, TheHelpOfACommandOffersWhatItTakes) {
  const auto help = [](const char* command) { return read({command, "--help"}).text; };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(help("check"), "every strategy"));
  EXPECT_TRUE(has(help("mutants"), "every mutant"));
  EXPECT_FALSE(has(help("mutants"), "every strategy"));
  EXPECT_TRUE(has(help("mutants"), "junit"));
  EXPECT_FALSE(has(help("list"), "junit"));
  EXPECT_FALSE(has(help("doctor"), "junit"));
  EXPECT_TRUE(has(help("check"), "a bare number is seconds"));
}

TEST_F(CommandLine, TheHelpMarksOnlyFlagsThatTakeSeveralValues) {
  const std::string text = read({"check", "--help"}).text;
  EXPECT_NE(text.find("--consumer NAME ..."), std::string::npos) << text;
  for (const char* once : {"--plugin FILE", "--seed S", "--output FILE"}) {
    EXPECT_NE(text.find(once), std::string::npos) << text;
    EXPECT_EQ(text.find(std::string(once) + " ..."), std::string::npos) << text;
  }
}

TEST_F(CommandLine, OffersTheNearestFlag) {
  EXPECT_EQ(complaint({"check", "--sede", "5"}),
            "read flag --sede: ringside check has no such flag; did you mean \"--seed\"?");
  EXPECT_EQ(complaint({"check", "--output_file=x"}).substr(0, 60),
            std::string("read flag --output_file: ringside check has no such flag; vali").substr(0, 60));
}

TEST_F(CommandLine, OffersTheNearestCommand) {
  EXPECT_EQ(complaint({"chek"}), "run \"chek\": there is no such command; did you mean \"check\"?");
  EXPECT_EQ(
      complaint({}),
      "run ringside: no command was named; one of check, mutants, compare, conform, explore, replay, list, doctor");
}

TEST_F(CommandLine, SendsAFlagBehindItsCommand) {
  EXPECT_EQ(complaint({"--seed", "5", "check"}),
            "read flag --seed: ringside has no such flag; write the command first: check, mutants, compare, conform, "
            "explore, "
            "replay, list, doctor");
}

TEST_F(CommandLine, WantsAValue) {
  EXPECT_EQ(complaint({"check", "--seed"}), "read --seed: it has no value; write --seed VALUE");
  EXPECT_EQ(complaint({"check", "--consumer", "--quiet"}), "read --consumer: it has no value; write --consumer VALUE");
}

TEST_F(CommandLine, RefusesAFlagGivenTwice) {
  EXPECT_EQ(complaint({"check", "--seed", "1", "--seed", "2"}), "read --seed: it was given twice; give it once");
}

TEST_F(CommandLine, RefusesALooseWord) {
  EXPECT_EQ(
      complaint({"check", "steady"}),
      "read \"steady\": ringside check does not expect it; name consumers by --consumer, scenarios by --scenario");
  EXPECT_EQ(complaint({"list", "rings", "mutants"}),
            "read \"mutants\": ringside list does not expect it; name one topic at a time");
}

TEST_F(CommandLine, RefusesAFlagOfAnotherCommand) {
  EXPECT_EQ(complaint({"doctor", "--seed", "1"}).substr(0, 53),
            "read flag --seed: ringside doctor has no such flag; v");
}

}  // namespace
}  // namespace ringside::cli
