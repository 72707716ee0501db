// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_command.h"

#include <fmt/format.h>

#include <optional>

#include "cli/reporting.h"
#include "harness/compare/baseline.h"
#include "harness/doctor.h"
#include "ring/signals.h"

namespace ringside::cli {

int compare(const Invocation& invocation) {
  harness::CompareOptions options = invocation.compare;
  if (options.part == 0) options.command = "/proc/self/exe";
  const auto plan = plan_compare(options);
  if (!plan) return fail(plan.error(), exit_usage);
  const ring::Result<OutputFile> output = OutputFile::prepare(invocation.output);
  if (!output) return fail(output.error(), exit_usage);
  if (options.world == harness::WorldKind::kernel) {
    if (const auto obstacle = kernel_obstacle(harness::diagnose())) {
      return fail({"compare on kernel rings", *obstacle, "`ringside doctor` tells more; --world model needs none", 0},
                  exit_cannot);
    }
  }
  std::optional<harness::Baseline> baseline;
  if (!invocation.baseline.empty()) {
    auto read = harness::read_baseline(invocation.baseline);
    if (!read) return fail(read.error(), exit_usage);
    baseline.emplace(std::move(*read));
  }
  auto report = begun_report<harness::CompareReport>(invocation, plan->drains);
  if (!invocation.quiet) write_remark(fmt::format("{}\n", invocation.repeat));
  ProgressPrinter printer(ring::ProgressLine::on_standard_error(), "drain");
  const double begin = ring::steady_seconds();
  const auto run = run_compare(
      options,
      [&](const harness::CompareProgress& progress) {
        if (!invocation.quiet) printer.tell(progress);
      },
      [](const std::string& remark) { write_remark(fmt::format("ringside: {}\n", remark)); }, report);
  printer.finish();
  if (!run) return fail(run.error(), exit_cannot);
  report.duration_seconds = ring::steady_seconds() - begin;
  report.interrupted_by = ring::interrupted_by();
  if (baseline && report.interrupted_by == 0) {
    const double least = static_cast<double>(invocation.least_percent) / 100;
    if (const auto held = harness::hold_against(*baseline, least, report); !held) {
      return fail(held.error(), exit_usage);
    }
  }
  const auto written = output->write(render(report, invocation.compare_format, style_of(*output)));
  if (!written) return fail(written.error(), exit_cannot);
  if (!output->is_standard_output()) remark_on_file(invocation, verdict_line(report, {}));
  return exit_status(report);
}

}  // namespace ringside::cli
