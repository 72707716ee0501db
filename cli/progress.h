// SPDX-License-Identifier: Apache-2.0
//
// How far a check is: a bar that is drawn over itself on a terminal, a plain line now and then elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

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

  /// Takes the bar away. Call before anything else is written.
  void finish();

 private:
  void draw(const harness::Progress& progress, std::size_t done);
  void say(const harness::Progress& progress, std::size_t done);
  std::uint64_t records(const harness::Progress& progress) const;

  Options options_;
  double begin_;
  double last_shown_;
  std::uint64_t delivered_ = 0;  ///< of the runs that have ended
  std::uint64_t running_ = 0;    ///< of the run under way, as last told
  bool drawn_ = false;
  bool said_ = false;
};

}  // namespace ringside::cli
