// SPDX-License-Identifier: Apache-2.0
//
// The kernel's side of a session with a producer, and the virtual clock: drains follow one another as the scenario has
// it, and move only through here, by dice that the run's seed throws. What they deliver goes to the judge.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/scenario.h"
#include "harness/session.h"
#include "harness/user_world.h"
#include "harness/workload.h"
#include "ring/judge.h"
#include "ring/result.h"

namespace ringside::harness {

/// Not thread-safe: the session's thread alone uses it.
class UserDrains {
 public:
  UserDrains(UserWorld& world, const Scenario& scenario, std::uint64_t seed, ring::Judge& judge, Heartbeat& heartbeat);

  std::int64_t now_ns() const { return now_ns_; }
  Random& random() { return random_; }
  /// The world's own failure, once it had one: the run is to end.
  const std::optional<ring::Error>& fault() const { return fault_; }

  /// One step of the drain under way, or of the next one when it is due. False when none is due yet, or the world has
  /// failed.
  bool step();
  /// The kernel gets a turn of a few steps, often none.
  void turn();
  /// Seldom, the application is slow: so much time passes that a drain comes, and goes on for a while.
  void dawdle();
  /// Makes something happen: a step, or the clock moves to the next drain, at most to `limit_ns`.
  void advance(std::int64_t limit_ns);
  /// Moves the clock to `time_ns`, never back.
  void skip_to(std::int64_t time_ns);

  /// Drains in a row that ended without moving consumer_pos.
  std::uint64_t fruitless() const { return fruitless_; }
  void expect_progress() { fruitless_ = 0; }

  std::uint64_t consumer_pos() const;
  std::uint64_t producer_pos() const;

 private:
  void take(std::span<const std::byte> sample);
  void end_drain(std::int64_t result);

  UserWorld& world_;
  const Scenario& scenario_;
  Random random_;
  ring::Judge& judge_;
  Heartbeat& heartbeat_;
  std::int64_t now_ns_ = 0;
  std::int64_t next_drain_ns_ = 0;
  std::uint64_t consumer_at_start_ = 0;  // of the drain under way
  std::uint64_t fruitless_ = 0;
  std::optional<ring::Error> fault_;
};

}  // namespace ringside::harness
