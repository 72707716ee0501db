// SPDX-License-Identifier: Apache-2.0
//
// How far something long is: a bar that is drawn over itself on a terminal, a plain line now and then elsewhere.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace ringside::ring {

/// Not thread-safe.
class ProgressLine {
 public:
  struct Options {
    bool terminal = false;                        ///< a bar; otherwise plain lines
    std::size_t columns = 100;                    ///< of the terminal; the bar never takes the last one
    std::function<double()> seconds;              ///< a monotonic clock
    std::function<void(std::string_view)> write;  ///< where it goes
  };
  /// On standard error.
  static Options on_standard_error();

  explicit ProgressLine(Options options);

  struct State {
    double share = 0;                         ///< of the whole, 0 to 1
    std::function<std::string()> beside_bar;  ///< without a line feed
    std::function<std::string()> line;        ///< the same in full, without a bar
    bool milestone = false;                   ///< worth a plain line of its own
  };
  /// A bar 20 times a second at most; a plain line at first, at milestones and every 10 s.
  void show(const State& state);
  /// Takes the bar away. Call before anything else is written.
  void finish();

  bool terminal() const { return options_.terminal; }
  /// Since it was made.
  double seconds() const { return options_.seconds() - begin_; }

 private:
  Options options_;
  double begin_;
  double last_shown_;
  bool drawn_ = false;
  bool said_ = false;
};

}  // namespace ringside::ring
