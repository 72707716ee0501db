// SPDX-License-Identifier: Apache-2.0
//
// A session: one consumer, driven through one scenario in one world, every delivery judged. It is the consumer's host:
// each call that the consumer makes is a place where producers may move, and where its claims are held against the
// truth.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/world.h"
#include "ring/consumer.h"
#include "ring/judge.h"

namespace ringside::harness {

/// What the parent of a running session can see of it, in memory that both share.
struct Heartbeat {
  std::atomic<std::uint64_t> beats{0};       ///< calls across the contract; standing still means a hang
  std::atomic<std::uint64_t> deliveries{0};  ///< records delivered so far
  std::atomic<const char*> inside{"start"};  ///< the contract call under way: a text that lives for ever
};

struct SessionOptions {
  const Scenario* scenario = nullptr;
  const ringside_consumer* consumer = nullptr;
  ring::RingKind kind = ring::RingKind::ringbuf;
  std::uint64_t seed = 0;
  std::uint64_t most_records = 0;  ///< the most numbered records that any one source may commit
  std::uint64_t planned = 0;       ///< records of all sources together, discarded and nested ones included
  Heartbeat* heartbeat = nullptr;  ///< never null
  /// Takes the verdict of a session whose consumer will not come back from a call by itself; must not return.
  std::function<void(const ring::Verdict&)> abandon;
};

/// Runs the session to its end. An error is a fault of the world, never of the consumer.
ring::Result<ring::Verdict> run_session(World& world, const SessionOptions& options);

}  // namespace ringside::harness
