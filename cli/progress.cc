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
  const std::size_t stride = std::max<std::size_t>(1, (progress.total + plain_lines - 1) / plain_lines);
  show({.done = done,
        .total = progress.total,
        .share = share_done(progress, done),
        .counted = harness::counted(records(progress), "record"),
        .now = options_.terminal || progress.result == nullptr ? cell_text(*progress.spec) : std::string(),
        .milestone = progress.result != nullptr && (done % stride == 0 || done == progress.total)});
}

void ProgressPrinter::tell(const conform::CampaignProgress& progress) {
  const std::uint64_t total = std::max<std::uint64_t>(progress.total, 1);
  const std::uint64_t tenths = progress.done * plain_lines / total;
  const bool another_tenth = tenths != std::exchange(told_, tenths);
  show({.done = progress.done,
        .total = progress.total,
        .share = std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(total)),
        .counted = harness::counted(progress.operations, "operation"),
        .now = std::string(progress.what),
        .milestone = another_tenth});
}

void ProgressPrinter::show(const State& state) {
  const double since_shown = options_.seconds() - last_shown_;
  if (options_.terminal) {
    if (!drawn_ || since_shown >= redraw_seconds) draw(state);
    return;
  }
  if (!said_ || state.milestone || since_shown >= long_run_seconds) say(state);
}

void ProgressPrinter::draw(const State& state) {
  const double now = options_.seconds();
  const auto filled = static_cast<std::size_t>(state.share * bar_width);
  std::string line =
      fmt::format("[{}{}] {}/{} {}, {}, {:.0f} s", std::string(filled, '#'), std::string(bar_width - filled, '.'),
                  state.done, state.total, state.now, state.counted, now - begin_);
  // Names are ASCII; a foreign one that is not may lose a byte more than it must.
  line.resize(std::min(line.size(), options_.columns > 1 ? options_.columns - 1 : 1));
  options_.write(fmt::format("\r{}\x1b[K", line));
  last_shown_ = now;
  drawn_ = true;
}

void ProgressPrinter::say(const State& state) {
  const double now = options_.seconds();
  std::string line = fmt::format("{} of {}, {}, {:.0f} s", state.done, harness::counted(state.total, options_.noun),
                                 state.counted, now - begin_);
  if (!state.now.empty()) line += fmt::format("; now {}", state.now);
  options_.write(line + '\n');
  last_shown_ = now;
  said_ = true;
}

void ProgressPrinter::finish() {
  if (drawn_) options_.write("\r\x1b[K");
  drawn_ = false;
}

}  // namespace ringside::cli
