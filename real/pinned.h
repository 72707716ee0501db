// SPDX-License-Identifier: Apache-2.0
//
// Threads of ours that stay on one CPU. They block every signal, so that signals reach the threads of whoever uses us.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "ring/result.h"

namespace ringside::real {

/// Pins the calling thread. EINVAL for a CPU that is not online or not allowed to this process.
ring::Result<void> pin_to(std::uint32_t cpu);

/// Lets the calling thread run on that CPU once, then wherever it might before: what had begun there and does not let
/// its CPU go has ended. Errors as pin_to.
ring::Result<void> visit(std::uint32_t cpu);

/// Whether the calling thread may run on that CPU only.
bool pinned_to(std::uint32_t cpu);

/// Starts a thread that blocks every signal. EAGAIN when the system has none left.
ring::Result<std::thread> start_thread(std::function<void()> body);

/// A thread that waits on its CPU for work. Not thread-safe: one thread gives it work at a time.
class PinnedWorker {
 public:
  static ring::Result<std::unique_ptr<PinnedWorker>> start(std::uint32_t cpu);
  ~PinnedWorker();
  PinnedWorker(const PinnedWorker&) = delete;
  PinnedWorker& operator=(const PinnedWorker&) = delete;

  /// Runs `work` there and returns when it has ended. Runs it on the calling thread when that is pinned to the CPU.
  void run(const std::function<void()>& work);

 private:
  struct Channel;
  PinnedWorker(std::uint32_t cpu, std::shared_ptr<Channel> channel) : cpu_(cpu), channel_(std::move(channel)) {}

  std::uint32_t cpu_;
  std::shared_ptr<Channel> channel_;
  std::thread thread_;
};

}  // namespace ringside::real
