// SPDX-License-Identifier: Apache-2.0
//
// Another program, run to its end for what it writes.
#pragma once

#include <string>
#include <vector>

#include "ring/result.h"

namespace ringside::harness {

struct ProcessOutput {
  int status = 0;  ///< as waitpid gives it
  std::string text;
};

/// Runs the file to its end and returns what it wrote to standard output; what it writes to standard error goes to
/// ours. A signal that asks this process to end (ring/signals.h) is handed on to it, and its end is waited for. Errors:
/// that it cannot be started, with this remedy.
ring::Result<ProcessOutput> output_of(const std::string& path, std::vector<std::string> arguments, const char* remedy);

/// `it was ended by SIGSEGV`, `it ended with status 3`.
std::string how_it_ended(const ProcessOutput& output);

}  // namespace ringside::harness
