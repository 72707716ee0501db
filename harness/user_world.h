// SPDX-License-Identifier: Apache-2.0
//
// What a session with a producer needs of a world: a user ring buffer, the kernel's side of it, which drains when it is
// told to and moves step by step, and readiness. The model and the kernel answer the same questions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "harness/scenario.h"
#include "ring/producer.h"
#include "ring/result.h"

namespace ringside::harness {

/// Threads: one session's thread calls everything.
class UserWorld {
 public:
  virtual ~UserWorld() = default;

  /// The ring as the producer sees it.
  virtual const ringside_user_ring& ring() const = 0;

  using Take = std::function<void(std::span<const std::byte> sample)>;
  /// Starts a drain; none must be under way.
  virtual void begin_drain(std::uint64_t flags, std::uint32_t most_samples) = 0;
  virtual bool draining() const = 0;
  /// The drain under way takes one step: an access of shared memory in the model, all of it on the kernel. `take` gets
  /// each sample. At its end, what bpf_user_ringbuf_drain returned. An error is the world's own fault.
  virtual ring::Result<std::optional<std::int64_t>> step(const Take& take) = 0;
  /// What a step takes on the virtual clock.
  virtual std::int64_t step_ns() const = 0;

  /// epoll_wait over the ring, without waiting: 1 writable, 0, or a negative errno.
  virtual int ready() = 0;
};

struct UserWorldRequest {
  const Scenario* scenario = nullptr;
  std::uint32_t trigger = RINGSIDE_EDGE;  ///< RINGSIDE_LEVEL or RINGSIDE_EDGE
};

ring::Result<std::unique_ptr<UserWorld>> make_user_model_world(const UserWorldRequest& request);
ring::Result<std::unique_ptr<UserWorld>> make_user_kernel_world(const UserWorldRequest& request);

/// Why the running kernel has no user ring buffers, or nothing when it has.
std::optional<std::string> user_ringbuf_is_missing();

}  // namespace ringside::harness
