// SPDX-License-Identifier: Apache-2.0
//
// `ringside`: reads the command line, does what it says, and turns what came out into an exit status.
#include <cstdlib>
#include <exception>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/exit_status.h"

namespace {

const char* environment(const char* name) { return std::getenv(name); }

int run(int argc, char** argv) {
  using namespace ringside;
  const ring::Result<cli::Invocation> invocation = cli::parse_command_line(argc, argv, environment);
  if (invocation) return cli::run(*invocation);
  cli::print_error(invocation.error());
  return cli::exit_usage;
}

}  // namespace

int main(int argc, char** argv) {
  // Operating errors are values all the way up; an exception here is a fault of ours, such as memory that ran out.
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    ringside::cli::print_error({"run ringside", failure.what(), "this is a fault of ringside: please report it", 0});
    return ringside::cli::exit_fault;
  }
}
