// SPDX-License-Identifier: Apache-2.0
//
// What is done about the machine's noise while something is timed: one comparison at a time, on one CPU, before others.
#pragma once

#include <sched.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "real/handle.h"
#include "ring/result.h"

namespace ringside::harness {

/// Ends with its destructor; the calling thread is then as it was.
class QuietCpu {
 public:
  /// Waits while another comparison of this machine runs; `waiting` is called once when it must. Then pins the calling
  /// thread to the last CPU that is online, and takes real-time priority where that is allowed. Errors: EINTR when a
  /// signal came meanwhile, and what open says of the lock's file.
  static ring::Result<std::unique_ptr<QuietCpu>> take(const std::function<void()>& waiting);
  ~QuietCpu();
  QuietCpu(const QuietCpu&) = delete;
  QuietCpu& operator=(const QuietCpu&) = delete;

  /// What was done and what could not be, one sentence each.
  const std::vector<std::string>& method() const { return method_; }

  /// Lets others have the CPU for a tenth of `busy_ns`: the kernel takes a twentieth from real-time threads anyway, but
  /// when it likes.
  void rest(double busy_ns) const;

 private:
  explicit QuietCpu(real::Fd lock);
  void pin();
  void raise();

  real::Fd lock_;
  cpu_set_t cpus_{};
  int policy_ = SCHED_OTHER;
  sched_param parameters_{};
  std::vector<std::string> method_;
};

/// The file whose lock says that a comparison runs: /run/lock/ringside-compare, or below TMPDIR or /tmp where there is
/// no such folder.
std::string compare_lock_path();

}  // namespace ringside::harness
