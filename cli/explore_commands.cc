// SPDX-License-Identifier: Apache-2.0
#include "cli/explore_commands.h"

#include <unistd.h>

#include <cerrno>
#include <regex>
#include <utility>

#include "cli/commands.h"
#include "cli/reporting.h"
#include "harness/explore.h"
#include "ring/signals.h"

namespace ringside::cli {
namespace {

using ring::Result;

std::size_t programs_of(const std::vector<harness::ExploreTask>& tasks) {
  std::size_t count = 0;
  for (const harness::ExploreTask& task : tasks) count += task.shipped ? task.programs.size() : 1;
  return count;
}

/// Becomes the debugger; returns where there is none.
int debug(const std::string& program, const std::string& token) {
  execlp("gdb", "gdb", "-quiet", "-ex", "break ringside::explore::Engine::fail", "-ex", "run", "--args",
         program.c_str(), "--quiet", "--replay", token.c_str(), nullptr);
  return fail(ring::errno_error("run gdb", errno, "install gdb, or leave --gdb out").value(), exit_cannot);
}

}  // namespace

int explore(const Invocation& invocation) {
  const auto shipped = harness::explored_files(harness::explored_folder());
  if (!shipped) return fail(shipped.error(), exit_fault);
  const auto tasks = harness::plan_explore(invocation.explore.programs, *shipped);
  if (!tasks) return fail(tasks.error(), exit_usage);
  if (invocation.explore.keeps && tasks->size() > 1) {
    return fail(
        {"keep what is still to be searched", "these programs are in several files", "explore one file at a time"},
        exit_usage);
  }
  const Result<OutputFile> output = OutputFile::prepare(invocation.output);
  if (!output) return fail(output.error(), exit_usage);
  auto report = begun_report<harness::ExploreReport>(invocation, programs_of(*tasks));
  report.html = invocation.explore.html;
  if (!invocation.quiet) write_remark(invocation.repeat + '\n');
  const ring::SignalGuard signals;
  const double begin = ring::steady_seconds();
  auto programs = harness::run_explore(*tasks, invocation.explore.options);
  if (!programs && programs.error().code == EINVAL) return exit_usage;  // it was told
  if (!programs) return fail(programs.error(), exit_fault);
  report.programs = std::move(*programs);
  report.duration_seconds = ring::steady_seconds() - begin;
  report.interrupted_by = ring::interrupted_by();
  return conclude(invocation, *output, report);
}

bool is_token(const std::string& text) {
  static const std::regex form("[^/]+/(sc|tso|c11)/[0-9a-f]*/.*#[0-9a-f]{8}");
  return std::regex_match(text, form) && access(text.c_str(), F_OK) != 0;
}

int replay_token(const Invocation& invocation) {
  const auto shipped = harness::explored_files(harness::explored_folder());
  if (!shipped) return fail(shipped.error(), exit_fault);
  if (invocation.gdb) {
    const auto task = harness::task_of_token(invocation.file, invocation.program, *shipped);
    return task ? debug(task->path, invocation.file) : fail(task.error(), exit_usage);
  }
  const Result<OutputFile> output = OutputFile::prepare(invocation.output);
  if (!output) return fail(output.error(), exit_usage);
  auto report = begun_report<harness::ExploreReport>(invocation, 1);
  report.html = invocation.explore.html;
  const double begin = ring::steady_seconds();
  auto program = harness::replay_explored(invocation.file, invocation.program, *shipped);
  // Its build is another, its name unknown: what was asked cannot be done.
  if (!program) return fail(program.error(), exit_usage);
  report.programs.push_back(std::move(*program));
  report.duration_seconds = ring::steady_seconds() - begin;
  return conclude(invocation, *output, report);
}

}  // namespace ringside::cli
