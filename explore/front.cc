// SPDX-License-Identifier: Apache-2.0
#include "explore/front.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include "explore/checkpoint.h"
#include "explore/exhaustive.h"
#include "explore/minimise.h"
#include "explore/places.h"
#include "explore/report.h"
#include "explore/walks.h"
#include "ring/io.h"
#include "ring/signals.h"
#include "ring/terminal.h"
#include "ring/text.h"

namespace ringside::explore {
namespace {

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

int refuse(const std::string& program, const ring::Error& error, int status = front_usage) {
  say(fmt::format("{}: {}\n", program, ring::to_string(error)));
  return status;
}

ring::Result<std::string> text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return ring::errno_error("read " + path, errno, "name a file that --checkpoint wrote");
  return text.str();
}

class Front {
 public:
  Front(std::string program, FrontOptions options, const FrontHooks& hooks)
      : program_(std::move(program)), options_(std::move(options)), hooks_(hooks) {}

  int list() const {
    for (const auto& [name, program] : hooks_.programs) std::printf("%s\n", name.c_str());
    return front_clean;
  }

  int explore() {
    if (const auto begun = options_.resume.empty() ? begin() : resume(); !begun) return refuse(program_, begun.error());
    if (const auto kept = keep(); !kept) return refuse(program_, kept.error());
    // Walks end as the process does.
    std::optional<ring::SignalGuard> signals;
    if (options_.way == FrontSearch::dpor) signals.emplace();
    std::vector<ProgramReport> reports;
    for (Checkpoint::Part& part : kept_.programs) {
      if (signals && ring::interrupted_by() != 0) break;
      if (!options_.quiet && kept_.programs.size() > 1) say(fmt::format("exploring {}\n", part.name));
      try {
        reports.push_back(part.ended ? *part.ended : explore_one(part));
      } catch (const std::system_error& fault) {
        return refuse(program_,
                      {fmt::format("search by {} processes", options_.jobs), fault.what(), "say fewer --jobs"},
                      front_fault);
      }
      if (const auto kept = keep(); !kept) return refuse(program_, kept.error(), front_fault);
    }
    if (!options_.quiet && reports.size() < kept_.programs.size()) {
      say(fmt::format("{}: ended by a signal; {} not begun\n", program_,
                      ring::counted(kept_.programs.size() - reports.size(), "program")));
    }
    return conclude(reports);
  }

  int replay() {
    const auto token = token_from(options_.replay);
    if (!token) return refuse(program_, token.error());
    const auto found = hooks_.programs.find(token->name);
    if (found == hooks_.programs.end()) return refuse(program_, unknown(token->name));
    if (token->build != hooks_.build) {
      return refuse(program_,
                    {"replay " + token->name,
                     fmt::format("the failure is of build {}, and this is build {}", token->build, hooks_.build),
                     "explore it anew"});
    }
    options_.search.model = token->model;
    options_.search.questions = false;  // as minimise() had it
    const double begin = ring::steady_seconds();
    const Program prepared = hooks_.prepare(found->second);
    const SearchResult result = explore::replay(prepared, token->schedule, options_.search);
    if (!result.failure) {
      say(fmt::format("{}: replay {}: the failure did not come again\n", program_, token->name));
      return front_fault;
    }
    const Minimum as_it_is{
        .failure = *result.failure, .cost = cost_of(result.failure->graph), .compared = 1, .all = false};
    ProgramReport report = report_of({token->name, found->second, token->model, result, ring::steady_seconds() - begin},
                                     as_it_is, places_);
    add_replay(report, result.failure->schedule);
    return conclude({report});
  }

 private:
  ring::Result<void> begin() {
    std::vector<std::string> names = options_.names;
    if (names.empty()) {
      for (const auto& [name, program] : hooks_.programs) names.push_back(name);
    }
    for (const std::string& name : names) {
      if (!hooks_.programs.contains(name)) return tl::unexpected(unknown(name));
      kept_.programs.push_back({.name = name});
    }
    if (names.empty()) return ring::error("explore", "no program is registered", "see explore/explored.h");
    kept_.terms = terms();
    return {};
  }

  /// With the programs of the file, which are those of the command if it names any.
  ring::Result<void> resume() {
    const auto text = text_of_file(options_.resume);
    if (!text) return tl::unexpected(text.error());
    auto kept = checkpoint_from(*text);
    if (!kept) return tl::unexpected(kept.error());
    if (const auto same = check_terms(options_.resume, kept->terms, terms()); !same) return same;
    std::vector<std::string> names;
    for (const Checkpoint::Part& part : kept->programs) {
      if (!hooks_.programs.contains(part.name)) return tl::unexpected(unknown(part.name));
      names.push_back(part.name);
    }
    if (!options_.names.empty() && options_.names != names) {
      return ring::error("go on with " + options_.resume,
                         fmt::format("it is of {}, and not of {}", ring::joined(names), ring::joined(options_.names)),
                         "name the same programs, or none");
    }
    kept_ = std::move(*kept);
    return {};
  }

  Checkpoint::Terms terms() const {
    return {.build = hooks_.build,
            .memory = std::string{name_of(options_.search.model)},
            .events = options_.search.most_events,
            .shard = options_.search.shard,
            .shards = options_.search.shards};
  }

  ring::Result<void> keep() const {
    if (options_.checkpoint.empty()) return {};
    return ring::replace_file(options_.checkpoint, to_text(kept_));
  }

