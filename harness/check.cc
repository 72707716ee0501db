// SPDX-License-Identifier: Apache-2.0
#include "harness/check.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include "harness/catalogue.h"
#include "harness/child.h"
#include "harness/explored_trials.h"
#include "harness/nearest.h"
#include "harness/shell.h"
#include "harness/text_layout.h"
#include "harness/user_session.h"
#include "harness/user_world.h"
#include "harness/world.h"
#include "real/capabilities.h"
#include "real/producers.h"
#include "real/ringbuf.h"
#include "ring/signals.h"

namespace ringside::harness {

namespace {

std::string repeat_line(const CheckOptions& options, const RunSpec& spec) {
  std::string line =
      fmt::format("ringside check --world {} --ring {} --consumer {} --scenario {} --seed {}", name_of(spec.world),
                  ring::name_of(spec.ring), spec.consumer, shell_quoted(spec.scenario), spec.seed);
  if (spec.records != 0) line += fmt::format(" --records {}", spec.records);
  if (!options.plugin.empty()) line += " --plugin " + shell_quoted(options.plugin);
  if (options.hang_timeout_ms != CheckOptions{}.hang_timeout_ms) {
    line += fmt::format(" --hang-timeout {}ms", options.hang_timeout_ms);
  }
  return line;
}

/// One cell, ready to run: names looked up, files read.
struct Cell {
  RunSpec spec;
  Judged judged;
  const Scenario* scenario = nullptr;
};

/// A plan and what its cells point into.
struct Plan {
  Catalogue catalogue;
  std::vector<Scenario> scenarios;
  std::vector<Cell> cells;
};

ring::Result<std::vector<Scenario>> named_scenarios(const CheckOptions& options) {
  if (options.scenarios.empty()) return shipped_scenarios();
  std::vector<Scenario> scenarios;
  for (const std::string& name : options.scenarios) {
    auto scenario = find_scenario(name);
    if (!scenario) return tl::unexpected(scenario.error());
    scenarios.push_back(std::move(*scenario));
    // A file is named by its path, so that the line that repeats the run finds it again.
    if (name.find('/') != std::string::npos || name.ends_with(".toml")) scenarios.back().name = name;
  }
  return scenarios;
}

Cell cell_of(const CheckOptions& options, WorldKind world, ring::RingKind kind, const Scenario& scenario,
             const Judged& judged) {
  return {.spec = {.consumer = judged.name(),
                   .scenario = scenario.name,
                   .world = world,
                   .ring = kind,
                   .seed = options.seed,
                   .records = options.records},
          .judged = judged,
          .scenario = &scenario};
}

ring::Result<Plan> make_plan(const CheckOptions& options) {
  auto catalogue = Catalogue::load(options.plugin);
  if (!catalogue) return tl::unexpected(catalogue.error());
  auto scenarios = named_scenarios(options);
  if (!scenarios) return tl::unexpected(scenarios.error());
  std::vector<Judged> all;
  for (const std::string& name : options.consumers.empty() ? catalogue->default_names() : options.consumers) {
    auto consumer = catalogue->find(name);
    if (!consumer) return tl::unexpected(consumer.error());
    all.push_back(*consumer);
  }
  Plan plan{.catalogue = std::move(*catalogue), .scenarios = std::move(*scenarios), .cells = {}};
  for (const WorldKind world : options.worlds) {
    for (const ring::RingKind kind : options.rings) {
      for (const Scenario& scenario : plan.scenarios) {
        for (const Judged& judged : all) {
          if (!scenario.runs_on(kind) || !scenario.runs_in(world)) continue;
          if (!judged.runs_on(kind) || !judged.lives_in(world)) continue;
          if (scenario.ring.overwrite && !judged.reads_overwrite_rings()) continue;
          if ((scenario.ring.sides == 2) != judged.reads_sides()) continue;
          if (scenario.ring.backward != judged.reads_backward()) continue;
          if (scenario.ring.per_cpu && !judged.reads_several_rings()) continue;
          plan.cells.push_back(cell_of(options, world, kind, scenario, judged));
        }
      }
    }
  }
  if (plan.cells.empty()) {
    return ring::error("plan the check", "no named consumer can run any named scenario in a named world",
                       "see `ringside list` for the rings that each reads");
  }
  return plan;
}

/// The kind of ring on which a mutant is tried.
ring::RingKind kind_of(const Judged& judged) {
  for (const ring::RingKind kind : {ring::RingKind::perf, ring::RingKind::user_ringbuf}) {
    if (judged.runs_on(kind)) return kind;
  }
  return ring::RingKind::ringbuf;
}

/// Why kernel rings cannot be run on this machine, or nothing.
std::optional<std::string> kernel_is_missing() {
  const auto all = real::capabilities();
  const real::Capability* missing = real::first_missing(all);
  if (missing == nullptr) return std::nullopt;
  std::string reason = fmt::format("{}: {}", missing->name, missing->detail);
  if (!missing->remedy.empty()) reason += fmt::format("; {}", missing->remedy);
  return reason;
}

RunResult judged_as(const RunSpec& spec, const ring::Verdict& verdict) {
  return {.spec = spec, .outcome = verdict.clean() ? Outcome::clean : Outcome::defects, .verdict = verdict};
}

RunResult judge_producer(const Cell& cell, ChildScope& scope) {
  RunResult result{.spec = cell.spec};
  const UserWorldRequest request{.scenario = cell.scenario, .trigger = cell.judged.producer->trigger};
  auto world = cell.spec.world == WorldKind::model ? make_user_model_world(request) : make_user_kernel_world(request);
  if (!world) {
    result.reason = ring::to_string(world.error());
    return result;
  }
  scope.watch_user_ring((*world)->ring());
  auto verdict = run_user_session(
      **world, {.scenario = cell.scenario,
                .producer = cell.judged.producer,
                .seed = cell.spec.seed,
                .records = cell.spec.records,
                .heartbeat = scope.heartbeat,
                .abandon = [&](const ring::Verdict& early) { scope.leave(judged_as(cell.spec, early)); }});
  if (verdict) return judged_as(cell.spec, *verdict);
  result.reason = ring::to_string(verdict.error());
  return result;
}

RunResult judge_consumer(const Cell& cell, ChildScope& scope) {
  RunResult result{.spec = cell.spec};
  const WorldRequest request{.scenario = cell.scenario,
                             .consumer = cell.judged.consumer,
                             .kind = cell.spec.ring,
                             .records = cell.spec.records,
                             .seed = cell.spec.seed};
  auto world = cell.spec.world == WorldKind::model ? make_model_world(request) : make_kernel_world(request);
  if (!world) {
    result.reason = ring::to_string(world.error());
    return result;
  }
  scope.watch_rings(**world);
  const Workload workload(*cell.scenario, cell.spec.ring, cell.spec.records);
  auto verdict =
      run_session(**world, {.scenario = cell.scenario,
                            .consumer = cell.judged.consumer,
                            .kind = cell.spec.ring,
                            .seed = cell.spec.seed,
                            .most_records = workload.most_records(),
                            .planned = workload.planned_records(),
                            .heartbeat = scope.heartbeat,
                            .abandon = [&](const ring::Verdict& early) { scope.leave(judged_as(cell.spec, early)); }});
  if (!verdict) {
    result.reason = ring::to_string(verdict.error());
    return result;
  }
  return judged_as(cell.spec, *verdict);
}

/// All mutants where none is named.
ring::Result<std::vector<JudgedMutant>> named_mutants(const std::vector<std::string>& names) {
  std::vector<JudgedMutant> all = all_mutants();
  if (names.empty()) return all;
  std::vector<std::string> known;
  for (const JudgedMutant& mutant : all) known.emplace_back(mutant.judged.name());
  std::vector<JudgedMutant> named;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      return ring::error(fmt::format("find mutant \"{}\"", one_line(name)), "no mutant has that name",
                         suggestion(name, known));
    }
    named.push_back(all[static_cast<std::size_t>(found - known.begin())]);
  }
  return named;
}

