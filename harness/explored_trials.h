// SPDX-License-Identifier: Apache-2.0
//
// Mutants in the explored world: the shipped program that runs a mutant is explored until it fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/explore.h"
#include "harness/run_result.h"

namespace ringside::harness {

/// What came of one. The run's verdict has one defect at most, and no accounting.
struct ExploredTrial {
  RunResult run;                 ///< wall_seconds is not set
  std::uint64_t executions = 0;  ///< seen: the failing one is among them
};

class ExploredTrials {
 public:
  /// Asks the files of that folder for their programs; empty: the folder beside the command.
  explicit ExploredTrials(std::string folder);

  /// Why that program cannot be run, in one line; nothing where it can.
  std::optional<std::string> obstacle(std::string_view program) const;

  /// Explores the program that `spec` names as its scenario under that memory model. What it finds that is no defect of
  /// ring/defect.h, as an execution without an end, is a fault of the program.
  ExploredTrial run(const RunSpec& spec, std::string_view memory) const;

 private:
  std::string folder_;
  std::vector<ExploredFile> files_;
  std::optional<std::string> unreadable_;
};

/// The line that explores it again.
std::string explore_line(std::string_view program, std::string_view memory);

}  // namespace ringside::harness
