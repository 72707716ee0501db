// SPDX-License-Identifier: Apache-2.0
//
// Signals that ask a run to end: it ends with what there is, and says so.
#pragma once

#include <signal.h>

#include <array>

namespace ringside::ring {

/// Notes SIGINT, SIGTERM and SIGHUP while it lives, instead of the process ending at once. One at a time.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals.size()> before_{};
};

/// The number of the signal that came while the last guard lived, else 0. Thread-safe.
int interrupted_by();

}  // namespace ringside::ring
