// SPDX-License-Identifier: Apache-2.0
//
// One BPF ring buffer: its memory, the kernel's helpers on it, and its readiness (KERNEL-RINGS 1, 4.1).
//
// The helpers here run from end to end; whoever wants to stand between their steps drives RingbufReserve and
// RingbufCommit over state() himself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "ring/result.h"
#include "sim/kernel_version.h"
#include "sim/memory.h"
#include "sim/readiness.h"
#include "sim/ring_memory.h"
#include "sim/ringbuf_reserve.h"
#include "sim/ringbuf_state.h"

namespace ringside::sim {

inline constexpr std::uint32_t flag_numa_node = 1u << 2;      ///< BPF_F_NUMA_NODE
inline constexpr std::uint32_t flag_rb_overwrite = 1u << 19;  ///< BPF_F_RB_OVERWRITE

struct RingbufOptions {
  std::uint64_t data_size = 4096;    ///< max_entries of the map, bytes
  std::uint64_t start_position = 0;  ///< of every position; a multiple of 8
  std::uint32_t map_flags = 0;
  KernelVersion kernel = default_kernel_version;
  UserMapping user_mapping = default_user_mapping;
};

/// What bpf_ringbuf_query can be asked [1.7].
enum class RingbufQuery : std::uint64_t { avail_data, ring_size, cons_pos, prod_pos, overwrite_pos };

/// The helpers may be called from several threads, as from several CPUs. `Memory`: how the helpers touch the ring;
/// BrokenMemory makes a ring that breaks one rule.
template <class Memory>
class BasicRingbufModel : public PollSource {
 public:
  /// Errors, as map creation has them [1.2]: EINVAL for sizes and flags, ENOMEM.
  static ring::Result<std::unique_ptr<BasicRingbufModel>> create(const RingbufOptions& options);

  /// A reserved record. The payload may be written until it is committed.
  struct Reservation {
    std::uint64_t position = 0;  ///< of the header
    std::span<std::byte> payload;
  };

  // The helpers, in task context: a wake-up that they queue has run when they return [4.3].

  /// bpf_ringbuf_reserve: nothing on any failure.
  std::optional<Reservation> reserve(std::uint64_t size, std::uint64_t flags = 0);
  void submit(const Reservation& reservation, std::uint64_t flags = 0);
  void discard(const Reservation& reservation, std::uint64_t flags = 0);
  /// bpf_ringbuf_output: 0, -EINVAL for unknown flags, -EAGAIN for any failed reservation.
  int output(std::span<const std::byte> bytes, std::uint64_t flags = 0);
  /// bpf_ringbuf_reserve_dynptr: 0; -EINVAL for flags and failed reservations, -E2BIG above 0xffffff. `reservation` is
  /// empty after a failure, and must be handed to submit_dynptr or discard_dynptr all the same.
  int reserve_dynptr(std::uint32_t size, std::uint64_t flags, std::optional<Reservation>& reservation);
  void submit_dynptr(const std::optional<Reservation>& reservation, std::uint64_t flags = 0);
  void discard_dynptr(const std::optional<Reservation>& reservation, std::uint64_t flags = 0);
  /// bpf_ringbuf_query: 0 for what it does not know.
  std::uint64_t query(std::uint64_t what) const;
  std::uint64_t query(RingbufQuery what) const { return query(static_cast<std::uint64_t>(what)); }

  // Readiness [4.1]: readable whenever AVAIL_DATA is not 0, whatever lies there.

  std::uint32_t poll() override;
  WaitQueue& wait_queue() override { return wait_queue_; }
  /// A fault: HUP from now on.
  void hang_up();

  // The ring's irq-work [4.3].

  /// True when it was not queued yet: the caller's CPU is to run it as soon as interrupts are on.
  bool queue_wakeup();
  void run_wakeup();

  // For the machine, the explorer and tests.

  RingbufState& state() { return state_; }
  const RingbufState& state() const { return state_; }
  const RingbufMemory& memory() const { return memory_; }
  std::uint64_t consumer_pos() const { return Memory::load_acquire(state_.consumer_pos); }
  std::uint64_t producer_pos() const { return Memory::load_acquire(state_.producer_pos); }
  std::uint64_t pending_pos() const { return Memory::load_relaxed(state_.pending_pos); }
  std::uint64_t overwrite_pos() const { return Memory::load_relaxed(state_.overwrite_pos); }
  /// Whether a consumer that stands at consumer_pos can deliver a record: the first one that is not discarded is
  /// committed. For the thread that moves consumer_pos, or for all when nobody produces.
  bool deliverable() const;
  /// Calls visit(position, len word) for every record from consumer_pos on; none when consumer_pos is no position that
  /// an honest consumer can have. When nobody produces or consumes.
  template <class Visit>
  void visit_unread(Visit&& visit) const {
    const std::uint64_t producer = producer_pos();
    // By signed difference: a consumer_pos inside a record leads the walk past the producer, never onto it.
    for (std::uint64_t at = first_unread(producer); static_cast<std::int64_t>(producer - at) > 0;) {
      const std::uint32_t header = Memory::load_acquire(state_.length_word(at));
      visit(at, header);
      at += ring::ringbuf::span_of(header);
    }
  }

 private:
  BasicRingbufModel(RingbufMemory memory, const RingbufOptions& options);
  std::uint64_t available() const;
  // consumer_pos, or overwrite_pos when the consumer was lapped; `producer` when no records can lie in between.
  std::uint64_t first_unread(std::uint64_t producer) const;
  // Whether the ring has given up what lies at `position` [1.11].
  bool overran(std::uint64_t position) const {
    return state_.overwrite && static_cast<std::int64_t>(overwrite_pos() - position) > 0;
  }
  std::span<std::byte> payload_of(std::uint64_t position, std::uint64_t size) const;
  void commit(const Reservation& reservation, bool discarded, std::uint64_t flags);

  RingbufMemory memory_;
  RingbufState state_;
  WaitQueue wait_queue_;
  std::uint32_t wakeup_queued_ = 0;
  std::atomic<bool> hung_up_{false};
};

extern template class BasicRingbufModel<PlainMemory>;
extern template class BasicRingbufModel<BrokenMemory>;
using RingbufModel = BasicRingbufModel<PlainMemory>;

}  // namespace ringside::sim
