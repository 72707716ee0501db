// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/text_layout.h"

namespace ringside::cli {
namespace {

constexpr double redraw_seconds = 0.05;
constexpr double long_run_seconds = 10;
constexpr std::size_t bar_width = 20;
constexpr std::size_t plain_lines = 10;  ///< over the whole check

std::string cell_text(const harness::RunSpec& spec) {
  return harness::one_line(
      fmt::format("{} {} {} {}", name_of(spec.world), ring::name_of(spec.ring), spec.scenario, spec.consumer));
}

/// How much of the whole check is done, 0 to 1. A run whose number of records is known moves the bar by itself.
double share_done(const harness::Progress& progress, std::size_t done) {
  if (progress.total == 0) return 0;
  double inside = 0;
  if (progress.result == nullptr && progress.spec->records != 0) {
    inside = std::min(1.0, static_cast<double>(progress.deliveries) / static_cast<double>(progress.spec->records));
  }
  return (static_cast<double>(done) + inside) / static_cast<double>(progress.total);
}

}  // namespace

ProgressPrinter::ProgressPrinter(Options options)
    : options_(std::move(options)), begin_(options_.seconds()), last_shown_(begin_) {}

std::uint64_t ProgressPrinter::records(const harness::Progress& progress) const {
  return delivered_ + (progress.result == nullptr ? progress.deliveries : 0);
}

void ProgressPrinter::tell(const harness::Progress& progress) {
  if (progress.result != nullptr) {
    // A run that died has no account; what was seen of it before must not be taken back.
    delivered_ += std::max(progress.result->verdict.accounting.delivered, running_);
    running_ = 0;
  } else {
    running_ = progress.deliveries;
  }
  const std::size_t done = progress.index + (progress.result != nullptr ? 1 : 0);
  const double since_shown = options_.seconds() - last_shown_;
  if (options_.terminal) {
    if (!drawn_ || since_shown >= redraw_seconds) draw(progress, done);
    return;
  }
  const std::size_t stride = std::max<std::size_t>(1, (progress.total + plain_lines - 1) / plain_lines);
  const bool milestone = progress.result != nullptr && (done % stride == 0 || done == progress.total);
  if (!said_ || milestone || since_shown >= long_run_seconds) say(progress, done);
}

void ProgressPrinter::draw(const harness::Progress& progress, std::size_t done) {
  const double now = options_.seconds();
  const auto filled = static_cast<std::size_t>(share_done(progress, done) * bar_width);
  std::string line = fmt::format("[{}{}] {}/{} {}, {}, {:.0f} s", std::string(filled, '#'),
                                 std::string(bar_width - filled, '.'), done, progress.total, cell_text(*progress.spec),
                                 harness::counted(records(progress), "record"), now - begin_);
  // Names are ASCII; a foreign one that is not may lose a byte more than it must.
  line.resize(std::min(line.size(), options_.columns > 1 ? options_.columns - 1 : 1));
  options_.write(fmt::format("\r{}\x1b[K", line));
  last_shown_ = now;
  drawn_ = true;
}

void ProgressPrinter::say(const harness::Progress& progress, std::size_t done) {
  const double now = options_.seconds();
  std::string line = fmt::format("{} of {}, {}, {:.0f} s", done, harness::counted(progress.total, options_.noun),
                                 harness::counted(records(progress), "record"), now - begin_);
  if (progress.result == nullptr) line += fmt::format("; now {}", cell_text(*progress.spec));
  options_.write(line + '\n');
  last_shown_ = now;
  said_ = true;
}

void ProgressPrinter::finish() {
  if (drawn_) options_.write("\r\x1b[K");
  drawn_ = false;
}

}  // namespace ringside::cli
