// SPDX-License-Identifier: Apache-2.0
//
// What the commands have in common: how their report looks and where it goes, progress and remarks on standard error.
#pragma once

#include <string_view>

#include "cli/command_line.h"
#include "cli/exit_status.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "harness/text_layout.h"
#include "ring/result.h"
#include "ring/terminal.h"

namespace ringside::cli {

/// Colours on a terminal only, and not where https://no-color.org asks for none.
harness::TextStyle style_of(const OutputFile& output);
/// To standard error, at once.
void write_remark(std::string_view text);
/// Tells the error in one line and hands the status on.
int fail(const ring::Error& error, int status);
/// The last words of a run whose report went to a file: the report itself is not on the screen.
void remark_on_file(const Invocation& invocation, std::string_view verdict);

/// Writes the report where it belongs and returns the exit status.
template <class AnyReport>
int conclude(const Invocation& invocation, const OutputFile& output, const AnyReport& report) {
  const ring::Result<void> written = output.write(render(report, invocation.format, style_of(output)));
  if (!written) return fail(written.error(), exit_cannot);
  if (!output.is_standard_output()) remark_on_file(invocation, verdict_line(report, {}));
  return exit_status(report);
}

/// `check`, `mutants` and the like begin their reports so.
template <class AnyReport>
AnyReport begun_report(const Invocation& invocation, std::size_t planned) {
  AnyReport report;
  report.context = harness::describe_machine();
  report.context.command_line = invocation.repeat;
  report.context.seed = invocation.options.seed;
  report.planned = planned;
  return report;
}

}  // namespace ringside::cli