std::size_t count_trials(const std::vector<JudgedMutant>& mutants, const std::vector<WorldKind>& worlds) {
  std::size_t trials = 0;
  for (const JudgedMutant& mutant : mutants) {
    trials += static_cast<std::size_t>(
        std::count_if(worlds.begin(), worlds.end(), [&](WorldKind world) { return mutant.tried_in(world); }));
  }
  return trials;
}

/// Runs the cells of one command, in order.
class Runner {
 public:
  Runner(const CheckOptions& options, const ProgressSink& progress, std::size_t total)
      : options_(options), progress_(progress), total_(total) {}

  RunResult run(const Cell& cell) {
    return timed(cell.spec, repeat_line(options_, cell.spec), [&] { return run_or_skip(cell); });
  }

  /// Of a mutant in the explored world; and how many executions that took.
  std::pair<RunResult, std::uint64_t> explore(const RunSpec& spec, std::string_view memory) {
    if (!explored_) explored_.emplace(options_.explored);
    std::uint64_t executions = 0;
    RunResult result = timed(spec, explore_line(spec.scenario, memory), [&] {
      ExploredTrial trial = explored_->run(spec, memory);
      executions = trial.executions;
      return std::move(trial.run);
    });
    return {std::move(result), executions};
  }

 private:
  void tell(const Progress& progress) const {
    if (progress_) progress_(progress);
  }

