// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/compare_command.h"
#include "cli/conform_commands.h"
#include "cli/explore_commands.h"
#include "cli/reporting.h"
#include "harness/doctor.h"
#include "harness/list.h"
#include "harness/text_layout.h"
#include "ring/signals.h"

namespace ringside::cli {
namespace {

bool asks_for(const harness::CheckOptions& options, harness::WorldKind world) {
  return std::find(options.worlds.begin(), options.worlds.end(), world) != options.worlds.end();
}

/// Nothing when the worlds can run or when it was left to us which; an error when a named one cannot run.
ring::Result<void> require_worlds(const Invocation& invocation) {
  if (!asks_for(invocation.options, harness::WorldKind::kernel)) return {};
  const std::optional<std::string> obstacle = kernel_obstacle(harness::diagnose());
  if (!obstacle) return {};
  if (invocation.worlds_named) return ring::error("run on kernel rings", *obstacle, "`ringside doctor` tells more");
  if (!invocation.quiet) {
    write_remark(fmt::format("ringside: kernel rings cannot be run here, their runs are skipped: {}\n", *obstacle));
  }
  return {};
}

/// What check and mutants have in common: `execute` runs everything and fills the report's results in.
template <class AnyReport, class Execute>
int run_and_report(const Invocation& invocation, const char* noun, std::size_t planned, const Execute& execute) {
  const ring::Result<OutputFile> output = OutputFile::prepare(invocation.output);
  if (!output) return fail(output.error(), exit_usage);
  if (const ring::Result<void> able = require_worlds(invocation); !able) return fail(able.error(), exit_cannot);
  auto report = begun_report<AnyReport>(invocation, planned);
  if (!invocation.quiet) write_remark(fmt::format("{}\n", invocation.repeat));
  ProgressPrinter printer(ring::ProgressLine::on_standard_error(), noun);
  const harness::ProgressSink sink = [&](const harness::Progress& progress) {
    if (!invocation.quiet) printer.tell(progress);
  };
  const double begin = ring::steady_seconds();
  const ring::Result<void> executed = execute(report, sink);
  printer.finish();
  if (!executed) return fail(executed.error(), exit_fault);
  report.duration_seconds = ring::steady_seconds() - begin;
  report.interrupted_by = ring::interrupted_by();
  return conclude(invocation, *output, report);
}

int check(const Invocation& invocation) {
  const ring::Result<std::vector<harness::RunSpec>> plan = plan_check(invocation.options);
  if (!plan) return fail(plan.error(), exit_usage);
  return run_and_report<harness::Report>(
      invocation, "cell", plan->size(),
      [&](harness::Report& report, const harness::ProgressSink& sink) -> ring::Result<void> {
        ring::Result<std::vector<harness::RunResult>> runs = run_check(invocation.options, sink);
        if (!runs) return tl::unexpected(runs.error());
        report.runs = std::move(*runs);
        return {};
      });
}

int mutants(const Invocation& invocation) {
  // A mistyped name is wrong usage, not a fault: it is looked up before anything runs.
  const ring::Result<std::size_t> planned = plan_mutants(invocation.options);
  if (!planned) return fail(planned.error(), exit_usage);
  if (const std::optional<std::string> obstacle = explored_obstacle(invocation.options)) {
    if (invocation.worlds_named) {
      return fail(ring::error("run explored programs", *obstacle, "leave --world out to try the others alone").value(),
                  exit_cannot);
    }
    if (!invocation.quiet) {
      write_remark(fmt::format("ringside: not every explored program can be run here: {}\n", *obstacle));
    }
  }
  return run_and_report<harness::MutantReport>(
      invocation, "trial", *planned,
      [&](harness::MutantReport& report, const harness::ProgressSink& sink) -> ring::Result<void> {
        ring::Result<std::vector<harness::MutantResult>> results = run_mutants(invocation.options, sink);
        if (!results) return tl::unexpected(results.error());
        report.mutants = std::move(*results);
        return {};
      });
}

int list(const Invocation& invocation) {
  const ring::Result<OutputFile> output = OutputFile::prepare(invocation.output);
  if (!output) return fail(output.error(), exit_usage);
  const ring::Result<std::string> text = harness::list(invocation.topic, invocation.format, style_of(*output));
  if (!text) return fail(text.error(), exit_usage);
  if (const ring::Result<void> written = output->write(*text); !written) return fail(written.error(), exit_cannot);
  return exit_clean;
}

int doctor(const Invocation& invocation) {
  const ring::Result<OutputFile> output = OutputFile::prepare(invocation.output);
  if (!output) return fail(output.error(), exit_usage);
  const harness::Diagnosis diagnosis = harness::diagnose();
  const ring::Result<std::string> text = render(diagnosis, invocation.format, style_of(*output));
  if (!text) return fail(text.error(), exit_usage);
  if (const ring::Result<void> written = output->write(*text); !written) return fail(written.error(), exit_cannot);
  return kernel_obstacle(diagnosis) ? exit_cannot : exit_clean;
}

}  // namespace

void print_error(const ring::Error& error) {
  write_remark(fmt::format("ringside: {}\n", harness::one_line(ring::to_string(error))));
}

int run(const Invocation& invocation) {
  switch (invocation.command) {
    case Command::check:
      return check(invocation);
    case Command::mutants:
      return mutants(invocation);
    case Command::compare:
      return compare(invocation);
    case Command::conform:
      return conform(invocation);
    case Command::explore:
      return explore(invocation);
    case Command::replay:
      return is_token(invocation.file) ? replay_token(invocation) : replay(invocation);
    case Command::list:
      return list(invocation);
    case Command::doctor:
      return doctor(invocation);
    case Command::print:
      break;
  }
  const ring::Result<OutputFile> output = OutputFile::prepare("");
  const ring::Result<void> written = output->write(invocation.text);
  return written ? exit_clean : fail(written.error(), exit_cannot);
}

}  // namespace ringside::cli
