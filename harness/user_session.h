// SPDX-License-Identifier: Apache-2.0
//
// A session with a producer of a user ring buffer: the harness is the application that has samples sent, the kernel (or
// its model) drains, and every sample is judged. Each call across the contract is a place where a drain may move.
#pragma once

#include <cstdint>
#include <functional>

#include "harness/session.h"
#include "harness/user_world.h"
#include "ring/judge.h"
#include "ring/producer.h"

namespace ringside::harness {

struct UserSessionOptions {
  const Scenario* scenario = nullptr;
  const ringside_producer* producer = nullptr;
  std::uint64_t seed = 0;
  std::uint64_t records = 0;       ///< of all sources together; 0: as the scenario says
  Heartbeat* heartbeat = nullptr;  ///< never null
  /// Takes the verdict of a session whose producer will not come back from a call by itself; must not return.
  std::function<void(const ring::Verdict&)> abandon;
};

/// Runs the session to its end. An error is a fault of the world, never of the producer.
ring::Result<ring::Verdict> run_user_session(UserWorld& world, const UserSessionOptions& options);

}  // namespace ringside::harness