  SearchResult searched_wholly(Checkpoint::Part& part) {
    ExhaustiveSearch search{.name = part.name,
                            .jobs = options_.jobs,
                            .most_seconds = options_.seconds,
                            .tells = !options_.quiet,
                            .line = ring::ProgressLine::on_standard_error(),
                            .seconds = ring::steady_seconds};
    const double before = part.seconds;
    const double begin = ring::steady_seconds();
    if (!options_.checkpoint.empty()) {
      search.keep = [this, &part, before, begin](const OpenSearch&) {
        part.seconds = before + ring::steady_seconds() - begin;
        if (const auto kept = keep(); !kept) refuse(program_, kept.error());
      };
    }
    const Program& program = hooks_.programs.at(part.name);
    SearchResult result =
        hooks_.explore(program, options_.search, [&](const Program& prepared, const SearchOptions& options) {
          return search_exhaustively(search, prepared, options, part.open);
        });
    part.seconds = before + ring::steady_seconds() - begin;
    return result;
  }

  SearchResult searched(Checkpoint::Part& part) {
    if (options_.way == FrontSearch::dpor) return searched_wholly(part);
    SearchOptions search = options_.search;
    constexpr std::uint64_t drawn = 10'000;
    constexpr std::size_t pct_depth = 3;  // enough for what needs two preemptions
    const bool draws = options_.way != FrontSearch::bounded;
    if (draws && search.most_executions == UINT64_MAX) search.most_executions = drawn;
    const auto chooser = options_.way == FrontSearch::random    ? random_walk(options_.seed)
                         : options_.way == FrontSearch::pct     ? pct_walk(options_.seed, pct_depth)
                         : options_.way == FrontSearch::uniform ? uniform_walk(options_.seed)
                                                                : bounded_walk(options_.preemptions);
    const double begin = ring::steady_seconds();
    SearchResult result = hooks_.explore(hooks_.programs.at(part.name), search,
                                         [&chooser](const Program& prepared, const SearchOptions& options) {
                                           return walk(prepared, *chooser, options);
                                         });
    part.seconds = ring::steady_seconds() - begin;
    return result;
  }

  ring::Error unknown(const std::string& name) const {
    return {fmt::format("find \"{}\"", name), "no program is registered under that name", "--list names them"};
  }

  ProgramReport explore_one(Checkpoint::Part& part) {
    const Program& program = hooks_.programs.at(part.name);
    const SearchResult result = searched(part);
    std::optional<Minimum> minimum;
    if (result.failure && !result.failure->steps.empty()) {
      minimum = minimise(hooks_.prepare(program), *result.failure, options_.search);
    }
    ProgramReport report =
        report_of({part.name, program, options_.search.model, result, part.seconds}, minimum, places_);
    if (minimum) add_replay(report, minimum->failure.schedule);
    if (options_.search.shards > 1) {
      report.bounds.push_back(fmt::format("part {} of {}", options_.search.shard + 1, options_.search.shards));
      if (report.verdict == Verdict::proved) report.verdict = Verdict::bounded;
    }
    if (result.failure || part.open.tasks.empty()) part.ended = report;
    return report;
  }

  void add_replay(ProgramReport& report, const std::string& schedule) const {
    report.failure->token = to_text(Token{report.name, options_.search.model, hooks_.build, schedule});
    report.failure->replay = fmt::format("{} --replay {}", program_, report.failure->token);
    if (options_.search.most_events != SearchOptions{}.most_events) {
      report.failure->replay += fmt::format(" --events {}", options_.search.most_events);
    }
  }

  std::string rendered(const std::vector<ProgramReport>& reports) const {
    if (options_.format == FrontFormat::json) return json_of(reports);
    if (options_.format == FrontFormat::html) return html_of(reports);
    ring::TextStyle style{.columns = 120};
    style.colour = options_.output.empty() && ring::shows_colour(STDOUT_FILENO);
    std::string text;
    for (const ProgramReport& report : reports) text += text_of(report, style);
    return text;
  }

  int conclude(const std::vector<ProgramReport>& reports) const {
    int status = front_clean;
    for (const ProgramReport& report : reports) {
      if (report.verdict == Verdict::failed) status = front_failed;
    }
    return write(rendered(reports)) ? status : front_fault;
  }

  /// A file appears whole or not at all.
  bool write(const std::string& text) const {
    const bool to_file = !options_.output.empty();
    const bool good = to_file
                          ? ring::replace_file(options_.output, text).has_value()
                          : std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!good) say(fmt::format("{}: the report cannot be written\n", program_));
    return good;
  }

  std::string program_;
  FrontOptions options_;
  const FrontHooks& hooks_;
  Places places_;
  Checkpoint kept_;  ///< of all programs, whether it is written somewhere or not
};

}  // namespace

std::string own_build() { return Places{}.build_id().substr(0, 8); }

int front(const std::string& program, const std::vector<std::string>& arguments, const FrontHooks& hooks) {
  auto options = front_options(arguments);
  if (!options) return refuse(program, options.error());
  if (options->help) {
    std::fputs(front_help(program).c_str(), stdout);
    return front_clean;
  }
  const bool lists = options->list;
  const bool replays = !options->replay.empty();
  Front front(program, std::move(*options), hooks);
  if (lists) return front.list();
  return replays ? front.replay() : front.explore();
}

}  // namespace ringside::explore
