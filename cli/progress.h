// SPDX-License-Identifier: Apache-2.0
//
// How far a check is: a bar that is drawn over itself on a terminal, a plain line now and then elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "conform/campaign.h"
#include "harness/check.h"

namespace ringside::cli {

/// Not thread-safe; told on the thread that runs the check.
class ProgressPrinter {
 public:
  struct Options {
    bool terminal = false;                        ///< a bar; otherwise plain lines
    std::size_t columns = 100;                    ///< of the terminal; the bar never takes the last one
    std::string noun = "cell";                    ///< what is counted
    std::function<double()> seconds;              ///< a monotonic clock
    std::function<void(std::string_view)> write;  ///< where it goes
  };

  explicit ProgressPrinter(Options options);

  /// A plain line is written at the start, after every tenth of the runs, and every 10 s of a longer run.
  void tell(const harness::Progress& progress);
  /// The same for scripts played on the model and the kernel, at every tenth of them.
  void tell(const conform::CampaignProgress& progress);

  /// Takes the bar away. Call before anything else is written.
  void finish();

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
  void draw(const State& state);
  void say(const State& state);
  std::uint64_t records(const harness::Progress& progress) const;

  Options options_;
  double begin_;
  double last_shown_;
  std::uint64_t delivered_ = 0;  ///< of the runs that have ended
  std::uint64_t running_ = 0;    ///< of the run under way, as last told
  std::uint64_t told_ = 0;       ///< tenths of a campaign that were told
  bool drawn_ = false;
  bool said_ = false;
};

}  // namespace ringside::cli
