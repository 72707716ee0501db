// SPDX-License-Identifier: Apache-2.0
//
// CLI11 takes the line apart and writes the help; it is slow to compile, so that no other file includes it. Values are
// read by cli/values.h, so that a flag and its environment variable are held to the same rules and every error is one
// line of ours.
#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <random>

#include "cli/values.h"
#include "harness/list.h"
#include "harness/nearest.h"
#include "harness/shell.h"
#include "harness/text_layout.h"
#include "harness/version.h"

namespace ringside::cli {
namespace {

using Texts = std::vector<std::string>;

/// One flag: what was said to it, on the line or in the environment.
struct Flag {
  std::string name;         ///< `--hang-timeout`
  std::string description;  ///< one line for the help
  std::string value_name;   ///< empty: a switch
  bool many = false;        ///< takes several values, and may be repeated
  Texts values = {};
  std::string origin = {};  ///< the name under which the values came: the flag, or its variable

  bool given() const { return !values.empty(); }
};

/// `--hang-timeout` is `RINGSIDE_HANG_TIMEOUT` in the environment.
std::string variable_of(const std::string& flag) {
  std::string name = "RINGSIDE_";
  for (const char letter : flag.substr(2)) {
    name += letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return name;
}

/// Every flag that a command may have. The commands pick from these.
struct Flags {
  Flag world{"--world", "model, kernel or both; default: every world that this machine can run", "WORLD"};
  Flag ring{"--ring", "ringbuf, perf or user_ringbuf; default: every kind", "RING", true};
  Flag consumer{"--consumer", "only these, see `ringside list`; default: every strategy", "NAME", true};
  Flag scenario{"--scenario", "only these: shipped names or TOML files; default: every shipped one", "NAME|FILE", true};
  Flag plugin{"--plugin", "a shared object with a consumer (ring/consumer.h) to check", "FILE"};
  Flag records{"--records", "records of each run, such as 5000, 64K or 100M; default: as the scenario says", "N"};
  Flag scripts{"--scripts", "scripts for each kind of ring, such as 500 or 10K", "N"};
  Flag jobs{"--jobs", "threads, on the CPUs in turn; default: one for each CPU", "N"};
  Flag rules{"--rules", "print the rules that differ between kernels, and which hold on this one", ""};
  Flag mutants{"--mutants", "play against models that break one rule each: every one must be caught", ""};
  Flag rule{"--rule", "with --mutants: only these rules; default: every one", "NAME", true};
  Flag memory{"--memory", "memory model: sc, tso or c11; default: c11", "MODEL"};
  Flag search{"--search", "dpor (every execution), random, pct or uniform (drawn); default: dpor", "WAY"};
  Flag preemptions{"--preemptions", "all that take so many preemptions and stale accesses at most", "N"};
  Flag shard{"--shard", "only the I-th of N parts of the search", "I/N"};
  Flag time{"--time", "search no program longer than that, such as 90s, 10m or 2h", "TIME"};
  Flag checkpoint{"--checkpoint", "keep there what is still to be searched; of one file of programs", "FILE"};
  Flag resume{"--resume", "go on with what such a file has kept", "FILE"};
  Flag executions{"--executions", "no more executions of a program than these, such as 500 or 10K", "N"};
  Flag events{"--events", "more events in one execution are a loop without an end; default: 1000", "N"};
  Flag gdb{"--gdb", "a token: in a debugger, stopped where a race or a failed expectation is found", ""};
  Flag program{"--program", "the explored program that a token is of; default: the shipped one", "FILE"};
  Flag size{"--size", "record sizes, bytes, such as 8 or 1K; default: 8 128 512 1024 2048", "N", true};
  Flag ring_size{"--ring-size", "bytes of the ring, such as 64K, 64M or 1G; default: 64M", "N"};
  Flag touch{"--touch", "what is done with a payload: none, line, all, copy; default: line and all", "TOUCH", true};
  Flag rounds{"--rounds", "rounds that count, such as 15; default: 15", "N"};
  Flag base{"--base", "whose ratio is 1; default: libbpf, where it is compared", "NAME"};
  Flag baseline{"--baseline", "an earlier report (json): what is slower than there is told, and ends with 1", "FILE"};
  Flag least{"--least", "with --baseline: the least change that counts, percent; default: 5", "N"};
  Flag preset{"--preset", "a published comparison, asked again: zero-copy-debate; other flags change it", "NAME"};
  Flag part{"--part", "be one round of a comparison, without judging: what a comparison runs round by round", "N"};
  Flag seed{"--seed", "every choice is drawn from it, decimal or 0x; default: a new one", "S"};
  Flag hang_timeout{"--hang-timeout",
                    "a call without progress for so long is a hang, such as 500ms or 10s; a bare number is seconds",
                    "TIME"};
  Flag format{"--format", "table, json or junit; default: table", "FORMAT"};
  Flag output{"--output", "write the report to this file, all at once; default: standard output", "FILE"};
  Flag quiet{"--quiet", "no progress and no remarks on standard error", ""};

  std::vector<Flag*> of(const std::string& command) {
    if (command == "check") {
      return {&world, &ring, &consumer, &scenario, &plugin, &records, &seed, &hang_timeout, &format, &output, &quiet};
    }
    if (command == "conform") return {&ring, &scripts, &seed, &jobs, &rules, &mutants, &rule, &format, &output, &quiet};
    if (command == "explore")
      return {&memory, &search,     &preemptions, &jobs, &time,   &executions, &events,
              &shard,  &checkpoint, &resume,      &seed, &format, &output,     &quiet};
    if (command == "replay") return {&program, &gdb, &format, &output, &quiet};
    if (command == "compare")
      return {&preset,   &world, &consumer, &plugin, &size,         &ring_size, &touch,  &rounds, &base,
              &baseline, &part,  &least,    &seed,   &hang_timeout, &format,    &output, &quiet};
    if (command == "mutants") return {&world, &consumer, &seed, &hang_timeout, &format, &output, &quiet};
    return {&format, &output, &quiet};
  }
};

struct CommandFace {
  const char* name;
  const char* summary;
};
constexpr CommandFace faces[] = {
    {"check", "judge consumers on the model and on rings of the running kernel"},
    {"mutants", "judge consumers that are broken on purpose: each must be convicted"},
    {"compare", "how fast consumers are beside one another, on the same records"},
    {"conform", "play the same scripts on the model and the running kernel, and compare every byte"},
    {"explore", "every execution of small programs, stale values included"},
    {"replay", "one failing case again: a script that conform's report gave, or a token of explore's"},
    {"list", "what can be named: consumers, scenarios, mutants, programs, rings"},
    {"doctor", "what this machine can run, what it lacks, how to get it"},
};

constexpr const char* footer =
    "Each flag is also an environment variable: --seed is RINGSIDE_SEED, --hang-timeout RINGSIDE_HANG_TIMEOUT.\n"
    "Exit status: 0 clean; 1 defects found; 2 wrong usage; 3 this machine cannot do what was asked;\n"
    "70 a fault of ringside itself; 128 + n after signal n.";

tl::unexpected<ring::Error> usage(std::string attempt, std::string reason, std::string remedy) {
  return ring::error(std::move(attempt), std::move(reason), std::move(remedy));
}

tl::unexpected<ring::Error> usage(const Flag& flag, const BadValue& value) {
  return usage("read " + flag.origin, value.reason, value.remedy);
}

/// Some flags mean less, or something else, to some commands.
std::string description_of(const std::string& command, const Flag& flag) {
  if (command == "mutants" && flag.name == "--world") {
    return "model, kernel, both of them, or explored; default: every world that this machine can run";
  }
  if (command == "mutants" && flag.name == "--consumer") {
    return "only these, see `ringside list mutants`; default: every mutant";
  }
  if ((command == "list" || command == "doctor") && flag.name == "--format") return "table or json; default: table";
  if (command == "compare" && flag.name == "--world") return "model or kernel; default: kernel";
  if (command == "compare" && flag.name == "--consumer") {
    return "only these, see `ringside list`; default: every strategy that reads BPF ring buffers";
  }
  if (command == "compare" && flag.name == "--plugin") {
    return "a shared object with a consumer (ring/consumer.h) to compare, too";
  }
  if (command == "compare" && flag.name == "--format") return "table, json, csv or html; default: table";
  if (command == "explore" && flag.name == "--jobs") return "processes that search a program; default: 1";
  if (command == "explore" && flag.name == "--format") return "table, json or html; default: table";
  if (command == "replay" && flag.name == "--format") {
    return "table, json or junit; for a token html, but no junit; default: table";
  }
  return flag.description;
}

void add_flag(CLI::App& command, Flag& flag) {
  const std::string description =
      fmt::format("{} [{}]", description_of(command.get_name(), flag), variable_of(flag.name));
  if (flag.value_name.empty()) {
    // Without a target: CLI11 would read the value of `--quiet=maybe` by rules of its own. See take_switch().
    command.add_flag(flag.name, description);
    return;
  }
  // Every flag takes a list, so that one said twice can be told as that.
  CLI::Option* const option = command.add_option(flag.name, flag.values, description);
  option->type_name(flag.value_name)->allow_extra_args(flag.many);
  // For a list CLI11 writes "NAME ...", which is right only where several may be named.
  if (!flag.many) option->option_text(flag.value_name);
}

/// What a line says besides commands and flags.
struct Positionals {
  std::string topic;  ///< of list
  std::string file;   ///< of replay
  Texts programs;     ///< of explore
};

std::unique_ptr<CLI::App> make_app(Flags& flags, Positionals& positionals, bool& version_asked) {
  auto app =
      std::make_unique<CLI::App>("Proves that code which reads Linux kernel rings reads them right.", "ringside");
  app->footer(footer);
  app->allow_extras();
  // At most one command, so that the `mutants` of `list mutants` is a topic.
  app->require_subcommand(0, 1);
  app->add_flag("--version", version_asked, "print the version");
  for (const CommandFace& face : faces) {
    CLI::App* const command = app->add_subcommand(face.name, face.summary);
    command->allow_extras();
    command->footer(footer);
    for (Flag* flag : flags.of(face.name)) add_flag(*command, *flag);
    if (std::string_view{face.name} == "list") {
      command->add_option("topic", positionals.topic,
                          fmt::format("one of: {}", harness::joined(harness::list_topics())));
    }
    if (std::string_view{face.name} == "replay") command->add_option("file", positionals.file, "a script, or a token");
    if (std::string_view{face.name} == "explore") {
      command->add_option("program", positionals.programs, "shipped programs by name, others by path; default: all");
    }
  }
  return app;
}

tl::unexpected<ring::Error> no_value(const std::string& flag) {
  return usage("read " + flag, "it has no value", fmt::format("write {} VALUE", flag));
}

/// CLI11 begins its message with the flag that has the problem: `--seed: 1 required TEXT missing`.
tl::unexpected<ring::Error> parse_error(const CLI::ParseError& failure) {
  const std::string message = harness::one_line(failure.what());
  const std::string flag = message.substr(0, message.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&failure) != nullptr && flag.starts_with("--")) return no_value(flag);
  return usage("read the command line", message, "see ringside --help");
}

Texts names_of(const std::vector<Flag*>& flags) {
  Texts names{"--help"};
  for (const Flag* flag : flags) names.push_back(flag->name);
  return names;
}

Texts command_names() {
  Texts names;
  for (const CommandFace& face : faces) names.emplace_back(face.name);
  return names;
}

/// What somebody may have meant by a word that the command does not take.
std::string remedy_for_word(const std::string& command) {
  if (command == "list") return "name one topic at a time";
  if (command == "replay") return "name one file or token at a time";
  if (command == "conform") return "name rings by --ring, rules by --rule; a script is played by ringside replay FILE";
  if (command == "doctor") return "it takes no names";
  return "name consumers by --consumer, scenarios by --scenario";
}

/// The first word that no command or flag took.
tl::unexpected<ring::Error> leftover_error(const std::string& word, const std::string& command, Flags& flags) {
  const std::string shown = harness::one_line(word);
  if (word.starts_with("-")) {
    const std::string flag = shown.substr(0, shown.find('='));
    const Texts names = command.empty() ? Texts{"--help", "--version"} : names_of(flags.of(command));
    const std::string who = command.empty() ? "ringside" : "ringside " + command;
    const bool belongs_to_command = command.empty() && !harness::nearest(flag, names);
    return usage(fmt::format("read flag {}", flag), fmt::format("{} has no such flag", who),
                 belongs_to_command ? "write the command first: " + harness::joined(command_names())
                                    : harness::suggestion(flag, names));
  }
  if (command.empty()) {
    return usage(fmt::format("run \"{}\"", shown), "there is no such command",
                 harness::suggestion(shown, command_names()));
  }
  return usage(fmt::format("read \"{}\"", shown), fmt::format("ringside {} does not expect it", command),
               remedy_for_word(command));
}

/// What the line said to one flag, before its value is read.
ring::Result<void> check_values(const Flag& flag) {
  // CLI11 gives a flag without a value the next word, whatever it is.
  const auto is_flag = [](const std::string& value) { return value.starts_with("--"); };
  if (std::any_of(flag.values.begin(), flag.values.end(), is_flag)) return no_value(flag.name);
  if (!flag.many && flag.values.size() > 1) return usage("read " + flag.name, "it was given twice", "give it once");
  return {};
}

/// What the line said to a switch: "true" for `--quiet`, the value for `--quiet=VALUE`; the last one counts.
void take_switch(const CLI::App& command, Flag& flag) {
  const Texts& said = command.get_option(flag.name)->results();
  if (!said.empty()) flag.values = {said.back()};
}

void read_environment(Flag& flag, Environment environment) {
  flag.origin = flag.name;
  if (flag.given()) return;
  const std::string variable = variable_of(flag.name);
  const char* const value = environment(variable.c_str());
  if (value == nullptr || *value == '\0') return;
  flag.values = {value};
  flag.origin = variable;
}

/// Reads one value into `target` when the flag was given.
template <class T, class Parse>
ring::Result<void> take(const Flag& flag, Parse parse, T& target) {
  if (!flag.given()) return {};
  const auto value = parse(flag.values.front());
  if (!value) return usage(flag, value.error());
  target = *value;
  return {};
}

Value<std::string> parse_path(std::string_view text) {
  if (text.empty()) return tl::unexpected(BadValue{"the path is empty", "write the path of a file"});
  return std::string{text};
}

ring::Result<void> take_names(const Flag& flag, Texts& target) {
  if (!flag.given()) return {};
  const Value<Texts> names = split_names(flag.values);
  if (!names) return usage(flag, names.error());
  target = *names;
  return {};
}

/// Every value of the flag, each read by `parse`.
template <class T, class Parse>
ring::Result<void> take_each(const Flag& flag, Parse parse, std::vector<T>& target) {
  Texts texts;
  if (const auto taken = take_names(flag, texts); !taken) return taken;
  if (!texts.empty()) target.clear();
  for (const std::string& text : texts) {
    const auto value = parse(text);
    if (!value) return usage(flag, value.error());
    target.push_back(static_cast<T>(*value));
  }
  return {};
}

std::uint64_t drawn_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

ring::Result<void> take_compare_format(const Flag& flag, harness::CompareFormat& format) {
  if (!flag.given()) return {};
  using harness::CompareFormat;
  for (const auto& [name, known] : {std::pair{"table", CompareFormat::table},
                                    {"json", CompareFormat::json},
                                    {"csv", CompareFormat::csv},
                                    {"html", CompareFormat::html}}) {
    if (flag.values.front() != name) continue;
    format = known;
    return {};
  }
  return usage(flag,
               BadValue{fmt::format("\"{}\" is no format of a comparison", harness::one_line(flag.values.front())),
                        "use table, json, csv or html"});
}

/// Of explore and of tokens there is a page, which no other report has.
ring::Result<void> take_format(const Flag& flag, Command command, Invocation& invocation) {
  if (command == Command::compare) return take_compare_format(flag, invocation.compare_format);
  const bool page = command == Command::explore || command == Command::replay;
  if (page && flag.given() && flag.values.front() == "html") {
    invocation.explore.html = true;
    return {};
  }
  if (command == Command::explore && flag.given() && flag.values.front() == "junit") {
    return usage(flag, BadValue{"an exploration has no test cases", "use table, json or html"});
  }
  return take(flag, parse_format, invocation.format);
}

/// What the programs' own fronts are to be told; counts as they are after reading.
ring::Result<void> take_explore(const Flags& flags, ExploreAsk& ask) {
  if (flags.memory.given()) {
    const std::string& model = flags.memory.values.front();
    if (model != "sc" && model != "tso" && model != "c11") {
      return usage(flags.memory, BadValue{fmt::format("\"{}\" is no memory model", harness::one_line(model)),
                                          "write sc, tso or c11"});
    }
    ask.options.insert(ask.options.end(), {"--memory", model});
  }
  for (const Flag* const flag : {&flags.jobs, &flags.executions, &flags.events}) {
    std::uint64_t count = 0;
    if (const auto taken = take(*flag, parse_count, count); !taken) return taken;
    if (flag->given()) ask.options.insert(ask.options.end(), {flag->name, std::to_string(count)});
  }
  ask.keeps = flags.checkpoint.given() || flags.resume.given();
  // Its own front reads these; it says what is wrong with them.
  for (const Flag* const flag :
       {&flags.search, &flags.preemptions, &flags.shard, &flags.time, &flags.checkpoint, &flags.resume}) {
    if (flag->given()) ask.options.insert(ask.options.end(), {flag->name, flag->values.front()});
  }
  return {};
}

/// How many rounds, or the number of one.
ring::Result<void> take_round(const Flag& flag, std::uint32_t& target) {
  std::uint64_t round = target;
  if (const auto taken = take(flag, parse_count, round); !taken) return taken;
  if (round > 100'000) return usage(flag, BadValue{"it is above 100000", "write less"});
  target = static_cast<std::uint32_t>(round);
  return {};
}

/// Records are of 32 bits; a comparison has one world.
ring::Result<void> take_compare(const Flags& flags, Invocation& invocation) {
  harness::CompareOptions& options = invocation.compare;
  if (const auto taken = take(flags.preset, parse_preset, options); !taken) return taken;
  std::vector<harness::WorldKind> worlds{options.world};
  if (const auto taken = take(flags.world, parse_worlds, worlds); !taken) return taken;
  if (worlds.size() != 1 || worlds.front() == harness::WorldKind::explored) {
    return usage(flags.world, BadValue{"a comparison is of one world", "write model or kernel"});
  }
  options.world = worlds.front();
  const auto parse_size = [](std::string_view text) -> Value<std::uint64_t> {
    const auto size = parse_bytes(text);
    if (size && *size > UINT32_MAX) return tl::unexpected(BadValue{"it is above 2^32", "write less"});
    return size;
  };
  ring::Result<void> taken = take_each(flags.size, parse_size, options.sizes);
  if (taken) taken = take(flags.ring_size, parse_bytes, options.ring_bytes);
  if (taken) taken = take_each(flags.touch, parse_touch, options.touches);
  if (taken) taken = take_round(flags.rounds, options.rounds);
  if (taken && flags.base.given()) options.base = flags.base.values.front();
  if (taken) taken = take(flags.baseline, parse_path, invocation.baseline);
  if (taken) taken = take(flags.least, parse_count, invocation.least_percent);
  if (taken) taken = take_round(flags.part, options.part);
  if (flags.consumer.given()) options.consumers = invocation.options.consumers;
  options.plugin = invocation.options.plugin;
  options.seed = invocation.options.seed;
  options.hang_timeout_ms = invocation.options.hang_timeout_ms;
  return taken;
}

/// Mutants are tried in the explored world as well; a check explores nothing.
ring::Result<void> take_worlds(const Flag& flag, Command command, std::vector<harness::WorldKind>& worlds) {
  if (command == Command::mutants && !flag.given()) worlds.push_back(harness::WorldKind::explored);
  const ring::Result<void> taken = take(flag, parse_worlds, worlds);
  if (taken && command == Command::check && worlds.front() == harness::WorldKind::explored) {
    return usage("read " + flag.origin, "consumers are not checked in the explored world",
                 "`ringside explore` explores programs, `ringside mutants --world explored` mutants");
  }
  return taken;
}

/// What can fail, in the order of the help, so that the first error is the one that a reader of the line meets first.
ring::Result<void> take_all(const Flags& flags, Invocation& invocation) {
  harness::CheckOptions& options = invocation.options;
  ring::Result<void> taken;
  if (invocation.command != Command::compare) taken = take_worlds(flags.world, invocation.command, options.worlds);
  if (taken) taken = take_each(flags.ring, parse_ring, options.rings);
  if (taken && flags.ring.given()) invocation.conform.rings = options.rings;
  if (taken) taken = take(flags.scripts, parse_count, invocation.conform.scripts);
  if (taken) taken = take(flags.jobs, parse_count, invocation.conform.jobs);
  if (taken) taken = take(flags.rules, parse_switch, invocation.conform.rules);
  if (taken) taken = take(flags.mutants, parse_switch, invocation.conform.mutants);
  if (taken) taken = take_names(flags.rule, invocation.conform.only);
  if (taken) taken = take_names(flags.consumer, options.consumers);
  if (taken) taken = take_names(flags.scenario, options.scenarios);
  if (taken) taken = take(flags.plugin, parse_path, options.plugin);
  if (taken) taken = take(flags.records, parse_count, options.records);
  if (taken) taken = take(flags.seed, parse_seed, options.seed);
  if (taken) taken = take(flags.hang_timeout, parse_duration_ms, options.hang_timeout_ms);
  if (taken && invocation.command == Command::compare) taken = take_compare(flags, invocation);
  if (taken) taken = take_explore(flags, invocation.explore);
  if (taken) taken = take(flags.program, parse_path, invocation.program);
  if (taken) taken = take(flags.gdb, parse_switch, invocation.gdb);
  if (taken) taken = take_format(flags.format, invocation.command, invocation);
  if (taken) taken = take(flags.output, parse_path, invocation.output);
  if (taken) taken = take(flags.quiet, parse_switch, invocation.quiet);
  return taken;
}

/// The line that does the same again: what was said, and the seed. Where the report goes and how it looks is left out.
std::string repeat_line(const std::string& command, const std::vector<Flag*>& flags, std::uint64_t seed) {
  std::string line = "ringside " + command;
  for (const Flag* flag : flags) {
    if (flag->name == "--seed") line += fmt::format(" --seed 0x{:016x}", seed);
    const bool about_the_report = flag->name == "--format" || flag->name == "--output" || flag->name == "--quiet";
    if (flag->name == "--seed" || about_the_report || !flag->given()) continue;
    const bool is_switch = flag->value_name.empty();
    if (is_switch && !parse_switch(flag->values.front()).value_or(false)) continue;
    line += ' ' + flag->name;
    if (is_switch) continue;
    for (const std::string& value : flag->values) line += ' ' + harness::shell_quoted(value);
  }
  return line;
}

Command command_of(const std::string& name) {
  if (name == "check") return Command::check;
  if (name == "mutants") return Command::mutants;
  if (name == "compare") return Command::compare;
  if (name == "conform") return Command::conform;
  if (name == "explore") return Command::explore;
  if (name == "replay") return Command::replay;
  return name == "list" ? Command::list : Command::doctor;
}

ring::Result<Invocation> read_command(const CLI::App& command, Flags& flags, Environment environment) {
  const std::string name = command.get_name();
  if (!command.remaining().empty()) return leftover_error(command.remaining().front(), name, flags);
  const std::vector<Flag*> own = flags.of(name);
  for (Flag* flag : own) {
    if (flag->value_name.empty()) take_switch(command, *flag);
    if (const ring::Result<void> said = check_values(*flag); !said) return tl::unexpected(said.error());
    read_environment(*flag, environment);
  }
  Invocation invocation;
  invocation.command = command_of(name);
  invocation.options.seed = flags.seed.given() ? 0 : drawn_seed();
  if (const ring::Result<void> taken = take_all(flags, invocation); !taken) return tl::unexpected(taken.error());
  invocation.worlds_named = flags.world.given();
  invocation.repeat = repeat_line(name, own, invocation.options.seed);
  return invocation;
}

Invocation print(std::string text) {
  Invocation invocation;
  invocation.text = std::move(text);
  return invocation;
}

}  // namespace

ring::Result<Invocation> parse_command_line(int argc, const char* const* argv, Environment environment) {
  Flags flags;
  Positionals positionals;
  bool version_asked = false;
  const std::unique_ptr<CLI::App> app = make_app(flags, positionals, version_asked);
  try {
    app->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print(app->help());
  } catch (const CLI::ParseError& failure) {
    return parse_error(failure);
  }
  if (version_asked) return print(fmt::format("ringside {}\n", harness::version));
  const std::vector<CLI::App*> commands = app->get_subcommands();
  if (!app->remaining().empty()) return leftover_error(app->remaining().front(), "", flags);
  if (commands.empty())
    return usage("run ringside", "no command was named", "one of " + harness::joined(command_names()));
  ring::Result<Invocation> invocation = read_command(*commands.front(), flags, environment);
  if (!invocation) return invocation;
  invocation->topic = positionals.topic;
  invocation->file = positionals.file;
  invocation->explore.programs = positionals.programs;
  if (invocation->command == Command::explore) {
    for (const std::string& program : positionals.programs) {
      invocation->repeat += ' ' + harness::shell_quoted(program);
    }
    if (invocation->quiet) invocation->explore.options.emplace_back("--quiet");
    invocation->explore.options.insert(invocation->explore.options.end(),
                                       {"--seed", std::to_string(invocation->options.seed)});
  }
  if (invocation->command == Command::replay && invocation->file.empty()) {
    return usage("run ringside replay", "no file was named", "name a script or a token: ringside replay FILE");
  }
  return invocation;
}

}  // namespace ringside::cli
