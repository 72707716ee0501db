// SPDX-License-Identifier: Apache-2.0
//
// Who moves when. In stepped drive the producers and the clock move only through here, by dice that the run's seed
// throws; in free drive the producers move by themselves and the clock is the machine's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "harness/scenario.h"
#include "harness/workload.h"
#include "harness/world.h"
#include "ring/result.h"

namespace ringside::harness {

/// Not thread-safe: the session's thread alone uses it.
class Pace {
 public:
  Pace(World& world, const Scenario& scenario, std::uint64_t seed);

  /// Virtual nanoseconds from the start of the run; free drive: of the machine's monotonic clock.
  std::int64_t now_ns() const;
  Random& random() { return random_; }
  /// `look` is called behind each step of the producers from now on.
  void watch(std::function<void()> look) { behind_step_ = std::move(look); }
  /// The world's own failure, once it had one: the run is to end.
  const std::optional<ring::Error>& fault() const { return fault_; }
  /// Whether every source has ended.
  bool producers_done() const;

  /// A step of the producers or of the clock towards that time; free drive: a short sleep. `done`: they have ended, and
  /// the clock stands where it stood.
  Moved sleep_towards(std::int64_t time_ns);

  // Stepped drive; in free drive turn and work do nothing and the others must not be called.

  /// One step of the producers, and the time it takes.
  Moved step();
  /// The producers get a turn of a few steps, often none; a burst is never left half done.
  void turn();
  /// The application spends its time on a record, and the producers use it.
  void work();
  /// Makes something happen, by a step or by moving the clock to the next source that is due. False when every source
  /// has ended, or the world has failed.
  bool advance();
  /// Moves the clock to when the next source is due, at least a step on, at most to `limit_ns`.
  void skip_time(std::int64_t limit_ns);
  /// Moves the clock to `time_ns`, never back.
  void skip_to(std::int64_t time_ns);

 private:
  World& world_;
  const Scenario& scenario_;
  const bool stepped_;
  Random random_;
  std::int64_t now_ns_ = 0;
  std::optional<ring::Error> fault_;
  std::function<void()> behind_step_;
};

}  // namespace ringside::harness
