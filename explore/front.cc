// SPDX-License-Identifier: Apache-2.0
#include "explore/front.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "explore/minimise.h"
#include "explore/places.h"
#include "explore/report.h"
#include "explore/walks.h"

namespace ringside::explore {
namespace {

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

int refuse(const std::string& program, const ring::Error& error) {
  say(fmt::format("{}: {}\n", program, ring::to_string(error)));
  return front_usage;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
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
    std::vector<std::string> names = options_.names;
    if (names.empty()) {
      for (const auto& [name, program] : hooks_.programs) names.push_back(name);
    }
    for (const std::string& name : names) {
      if (!hooks_.programs.contains(name)) return refuse(program_, unknown(name));
    }
    if (names.empty()) {
      return refuse(program_, {"explore", "no program is registered", "see explore/explored.h"});
    }
    std::vector<ProgramReport> reports;
    for (const std::string& name : names) {
      if (!options_.quiet && names.size() > 1) say(fmt::format("exploring {}\n", name));
      reports.push_back(explore_one(name));
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
    const double begin = seconds_now();
    const Program prepared = hooks_.prepare(found->second);
    const SearchResult result = explore::replay(prepared, token->schedule, options_.search);
    if (!result.failure) {
      say(fmt::format("{}: replay {}: the failure did not come again\n", program_, token->name));
      return front_fault;
    }
    const Minimum as_it_is{
        .failure = *result.failure, .cost = cost_of(result.failure->graph), .compared = 1, .all = false};
    ProgramReport report =
        report_of({token->name, found->second, token->model, result, seconds_now() - begin}, as_it_is, places_);
    add_replay(report, result.failure->schedule);
    return conclude({report});
  }

 private:
  SearchResult searched(const Program& program) const {
    SearchOptions search = options_.search;
    if (options_.way == FrontSearch::dpor) return hooks_.explore(program, search, explore::search);
    constexpr std::uint64_t drawn = 10'000;
    constexpr std::size_t pct_depth = 3;  // enough for what needs two preemptions
    const bool draws = options_.way != FrontSearch::bounded;
    if (draws && search.most_executions == UINT64_MAX) search.most_executions = drawn;
    const auto chooser = options_.way == FrontSearch::random ? random_walk(options_.seed)
                         : options_.way == FrontSearch::pct  ? pct_walk(options_.seed, pct_depth)
                                                             : bounded_walk(options_.preemptions);
    return hooks_.explore(program, search, [&chooser](const Program& prepared, const SearchOptions& options) {
      return walk(prepared, *chooser, options);
    });
  }

  ring::Error unknown(const std::string& name) const {
    return {fmt::format("find \"{}\"", name), "no program is registered under that name", "--list names them"};
  }

  ProgramReport explore_one(const std::string& name) {
    const Program& program = hooks_.programs.at(name);
    const double begin = seconds_now();
    const SearchResult result = searched(program);
    const double seconds = seconds_now() - begin;
    std::optional<Minimum> minimum;
    if (result.failure && !result.failure->steps.empty()) {
      minimum = minimise(hooks_.prepare(program), *result.failure, options_.search);
    }
    ProgramReport report = report_of({name, program, options_.search.model, result, seconds}, minimum, places_);
    if (minimum) add_replay(report, minimum->failure.schedule);
    if (options_.search.shards > 1) {
      report.bounds.push_back(fmt::format("part {} of {}", options_.search.shard + 1, options_.search.shards));
      if (report.verdict == Verdict::proved) report.verdict = Verdict::bounded;
    }
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
    const char* const no_colour = std::getenv("NO_COLOR");
    style.colour =
        options_.output.empty() && isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0');
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
    const std::string beside = options_.output + ".new";
    std::FILE* const out = to_file ? std::fopen(beside.c_str(), "w") : stdout;
    bool good = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    if (out != nullptr) good = (to_file ? std::fclose(out) : std::fflush(out)) == 0 && good;
    if (to_file && good) good = std::rename(beside.c_str(), options_.output.c_str()) == 0;
    if (!good) say(fmt::format("{}: the report cannot be written\n", program_));
    return good;
  }

  std::string program_;
  FrontOptions options_;
  const FrontHooks& hooks_;
  Places places_;
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
