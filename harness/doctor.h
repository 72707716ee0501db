// SPDX-License-Identifier: Apache-2.0
//
// What this machine can run, what it lacks, and how to get it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/report.h"
#include "harness/text_layout.h"
#include "ring/result.h"

namespace ringside::harness {

/// One thing that ringside can use.
struct Finding {
  std::string name;     ///< stable, [a-z0-9_]+
  std::string purpose;  ///< what it is needed for
  bool present = false;
  bool required = false;  ///< the kernel world cannot run without it
  std::string detail;     ///< what was found, or why it is missing
  std::string remedy;     ///< the command or the place that brings it; empty when present

  friend bool operator==(const Finding&, const Finding&) = default;
};

struct Diagnosis {
  ReportContext context;          ///< its seed and command line say nothing
  std::vector<Finding> findings;  ///< kernel-side probes first, then tools

  /// The required findings that are missing; empty: both worlds run here. The model runs everywhere.
  std::vector<Finding> obstacles() const;
};

/// Tries everything; takes some milliseconds and leaves nothing behind.
Diagnosis diagnose();

/// What keeps the kernel world from running here and what would help, in one line; nothing when it can run.
std::optional<std::string> kernel_obstacle(const Diagnosis& diagnosis);

/// As a table or as JSON ("ringside-doctor/1"). Error: junit, which has no place for it.
ring::Result<std::string> render(const Diagnosis& diagnosis, ReportFormat format, const TextStyle& style);

}  // namespace ringside::harness
