// SPDX-License-Identifier: Apache-2.0
//
// CLI11 takes the line apart and writes the help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "explore/front.h"
#include "explore/memory_model.h"

namespace ringside::explore {
namespace {

tl::unexpected<ring::Error> wrong(const std::string& what, std::string reason, std::string remedy) {
  return ring::error("read " + what, std::move(reason), std::move(remedy));
}

constexpr std::size_t most_jobs = 64;

template <class Value>
using Words = std::map<std::string, Value>;

const Words<MemoryModel> models{{"sc", MemoryModel::sc}, {"tso", MemoryModel::tso}, {"c11", MemoryModel::c11}};
const Words<FrontSearch> searches{{"dpor", FrontSearch::dpor},
                                  {"random", FrontSearch::random},
                                  {"pct", FrontSearch::pct},
                                  {"uniform", FrontSearch::uniform}};
const Words<FrontFormat> formats{
    {"table", FrontFormat::table}, {"json", FrontFormat::json}, {"html", FrontFormat::html}};

/// One of the words; which they are says the help and the error.
template <class Value>
CLI::Option* add_word(CLI::App& app, const std::string& name, Value& target, const Words<Value>& words,
                      const std::string& description) {
  std::string known;
  for (const auto& [word, value] : words) known += (known.empty() ? "" : ", ") + word;
  const auto take = [name, &target, &words, known](const std::string& said) {
    const auto found = words.find(said);
    if (found == words.end()) throw CLI::ValidationError(name, fmt::format("\"{}\" is none of {}", said, known));
    target = found->second;
  };
  return app.add_option_function<std::string>(name, take, description)->type_name("WORD");
}

/// Digits, `least` or more.
template <class Count>
CLI::Option* add_count(CLI::App& app, const std::string& name, Count& target, const std::string& description,
                       Count least = 1) {
  const auto take = [name, &target, least](const std::string& said) {
    Count count = 0;
    const char* const end = said.data() + said.size();
    const auto [stop, fault] = std::from_chars(said.data(), end, count);
    if (fault != std::errc{} || stop != end || count < least) {
      throw CLI::ValidationError(name, fmt::format("\"{}\" is no count; write digits: {} or more", said, least));
    }
    target = count;
  };
  return app.add_option_function<std::string>(name, take, description)->type_name("N");
}

/// `90`, `90s`, `10m` or `2h`.
void add_time(CLI::App& app, const std::string& name, double& seconds, const std::string& description) {
  const auto take = [name, &seconds](const std::string& said) {
    constexpr double most_seconds = 1e9;
    double count = 0;
    const char* const end = said.data() + said.size();
    const auto [stop, fault] = std::from_chars(said.data(), end, count);
    const std::string unit(fault == std::errc{} ? stop : end, end);
    const double factor = unit == "h" ? 3600 : unit == "m" ? 60 : unit == "s" || unit.empty() ? 1 : 0;
    if (fault != std::errc{} || factor == 0 || !(count * factor > 0 && count * factor < most_seconds)) {
      throw CLI::ValidationError(name, fmt::format("\"{}\" is no time; write 90s, 10m or 2h", said));
    }
    seconds = count * factor;
  };
  app.add_option_function<std::string>(name, take, description)->type_name("TIME");
}

/// `2/4`: the second of four parts.
void take_shard(const std::string& text, SearchOptions& search) {
  std::size_t part = 0;
  std::size_t parts = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, part);
  const bool slash = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, parts) : first;
  if (!slash || second.ec != std::errc{} || second.ptr != end || part < 1 || part > parts) {
    const std::string reason = fmt::format("\"{}\" is no part of a whole; write I/N, I from 1 to N", text);
    throw CLI::ValidationError("--shard", reason);
  }
  search.shard = part - 1;
  search.shards = parts;
}

