// SPDX-License-Identifier: Apache-2.0
//
// A run in a process of its own, so that a consumer that crashes, hangs or writes where it must not is a verdict and
// not the end of the harness. The parent sees a heartbeat in shared memory, reads the result from a pipe and, whatever
// happens, leaves no process behind.
#pragma once

#include <cstdint>
#include <functional>

#include "harness/run_result.h"
#include "harness/session.h"
#include "harness/world.h"
#include "ring/producer.h"

namespace ringside::harness {

/// What the work inside the child may use.
struct ChildScope {
  Heartbeat* heartbeat = nullptr;
  /// Names the read-only memory of these rings, so that a refused write to it is told from a crash.
  std::function<void(const World& world)> watch_rings;
  std::function<void(const ringside_user_ring& ring)> watch_user_ring;
  /// Sends the result and ends the child at once.
  std::function<void(const RunResult& result)> leave;
};

struct ChildOptions {
  std::uint64_t hang_timeout_ms = 10'000;
  /// Called about every 100 ms with the deliveries so far.
  std::function<void(std::uint64_t deliveries)> tick;
  /// True asks the parent to give up: the child is killed and the result is a fault "interrupted".
  std::function<bool()> cancelled;
};

/// Runs `work` in a child and returns its result; a child that dies or stands still becomes a result that says so
/// (crash, protocol or hang as the defect). `spec` is what the result is about. Not thread-safe: forks.
RunResult run_in_child(const RunSpec& spec, const ChildOptions& options,
                       const std::function<RunResult(ChildScope& scope)>& work);

}  // namespace ringside::harness
