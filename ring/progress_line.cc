// SPDX-License-Identifier: Apache-2.0
#include "ring/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "ring/terminal.h"

namespace ringside::ring {
namespace {

constexpr double redraw_seconds = 0.05;
constexpr double long_seconds = 10;
constexpr std::size_t bar_width = 20;

void write_to_standard_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressLine::Options ProgressLine::on_standard_error() {
  Options options{.seconds = steady_seconds, .write = write_to_standard_error};
  options.terminal = is_drawn_on(STDERR_FILENO);
  options.columns = columns_of(STDERR_FILENO, options.columns);
  return options;
}

ProgressLine::ProgressLine(Options options)
    : options_(std::move(options)), begin_(options_.seconds()), last_shown_(begin_) {}

void ProgressLine::show(const State& state) {
  const double now = options_.seconds();
  const double since_shown = now - last_shown_;
  if (!options_.terminal) {
    if (std::exchange(said_, true) && !state.milestone && since_shown < long_seconds) return;
    options_.write(state.line() + '\n');
    last_shown_ = now;
    return;
  }
  if (std::exchange(drawn_, true) && since_shown < redraw_seconds) return;
  const auto filled = static_cast<std::size_t>(std::clamp(state.share, 0.0, 1.0) * bar_width);
  std::string line =
      fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(bar_width - filled, '.'), state.beside_bar());
  // Names are ASCII; a foreign one that is not may lose a byte more than it must.
  line.resize(std::min(line.size(), options_.columns > 1 ? options_.columns - 1 : 1));
  options_.write(fmt::format("\r{}\x1b[K", line));
  last_shown_ = now;
}

void ProgressLine::finish() {
  if (drawn_) options_.write("\r\x1b[K");
  drawn_ = false;
}

}  // namespace ringside::ring