/// What the line may say, and where that goes.
std::unique_ptr<CLI::App> make_app(FrontOptions& options, const std::string& program) {
  auto app = std::make_unique<CLI::App>(
      "Explores every execution of the programs that are registered under these names, or of all.", program);
  app->footer("Exit status: 0 nothing fails; 1 something fails; 2 wrong usage; 70 a fault of the explorer.");
  app->add_option("name", options.names, "programs; default: all")->type_name("NAME");
  add_word(*app, "--memory", options.search.model, models, "memory model: sc, tso or c11; default: c11");
  auto* const way = add_word(*app, "--search", options.way, searches,
                             "dpor (every execution), random, pct or uniform (drawn); default: dpor");
  auto* const preemptions =
      add_count(*app, "--preemptions", options.preemptions,
                "all that take so many preemptions and stale accesses at most, the simplest first", std::size_t{0});
  preemptions->excludes(way);
  add_count(*app, "--seed", options.seed, "of what is drawn; default: 1", std::uint64_t{0});
  const auto part = [&options](const std::string& text) { take_shard(text, options.search); };
  app->add_option_function<std::string>("--shard", part, "only the I-th of N parts")->type_name("I/N");
  add_count(*app, "--jobs", options.jobs, "searching processes; default: 1");
  add_time(*app, "--time", options.seconds, "no longer than that for each program, such as 90s or 10m");
  app->add_option("--checkpoint", options.checkpoint, "keep there what is still to be searched")->type_name("FILE");
  app->add_option("--resume", options.resume, "go on with what such a file has kept")->type_name("FILE");
  add_count(*app, "--executions", options.search.most_executions,
            "no more than so many; the verdict is then bounded; default of drawn ones: 10000");
  add_count(*app, "--events", options.search.most_events,
            "more in one execution is a loop without an end; default: 1000");
  add_word(*app, "--format", options.format, formats, "table, json or html; default: table");
  app->add_option("--output", options.output, "write the report there, all at once")->type_name("FILE");
  app->add_flag("--list", options.list, "only name the programs");
  app->add_option("--replay", options.replay, "one failing execution again")->type_name("TOKEN");
  app->add_flag("--quiet", options.quiet, "no remarks on standard error");
  return app;
}

/// An option that another search than the exhaustive one does not know; empty: none.
std::string only_of_dpor(const FrontOptions& options) {
  if (options.way == FrontSearch::dpor) return "";
  if (options.search.shards > 1) return "--shard";
  if (options.jobs > 1) return "--jobs";
  if (options.seconds != 0) return "--time";
  if (!options.checkpoint.empty()) return "--checkpoint";
  return options.resume.empty() ? "" : "--resume";
}

/// What CLI11 says of it, in one line: `--seed: ...`.
tl::unexpected<ring::Error> told(const CLI::ParseError& failure) {
  std::string text = failure.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return wrong("the command line", text, "--help tells what it may say");
}

}  // namespace

std::string front_help(const std::string& program) {
  FrontOptions options;
  return make_app(options, program)->help();
}

ring::Result<FrontOptions> front_options(std::vector<std::string> arguments) {
  FrontOptions options;
  const auto app = make_app(options, "explore");
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app->parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    options.help = true;
    return options;
  } catch (const CLI::ParseError& failure) {
    return told(failure);
  }
  if (app->count("--preemptions") > 0) options.way = FrontSearch::bounded;
  if (const auto wrong_way = only_of_dpor(options); !wrong_way.empty()) {
    return wrong(wrong_way, "only the exhaustive search has it", "leave --search and --preemptions out");
  }
  if (options.jobs > most_jobs) {
    return wrong("--jobs", fmt::format("{} are too many", options.jobs), fmt::format("{} or fewer", most_jobs));
  }
  if (!options.replay.empty() && !options.names.empty()) {
    return wrong(options.names.front(), "a token names its program itself", "write --replay TOKEN alone");
  }
  return options;
}

std::string to_text(const Token& token) {
  return fmt::format("{}/{}/{}/{}", token.name, name_of(token.model), token.build, token.schedule);
}

ring::Result<Token> token_from(std::string_view text) {
  const std::string attempt = fmt::format("the token \"{}\"", text);
  std::vector<std::string> parts(3);
  std::string_view rest = text;
  for (std::size_t part = 3; part-- > 0;) {
    const std::size_t slash = rest.rfind('/');
    if (slash == std::string_view::npos) {
      return wrong(attempt, "it is not NAME/MODEL/BUILD/SCHEDULE", "copy the whole of what the failure said");
    }
    parts[part] = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
  }
  const auto model = models.find(parts[0]);
  if (model == models.end()) {
    return wrong(attempt, fmt::format("there is no memory model \"{}\"", parts[0]), "sc, tso or c11");
  }
  return Token{.name = std::string{rest}, .model = model->second, .build = parts[1], .schedule = parts[2]};
}

}  // namespace ringside::explore
