// SPDX-License-Identifier: Apache-2.0
#include "explore/exhaustive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "explore/parallel.h"
#include "ring/sanitizers.h"
#include "ring/signals.h"
#include "ring/text.h"

namespace ringside::explore {
namespace {

constexpr double keep_seconds = 10;
constexpr double silent_seconds = 0.5;    ///< what ends sooner shows no progress
constexpr double estimate_seconds = 0.2;  ///< at most; as many descents as that takes say enough
constexpr double few = 1000;              ///< executions: of so few no estimate is told
constexpr std::uint64_t most_descents = 2000;

std::uint64_t executions_of(const Tally& tally) { return tally.complete + tally.blocked; }

Tally sum_of(const Tally& one, const Tally& other) {
  return {.complete = one.complete + other.complete,
          .blocked = one.blocked + other.blocked,
          .share = one.share + other.share};
}

/// Two digits that count: nobody should take an estimate for more.
std::string rounded(double number) {
  const double unit = number < 100 ? 1 : std::pow(10.0, std::floor(std::log10(number)) - 1);
  constexpr double most = 1e18;
  if (number >= most) return fmt::format("{:.1e}", number);
  return ring::with_thousands(static_cast<std::uint64_t>(std::round(number / unit) * unit));
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{} days", rounded(seconds / 86400));
}

/// Searches piece by piece: what is open comes together between two of them, and is kept there.
class Pieces {
 public:
  Pieces(const ExhaustiveSearch& search, const Program& program, const SearchOptions& options, OpenSearch& open)
      : search_(search),
        program_(program),
        options_(options),
        open_(open),
        line_(search.tells ? search.line : ring::ProgressLine::Options{.seconds = search.seconds, .write = {}}),
        begin_(search.seconds()),
        before_(executions_of(open.so_far)) {}

  SearchResult run() {
    estimate_first();
    while (true) {
      const auto [result, goes_on] = piece();
      if (!goes_on) {
        line_.finish();
        return result;
      }
      search_.keep(open_);
    }
  }

 private:
  void estimate_first() {
    if (!search_.tells || open_.tasks != OpenSearch{}.tasks) return;
    // It maps more for abandoned executions than the kernel lets a process copy.
    if (RINGSIDE_ADDRESS_SANITIZER != 0 && search_.jobs > 1) return;
    const double begin = search_.seconds();
    const double most =
        search_.most_seconds > 0 ? std::min(estimate_seconds, search_.most_seconds / 10) : estimate_seconds;
    // No more trouble than the search itself would be.
    const auto enough = [&](const Estimate& so_far) {
      return static_cast<double>(so_far.seen) > so_far.executions || search_.seconds() - begin > most;
    };
    estimate_ = estimate(program_, options_, 1, most_descents, enough);
    if (estimate_.executions >= few) search_.line.write(fmt::format("{}: {}\n", search_.name, to_text(estimate_)));
  }

  /// And whether it ended only so that what is open can be kept.
  std::pair<SearchResult, bool> piece() {
    const std::uint64_t executed = executions_of(open_.so_far) - before_;
    bool pauses = false;
    SearchOptions part = options_;
    if (part.most_executions != UINT64_MAX) part.most_executions -= executed;
    const double next_kept = search_.seconds() + keep_seconds;
    part.stop = [&](const Tally& seen) -> std::optional<Bound> {
      if (ring::interrupted_by() != 0) return Bound::signal;
      const double now = search_.seconds();
      if (search_.most_seconds > 0 && now - begin_ >= search_.most_seconds) return Bound::time;
      if (search_.tells && now - begin_ >= silent_seconds) show(seen);
      pauses = search_.keep && now >= next_kept;
      return pauses ? std::optional(Bound::time) : std::nullopt;
    };
    part.anew = [this] {
      before_ = 0;
      if (options_.anew) options_.anew();
    };
    SearchResult result = search_.jobs == 1 ? continue_search(program_, part, open_)
                                            : search_in_processes(program_, part, search_.jobs, open_);
    const bool full = executions_of(open_.so_far) - before_ >= options_.most_executions;
    const bool goes_on = pauses && !full && !result.failure && !open_.tasks.empty();
    if (pauses && full && result.cut) result.bounds = {Bound::executions};
    return {std::move(result), goes_on};
  }

  void show(const Tally& seen) {
    const Tally so_far = sum_of(open_.so_far, seen);
    const auto text = [&] {
      return to_text(Advance{.so_far = so_far,
                             .new_executions = executions_of(so_far) - before_,
                             .seconds = search_.seconds() - begin_,
                             .estimate = estimate_});
    };
    line_.show({.share = static_cast<double>(so_far.share) / static_cast<double>(whole_weight),
                .beside_bar = text,
                .line = [&] { return search_.name + ": " + text(); }});
  }

  const ExhaustiveSearch& search_;
  const Program& program_;
  const SearchOptions& options_;
  OpenSearch& open_;
  ring::ProgressLine line_;
  double begin_;
  std::uint64_t before_;  ///< executions of what was open before
  Estimate estimate_;
};

}  // namespace

SearchResult search_exhaustively(const ExhaustiveSearch& search, const Program& program, const SearchOptions& options,
                                 OpenSearch& open) {
  return Pieces(search, program, options, open).run();
}

std::string to_text(const Estimate& estimate) {
  return fmt::format("about {} executions ({} to {}), an estimate by {}", rounded(estimate.executions),
                     rounded(estimate.low), rounded(estimate.high), ring::counted(estimate.descents, "random descent"));
}

std::string to_text(const Advance& advance) {
  const double share = static_cast<double>(advance.so_far.share) / static_cast<double>(whole_weight);
  const auto done = static_cast<double>(executions_of(advance.so_far));
  const double rate = advance.seconds > 0 ? static_cast<double>(advance.new_executions) / advance.seconds : 0;
  std::string text = fmt::format("{:.1f} %, {} executions, {} a second", 100 * share,
                                 ring::with_thousands(executions_of(advance.so_far)), rounded(rate));
  std::vector<double> left;
  constexpr double telling_share = 0.001;  // less says nothing of the rest
  if (rate > 0 && share >= telling_share) left.push_back(done * (1 - share) / share / rate);
  for (const double all : {advance.estimate.low, advance.estimate.high}) {
    if (rate > 0 && all > done) left.push_back((all - done) / rate);
  }
  if (left.empty()) return text;
  const std::string least = duration(*std::min_element(left.begin(), left.end()));
  const std::string most = duration(*std::max_element(left.begin(), left.end()));
  return text + (least == most ? fmt::format(", {} left", most) : fmt::format(", {} to {} left", least, most));
}

}  // namespace ringside::explore