  template <class Work>
  RunResult timed(const RunSpec& spec, std::string repeat, const Work& work) {
    tell({.index = index_, .total = total_, .spec = &spec});
    const auto begin = std::chrono::steady_clock::now();
    RunResult result = work();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    result.repeat = std::move(repeat);
    tell({.index = index_, .total = total_, .spec = &spec, .result = &result});
    ++index_;
    return result;
  }

  RunResult run_or_skip(const Cell& cell) {
    const WorldRequest request{.scenario = cell.scenario, .consumer = cell.judged.consumer, .kind = cell.spec.ring};
    auto reason = cannot_run(cell.spec.world, request);
    if (!reason && cell.spec.world == WorldKind::kernel) {
      if (!kernel_looked_at_) kernel_missing_ = kernel_is_missing();
      kernel_looked_at_ = true;
      reason = kernel_missing_;
    }
    if (reason) return {.spec = cell.spec, .outcome = Outcome::skipped, .reason = std::move(*reason)};
    const ChildOptions child{
        .hang_timeout_ms = options_.hang_timeout_ms,
        .tick =
            [&](std::uint64_t deliveries) {
              tell({.index = index_, .total = total_, .spec = &cell.spec, .deliveries = deliveries});
            },
        .cancelled = [] { return ring::interrupted_by() != 0; }};
    return run_in_child(cell.spec, child, [&](ChildScope& scope) {
      return cell.judged.producer != nullptr ? judge_producer(cell, scope) : judge_consumer(cell, scope);
    });
  }

  const CheckOptions& options_;
  const ProgressSink& progress_;
  std::size_t total_;
  std::size_t index_ = 0;
  bool kernel_looked_at_ = false;
  std::optional<std::string> kernel_missing_;
  std::optional<ExploredTrials> explored_;
};

/// One trial; it must be convicted in that world.
ring::Result<MutantResult> try_mutant(Runner& runner, const CheckOptions& options, const JudgedMutant& mutant,
                                      WorldKind world) {
  MutantResult result{.mutant = mutant.judged.name(),
                      .own = mutant.expected,
                      .expected = mutant.expected_in(world),
                      .run = {},
                      .executions = 0};
  const ring::RingKind kind = kind_of(mutant.judged);
  if (world == WorldKind::explored) {
    const RunSpec spec{.consumer = result.mutant,
                       .scenario = std::string(mutant.trial.program),
                       .world = world,
                       .ring = kind,
                       .seed = options.seed,
                       .records = 0};
    std::tie(result.run, result.executions) = runner.explore(spec, mutant.trial.memory);
    return result;
  }
  auto scenario = find_scenario(std::string(mutant.trial.scenario));
  if (!scenario) return tl::unexpected(scenario.error());
  result.run = runner.run(cell_of(options, world, kind, *scenario, mutant.judged));
  return result;
}

}  // namespace

std::optional<std::string> overwrite_ring_is_missing() {
  const auto page = static_cast<std::uint64_t>(getpagesize());
  if (real::RingbufMap::create(page, real::RingbufMode::overwrite)) return std::nullopt;
  // A machine that makes no ring at all lacks more than this, and is told what.
  if (!real::RingbufMap::create(page)) return std::nullopt;
  utsname name{};
  uname(&name);
  return fmt::format("overwrite rings need kernel 6.19, this is {}", name.release);
}

