// SPDX-License-Identifier: Apache-2.0
//
// From argv and the environment to what is asked. Nothing is run or opened here.
#pragma once

#include <string>
#include <vector>

#include "harness/check.h"
#include "harness/compare/compare.h"
#include "harness/report.h"
#include "ring/result.h"

namespace ringside::cli {

enum class Command : std::uint8_t {
  check,
  mutants,
  compare,
  conform,
  explore,
  replay,
  list,
  doctor,
  print,  ///< only print Invocation::text: help or version
};

/// What is asked of conform.
struct ConformAsk {
  std::vector<ring::RingKind> rings;  ///< empty: every kind
  std::uint64_t scripts = 0;          ///< of each kind, or against each rule; 0: the command's own default
  std::uint64_t jobs = 0;             ///< 0: a job on each CPU
  bool rules = false;                 ///< print the rules that differ between kernels
  bool mutants = false;               ///< models that break one rule each
  std::vector<std::string> only;      ///< names of rules; empty: every one
};

/// What is asked of explore.
struct ExploreAsk {
  std::vector<std::string> programs;  ///< shipped names, or paths of files; empty: all that ship
  std::vector<std::string> options;   ///< for each program's own front (explore/front.h)
  bool keeps = false;                 ///< a checkpoint is written or read
  bool html = false;                  ///< --format html
};

struct Invocation {
  Command command = Command::print;
  std::string text;  ///< of print

  harness::CheckOptions options;    ///< of check and mutants; its seed is drawn when none was given
  bool worlds_named = false;        ///< the user said which worlds: a world that cannot run is then an error
  ConformAsk conform;               ///< of conform
  ExploreAsk explore;               ///< of explore, and html of replay
  harness::CompareOptions compare;  ///< of compare
  std::string baseline;             ///< of compare; empty: none
  std::uint64_t least_percent = 5;  ///< the least change that counts
  harness::CompareFormat compare_format = harness::CompareFormat::table;  ///< of compare, instead of format
  std::string topic;                                                      ///< of list; empty: everything
  std::string file;                                                       ///< of replay: a script's path, or a token
  std::string program;  ///< of replay: the file that the token is of; empty: the shipped one
  bool gdb = false;     ///< of replay of a token: in a debugger

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
