// SPDX-License-Identifier: Apache-2.0
//
// The main job: consumers × scenarios × worlds, each cell run in a child process of its own and judged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/run_result.h"
#include "harness/scenario.h"
#include "ring/consumer.h"
#include "ring/producer.h"
#include "ring/result.h"

namespace ringside::harness {

struct CheckOptions {
  std::vector<WorldKind> worlds{WorldKind::model, WorldKind::kernel};
  std::vector<ring::RingKind> rings{ring::RingKind::ringbuf, ring::RingKind::perf, ring::RingKind::user_ringbuf};
  std::vector<std::string> consumers;  ///< names, mutants too; empty: every strategy, no mutant
  std::vector<std::string> scenarios;  ///< names or paths of TOML files; empty: every shipped one
  std::string plugin;                  ///< path of a shared object; its consumer is added to the list
  std::uint64_t records = 0;           ///< 0: as each scenario says
  std::uint64_t seed = 1;
  std::uint64_t hang_timeout_ms = 10'000;  ///< a call that makes no progress for so long is a `hang`
  std::string explored;                    ///< folder of explored programs; empty: the one beside the command
};

/// Told before a run starts (result == nullptr) and after it ended. Called on the caller's thread.
struct Progress {
  std::size_t index = 0;  ///< of the run, from 0
  std::size_t total = 0;
  const RunSpec* spec = nullptr;
  const RunResult* result = nullptr;
  std::uint64_t deliveries = 0;  ///< within the run so far; told about every 100 ms of a long run
};
using ProgressSink = std::function<void(const Progress&)>;

/// Every cell that the options name, in the order in which they will run. Errors: an unknown consumer or scenario, a
/// scenario file that does not parse, a plugin that does not load, a cell list that is empty.
ring::Result<std::vector<RunSpec>> plan_check(const CheckOptions& options);

/// Runs every planned cell. A signal (SIGINT, SIGTERM) ends the running child and returns what is there.
ring::Result<std::vector<RunResult>> run_check(const CheckOptions& options, const ProgressSink& progress);

/// One run of a consumer that need not be in any registry, in a child process. `options` gives the hang timeout.
RunResult run_cell(const RunSpec& spec, const ringside_consumer& consumer, const Scenario& scenario,
                   const CheckOptions& options);

/// The same for a producer of user ring buffers.
RunResult run_cell(const RunSpec& spec, const ringside_producer& producer, const Scenario& scenario,
                   const CheckOptions& options);

/// One mutant in one world: was it convicted of what it must be convicted of there?
struct MutantResult {
  std::string mutant;
  ring::DefectKind own{};        ///< its own defect
  ring::DefectKind expected{};   ///< here: the explorer often meets the cause of its own
  RunResult run;                 ///< of the explored world, the program stands for the scenario
  std::uint64_t executions = 0;  ///< of the explored world: seen, the failing one among them

  bool convicted() const { return run.outcome == Outcome::defects && run.verdict.has(expected); }
  /// What it was convicted of; null where it was not.
  const ring::Defect* conviction() const {
    const auto found = std::find_if(run.verdict.defects.begin(), run.verdict.defects.end(),
                                    [this](const ring::Defect& defect) { return defect.kind == expected; });
    return convicted() ? &*found : nullptr;
  }
  /// How many records, in the explored world executions, that took; 0 where it was not convicted.
  std::uint64_t effort() const {
    if (!convicted()) return 0;
    return run.spec.world == WorldKind::explored ? executions : conviction()->records;
  }
};

/// Why not every trial of the explored world can run, in one line; nothing where all can, or none was asked for.
std::optional<std::string> explored_obstacle(const CheckOptions& options);
/// How many trials the options name. Errors: an unknown mutant, nothing to be tried in these worlds.
ring::Result<std::size_t> plan_mutants(const CheckOptions& options);
/// Every mutant (or those named in options.consumers) in each world where it must be convicted, under its own scenario.
ring::Result<std::vector<MutantResult>> run_mutants(const CheckOptions& options, const ProgressSink& progress);

struct JudgedMutant;
/// The same of these.
ring::Result<std::vector<MutantResult>> run_mutants(const std::vector<JudgedMutant>& mutants,
                                                    const CheckOptions& options, const ProgressSink& progress);

}  // namespace ringside::harness
