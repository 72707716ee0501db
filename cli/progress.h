// SPDX-License-Identifier: Apache-2.0
//
// How far a check is, told as ring/progress_line.h does it.
#pragma once

#include <cstdint>
#include <string>

#include "conform/campaign.h"
#include "harness/check.h"
#include "harness/compare/compare.h"
#include "ring/progress_line.h"

namespace ringside::cli {

/// Not thread-safe; told on the thread that runs the check.
class ProgressPrinter {
 public:
  /// `noun` is what is counted.
  explicit ProgressPrinter(ring::ProgressLine::Options options, std::string noun = "cell");

  /// A plain line is written at the start, after every tenth of the runs, and every 10 s of a longer run.
  void tell(const harness::Progress& progress);
  /// The same for scripts played on the model and the kernel, at every tenth of them.
  void tell(const conform::CampaignProgress& progress);

  /// The same for the drains of a comparison.
  void tell(const harness::CompareProgress& progress);

  /// Takes the bar away. Call before anything else is written.
  void finish() { line_.finish(); }

 private:
  /// How far it is, whatever is counted.
  struct State {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    double share = 0;     ///< of the whole, 0 to 1
    std::string counted;  ///< `12 records`
    std::string now;      ///< what is under way; empty: nothing
    bool milestone = false;
  };
  void show(const State& state);
  std::uint64_t records(const harness::Progress& progress) const;

  ring::ProgressLine line_;
  std::string noun_;
  std::uint64_t delivered_ = 0;  ///< of the runs that have ended
  std::uint64_t running_ = 0;    ///< of the run under way, as last told
  std::uint64_t told_ = 0;       ///< tenths of a campaign that were told
};

}  // namespace ringside::cli
