// SPDX-License-Identifier: Apache-2.0
#include "harness/explored_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ringside::harness {
namespace {

RunResult faulty(const RunSpec& spec, std::string reason) {
  return {.spec = spec, .outcome = Outcome::fault, .reason = std::move(reason)};
}

ExploredTrial judged(const RunSpec& spec, const explore::ProgramReport& report) {
  ExploredTrial trial{.run = {.spec = spec, .outcome = Outcome::clean},
                      .executions = report.complete + report.blocked + (report.failure ? 1 : 0)};
  if (!report.failure) return trial;
  const auto kind = ring::defect_kind_of(report.failure->defect);
  if (!kind) {
    trial.run = faulty(spec, fmt::format("the program failed: {}: {}", report.failure->defect, report.failure->what));
    return trial;
  }
  trial.run.outcome = Outcome::defects;
  trial.run.verdict.defects.push_back({.kind = *kind, .detail = report.failure->what});
  return trial;
}

}  // namespace

ExploredTrials::ExploredTrials(std::string folder) : folder_(folder.empty() ? explored_folder() : std::move(folder)) {
  auto files = explored_files(folder_);
  if (files) {
    files_ = std::move(*files);
  } else {
    unreadable_ = ring::to_string(files.error());
  }
}

std::optional<std::string> ExploredTrials::obstacle(std::string_view program) const {
  if (unreadable_) return unreadable_;
  if (files_.empty()) return fmt::format("there is no explored program in {}: build them, or install them", folder_);
  const bool known = std::any_of(files_.begin(), files_.end(), [program](const ExploredFile& file) {
    return std::find(file.programs.begin(), file.programs.end(), program) != file.programs.end();
  });
  if (known) return std::nullopt;
  return fmt::format("no file in {} has the program {}: build it", folder_, program);
}

ExploredTrial ExploredTrials::run(const RunSpec& spec, std::string_view memory) const {
  if (auto missing = obstacle(spec.scenario)) {
    return {.run = {.spec = spec, .outcome = Outcome::skipped, .reason = std::move(*missing)}};
  }
  const auto tasks = plan_explore({spec.scenario}, files_);
  if (!tasks) return {.run = faulty(spec, ring::to_string(tasks.error()))};
  const auto reports = run_explore(*tasks, {"--memory", std::string(memory), "--quiet"});
  if (!reports) return {.run = faulty(spec, ring::to_string(reports.error()))};
  if (reports->size() != 1) return {.run = faulty(spec, "interrupted")};
  return judged(spec, reports->front());
}

std::string explore_line(std::string_view program, std::string_view memory) {
  return fmt::format("ringside explore {}{}", program, memory == "c11" ? "" : fmt::format(" --memory {}", memory));
}

}  // namespace ringside::harness
