// SPDX-License-Identifier: Apache-2.0
#include "cli/reporting.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"

namespace ringside::cli {

namespace {

constexpr std::size_t columns_elsewhere = 100;
constexpr std::size_t fewest_columns = 60;
constexpr std::size_t most_columns = 120;  ///< longer lines are no easier to read

std::size_t columns_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return columns_elsewhere;
  return size.ws_col;
}

bool is_dumb(const char* terminal) { return terminal == nullptr || std::string_view{terminal} == "dumb"; }

}  // namespace

harness::TextStyle style_of(const OutputFile& output) {
  harness::TextStyle style;
  if (!output.is_standard_output() || isatty(STDOUT_FILENO) == 0) return style;
  const char* const no_colour = std::getenv("NO_COLOR");
  style.colour = !is_dumb(std::getenv("TERM")) && (no_colour == nullptr || *no_colour == '\0');
  style.columns = std::clamp(columns_of(STDOUT_FILENO), fewest_columns, most_columns);
  return style;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
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
