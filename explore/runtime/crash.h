// SPDX-License-Identifier: Apache-2.0
//
// What the processor forbids, and computing without an end, as failures of the explored program.
#pragma once

#include <signal.h>
#include <sys/time.h>

#include <array>
#include <memory>

namespace ringside::explore::runtime {

/// While it lives, faults and silence (longest_silence_ms) of explored threads end the exploration and not the process.
/// Faults anywhere else do what they did before. One at a time.
class CrashHandler {
 public:
  CrashHandler();
  ~CrashHandler();
  CrashHandler(const CrashHandler&) = delete;
  CrashHandler& operator=(const CrashHandler&) = delete;

 private:
  static constexpr std::array<int, 4> signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};

  std::unique_ptr<char[]> stack_;  ///< a thread that has run over its own cannot handle anything there
  stack_t stack_before_{};
  std::array<struct sigaction, signals.size()> before_{};
  struct sigaction alarm_before_{};
  itimerval timer_before_{};
};

}  // namespace ringside::explore::runtime
