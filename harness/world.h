// SPDX-License-Identifier: Apache-2.0
//
// What a session needs of a world: rings to read, producers that move, readiness, and a look at the truth. The model
// and the kernel answer the same questions, so that one session drives a consumer in both.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/run_result.h"
#include "harness/scenario.h"
#include "harness/workload.h"
#include "ring/consumer.h"
#include "ring/ledger.h"
#include "ring/overwritten.h"
#include "ring/result.h"

namespace ringside::harness {

/// Where a ring stands, in bytes. ringbuf: consumer_pos and producer_pos; perf: data_tail and data_head.
struct RingPositions {
  std::uint64_t consumer = 0;
  std::uint64_t producer = 0;

  friend bool operator==(const RingPositions&, const RingPositions&) = default;
};

/// What lies at a ring's consumer position.
enum class AtHead : std::uint8_t {
  nothing,    ///< the ring is empty, or holds only discarded records
  busy,       ///< a BUSY record
  committed,  ///< a committed record that can be delivered now
};

/// What one step of the producers came to.
enum class Moved : std::uint8_t {
  stepped,  ///< something moved
  waiting,  ///< nothing is due yet: next_event_ns() says when
  done,     ///< every source has ended
};

/// Threads: one session's thread calls everything; in free drive the producers run on threads of the world's own.
class World {
 public:
  virtual ~World() = default;

  /// The rings as the consumer sees them. For a consumer that owns its rings: none until it adopted them.
  virtual const ringside_ring_set& rings() const = 0;
  /// Takes note of a ring that the consumer opened itself. 0 or a negative errno.
  virtual int adopt(const ringside_ring& ring) = 0;
  /// Drops the adopted rings: the consumer is about to unmap them.
  virtual void forget_adopted() = 0;

  /// Stepped drive: the producers take one step at virtual time `now_ns`, chosen by `random`. An error is the world's
  /// own fault and ends the run.
  virtual ring::Result<Moved> step(Random& random, std::int64_t now_ns) = 0;
  /// What a step takes on the virtual clock.
  virtual std::int64_t step_ns() const = 0;
  /// When the next source is due, in virtual nanoseconds; nothing when every source has ended.
  virtual std::optional<std::int64_t> next_event_ns() const = 0;
  /// True while a step is inside a burst that nobody may interrupt.
  virtual bool in_burst() const = 0;

  /// Free drive: lets the producers run on their own threads; end stops those that still run, and waits for them.
  virtual ring::Result<void> start() = 0;
  virtual bool producers_running() const = 0;
  virtual ring::Result<void> end() = 0;

  /// epoll_wait over all rings, as the consumer's trigger asks; timeout 0 is a probe, below 0 is not allowed (a session
  /// waits in slices). Returns entries, 0 or a negative errno.
  virtual int wait(std::span<ringside_ready> ready, std::int64_t timeout_ns) = 0;
  /// The same for one descriptor of the consumer's: 1, 0 or a negative errno.
  virtual int wait_fd(int fd, std::int64_t timeout_ns) = 0;

  /// PERF_EVENT_IOC_PAUSE_OUTPUT: 0 or a negative errno, -EINVAL where there is no such perf ring.
  virtual int pause(std::uint32_t /*ring*/, bool /*on*/) { return -EOPNOTSUPP; }

  /// Returns when the outputs into that ring that were under way are over: 0 or a negative errno.
  virtual int quiesce(std::uint32_t /*ring*/) { return -EOPNOTSUPP; }

  virtual std::uint32_t ring_count() const = 0;
  virtual const ringside_ring& ring(std::uint32_t index) const = 0;
  virtual RingPositions positions(std::uint32_t index) const = 0;
  virtual AtHead at_head(std::uint32_t index) const = 0;

  /// What the producers did; exact once they have ended, and always in stepped drive.
  virtual ring::ProducerLedger ledger() const = 0;
  /// Numbered records that the source has reserved so far, for the judge.
  virtual std::uint64_t reserved_so_far(std::uint32_t source) const = 0;
  /// Per source: numbered committed records still in the rings.
  virtual std::vector<std::uint64_t> left() const = 0;

  /// What an overwrite ring took from the consumer; nothing for other rings. When the producers have ended.
  virtual const ring::Overwritten& overwritten() const {
    static const ring::Overwritten nothing;
    return nothing;
  }

  /// The consumer has handed over one record of that ring.
  virtual void delivered(std::uint32_t /*ring*/) {}

  /// Of an A/B swap, how many programs at least have chosen that side and are not over.
  virtual std::uint64_t in_flight(std::uint32_t /*side*/) const { return 0; }
  /// Of an A/B swap, how many programs at least have counted themselves. Any time.
  virtual std::uint64_t counted() const { return 0; }

  /// Source ids are below this: the workload's (on two sides: those of side 0, then those of side 1), then
  /// one closing source a ring.
  virtual std::uint32_t source_count() const = 0;
  /// The ring that the source writes to.
  virtual std::uint32_t ring_of(std::uint32_t source) const = 0;
  /// One more record a perf ring, by its closing source, after all was drained: only with a record that fits does the
  /// kernel tell the losses before it [2.7]. Called once, in both drives, when the producers have ended.
  virtual ring::Result<void> flush_losses() = 0;

  /// What this world cannot know or do for this scenario, one sentence each.
  virtual std::vector<std::string> not_observable() const = 0;
};

struct WorldRequest {
  const Scenario* scenario = nullptr;
  const ringside_consumer* consumer = nullptr;
  ring::RingKind kind = ring::RingKind::ringbuf;
  std::uint64_t records = 0;
  std::uint64_t seed = 0;
};

/// Why the running kernel cannot make overwrite rings, or nothing. Tried, not guessed; nothing also for who may make no
/// ring at all.
std::optional<std::string> overwrite_ring_is_missing();

/// Why a cell cannot run in a world, or nothing when it can: the consumer needs descriptors, a start position that a
/// real kernel cannot be brought to, ...
std::optional<std::string> cannot_run(WorldKind world, const WorldRequest& request);

ring::Result<std::unique_ptr<World>> make_model_world(const WorldRequest& request);
ring::Result<std::unique_ptr<World>> make_kernel_world(const WorldRequest& request);

}  // namespace ringside::harness
