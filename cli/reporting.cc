// SPDX-License-Identifier: Apache-2.0
#include "cli/reporting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"

namespace ringside::cli {

namespace {

constexpr std::size_t columns_elsewhere = 100;
constexpr std::size_t fewest_columns = 60;
constexpr std::size_t most_columns = 120;  ///< longer lines are no easier to read

}  // namespace

harness::TextStyle style_of(const OutputFile& output) {
  harness::TextStyle style;
  if (!output.is_standard_output() || isatty(STDOUT_FILENO) == 0) return style;
  style.colour = ring::shows_colour(STDOUT_FILENO);
  style.columns = std::clamp(ring::columns_of(STDOUT_FILENO, columns_elsewhere), fewest_columns, most_columns);
  return style;
}

void write_remark(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

int fail(const ring::Error& error, int status) {
  print_error(error);
  return status;
}

void remark_on_file(const Invocation& invocation, std::string_view verdict) {
  if (invocation.quiet) return;
  write_remark(fmt::format("{}\nreport: {}\n", verdict, invocation.output));
}

}  // namespace ringside::cli