std::optional<std::string> cannot_run(WorldKind world, const WorldRequest& request) {
  if (world == WorldKind::model) return std::nullopt;
  const Scenario& scenario = *request.scenario;
  // There the harness is the producer's application, and keeps its books for as many sources as there are.
  if (request.kind == ring::RingKind::user_ringbuf) return user_ringbuf_is_missing();
  if (scenario.ring.overwrite) {
    if (auto missing = overwrite_ring_is_missing()) return missing;
  }
  const bool holds = std::any_of(scenario.sources.begin(), scenario.sources.end(),
                                 [](const SourcePlan& plan) { return plan.action == ring::Action::hold; });
  if (scenario.ring.sides == 2 && holds) {
    const auto cpus = real::online_cpus();
    if (cpus && cpus->size() < 2) return "a program that is held takes a CPU: needs two";
  }
  const Workload workload(scenario, request.kind, request.records);
  if ((workload.source_count() + scenario.ring.cpus) * scenario.ring.sides > real::max_sources) {
    return fmt::format("it has {} sources, the kernel's producers know {}", workload.source_count(),
                       real::max_sources - scenario.ring.cpus);
  }
  return std::nullopt;
}

ring::Result<std::vector<RunSpec>> plan_check(const CheckOptions& options) {
  auto plan = make_plan(options);
  if (!plan) return tl::unexpected(plan.error());
  std::vector<RunSpec> specs;
  for (const Cell& cell : plan->cells) specs.push_back(cell.spec);
  return specs;
}

ring::Result<std::vector<RunResult>> run_check(const CheckOptions& options, const ProgressSink& progress) {
  auto plan = make_plan(options);
  if (!plan) return tl::unexpected(plan.error());
  const ring::SignalGuard guard;
  Runner runner(options, progress, plan->cells.size());
  std::vector<RunResult> results;
  for (const Cell& cell : plan->cells) {
    if (ring::interrupted_by() != 0) break;
    results.push_back(runner.run(cell));
  }
  // A run that the signal cut short was not judged: it is no result.
  if (ring::interrupted_by() != 0 && !results.empty() && results.back().outcome == Outcome::fault) results.pop_back();
  return results;
}

std::optional<std::string> explored_obstacle(const CheckOptions& options) {
  const bool asked =
      std::find(options.worlds.begin(), options.worlds.end(), WorldKind::explored) != options.worlds.end();
  const auto mutants = named_mutants(options.consumers);
  if (!asked || !mutants) return std::nullopt;
  const ExploredTrials trials(options.explored);
  for (const JudgedMutant& mutant : *mutants) {
    if (!mutant.tried_in(WorldKind::explored)) continue;
    if (auto obstacle = trials.obstacle(mutant.trial.program)) return obstacle;
  }
  return std::nullopt;
}

ring::Result<std::size_t> plan_mutants(const CheckOptions& options) {
  const auto mutants = named_mutants(options.consumers);
  if (!mutants) return tl::unexpected(mutants.error());
  const std::size_t trials = count_trials(*mutants, options.worlds);
  if (trials == 0) {
    return ring::error("plan the trials", "none of these mutants must be convicted in the worlds named",
                       "see `ringside list mutants` for the worlds of each");
  }
  return trials;
}

ring::Result<std::vector<MutantResult>> run_mutants(const CheckOptions& options, const ProgressSink& progress) {
  auto mutants = named_mutants(options.consumers);
  if (!mutants) return tl::unexpected(mutants.error());
  return run_mutants(*mutants, options, progress);
}

ring::Result<std::vector<MutantResult>> run_mutants(const std::vector<JudgedMutant>& mutants,
                                                    const CheckOptions& options, const ProgressSink& progress) {
  const ring::SignalGuard guard;
  Runner runner(options, progress, count_trials(mutants, options.worlds));
  std::vector<MutantResult> results;
  for (const JudgedMutant& mutant : mutants) {
    for (const WorldKind world : options.worlds) {
      if (!mutant.tried_in(world)) continue;
      if (ring::interrupted_by() != 0) return results;
      auto result = try_mutant(runner, options, mutant, world);
      if (!result) return tl::unexpected(result.error());
      // What the signal cut short was not tried.
      if (ring::interrupted_by() != 0 && result->run.outcome == Outcome::fault) return results;
      results.push_back(std::move(*result));
    }
  }
  return results;
}

RunResult run_cell(const RunSpec& spec, const ringside_consumer& consumer, const Scenario& scenario,
                   const CheckOptions& options) {
  const ProgressSink nobody;
  return Runner(options, nobody, 1).run({.spec = spec, .judged = {.consumer = &consumer}, .scenario = &scenario});
}

RunResult run_cell(const RunSpec& spec, const ringside_producer& producer, const Scenario& scenario,
                   const CheckOptions& options) {
  const ProgressSink nobody;
  return Runner(options, nobody, 1).run({.spec = spec, .judged = {.producer = &producer}, .scenario = &scenario});
}

}  // namespace ringside::harness
