// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_command.h"

#include <fmt/format.h>

#include "cli/reporting.h"
#include "harness/doctor.h"
#include "ring/signals.h"

namespace ringside::cli {

int compare(const Invocation& invocation) {
  const harness::CompareOptions& options = invocation.compare;
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
  const auto written = output->write(render(report, invocation.compare_format, style_of(*output)));
  if (!written) return fail(written.error(), exit_cannot);
  if (!output->is_standard_output()) remark_on_file(invocation, verdict_line(report, {}));
  return exit_status(report);
}

}  // namespace ringside::cli
