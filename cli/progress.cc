// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/text_layout.h"

namespace ringside::cli {
namespace {

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

ProgressPrinter::ProgressPrinter(ring::ProgressLine::Options options, std::string noun)
    : line_(std::move(options)), noun_(std::move(noun)) {}

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
        .now = line_.terminal() || progress.result == nullptr ? cell_text(*progress.spec) : std::string(),
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

void ProgressPrinter::tell(const harness::CompareProgress& progress) {
  const std::uint64_t total = std::max<std::uint64_t>(progress.total, 1);
  const std::uint64_t tenths = progress.done * plain_lines / total;
  const bool another_tenth = tenths != std::exchange(told_, tenths);
  show({.done = progress.done,
        .total = progress.total,
        .share = static_cast<double>(progress.done) / static_cast<double>(total),
        .counted = {},
        .now = progress.now,
        .milestone = another_tenth});
}

void ProgressPrinter::show(const State& state) {
  const auto beside_bar = [&] {
    const std::string counted = state.counted.empty() ? "" : state.counted + ", ";
    return fmt::format("{}/{} {}, {}{:.0f} s", state.done, state.total, state.now, counted, line_.seconds());
  };
  const auto line = [&] {
    const std::string counted = state.counted.empty() ? "" : state.counted + ", ";
    return fmt::format("{} of {}, {}{:.0f} s{}{}", state.done, harness::counted(state.total, noun_), counted,
                       line_.seconds(), state.now.empty() ? "" : "; now ", state.now);
  };
  line_.show({.share = state.share, .beside_bar = beside_bar, .line = line, .milestone = state.milestone});
}

}  // namespace ringside::cli
