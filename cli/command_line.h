// SPDX-License-Identifier: Apache-2.0
//
// From argv and the environment to what is asked. Nothing is run or opened here.
#pragma once

#include <string>
#include <vector>

#include "harness/check.h"
#include "harness/report.h"
#include "ring/result.h"

namespace ringside::cli {

enum class Command : std::uint8_t {
  check,
  mutants,
  list,
  doctor,
  print,  ///< only print Invocation::text: help or version
};

struct Invocation {
  Command command = Command::print;
  std::string text;  ///< of print

  harness::CheckOptions options;  ///< of check and mutants; its seed is drawn when none was given
  bool worlds_named = false;      ///< the user said which worlds: a world that cannot run is then an error
  std::string topic;              ///< of list; empty: everything

  harness::ReportFormat format = harness::ReportFormat::table;
  std::string output;  ///< path of the report; empty: standard output
  bool quiet = false;  ///< no progress and no remarks on standard error

  std::string repeat;  ///< the line that runs the same again, its seed spelled out
};

/// The value of an environment variable, or null; `getenv` but for tests.
using Environment = const char* (*)(const char* name);

/// Each flag can also be an environment variable (`--hang-timeout`: `RINGSIDE_HANG_TIMEOUT`); the flag wins. Every
/// error is a wrong usage, told in one line with what would be right.
ring::Result<Invocation> parse_command_line(int argc, const char* const* argv, Environment environment);

}  // namespace ringside::cli
