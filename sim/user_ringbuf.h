// SPDX-License-Identifier: Apache-2.0
//
// One user ring buffer: its memory, the kernel's drain, and its readiness (KERNEL-RINGS 3, 4.1). The user produces
// through memory(); sim/user_ringbuf_producer.h is how libbpf does it.
//
// drain() runs from end to end; whoever wants to stand between its steps drives UserRingbufDrain over state() himself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "ring/result.h"
#include "sim/memory.h"
#include "sim/readiness.h"
#include "sim/ring_memory.h"
#include "sim/user_ringbuf_drain.h"
#include "sim/user_ringbuf_producer.h"
#include "sim/user_ringbuf_state.h"

namespace ringside::sim {

struct UserRingbufOptions {
  std::uint64_t data_size = 4096;    ///< max_entries of the map, bytes
  std::uint64_t start_position = 0;  ///< of both positions; a multiple of 8
  std::uint32_t map_flags = 0;
  UserMapping user_mapping = default_user_mapping;
};

/// Over PlainMemory it is the kernel; over BrokenMemory (sim/memory.h) it breaks a rule. drain may be called from
/// several threads, as from several CPUs; the user's side is one thread.
template <class Memory>
class BasicUserRingbuf : public PollSource {
 public:
  /// Errors, as map creation has them [1.2]: EINVAL for sizes and flags, ENOMEM.
  static ring::Result<std::unique_ptr<BasicUserRingbuf>> create(const UserRingbufOptions& options);

  /// bpf_user_ringbuf_drain in task context: a wake-up that it queues has run when it returns [4.3]. `callback` gets
  /// each sample as std::span<const std::byte> and returns 0 or 1 (stop). Returns what the helper returns.
  template <class Callback>
  std::int64_t drain(std::uint64_t flags, Callback&& callback) {
    UserRingbufDrain<Memory> drain(state_, flags);
    drain.run(std::forward<Callback>(callback));
    if (drain.wants_wakeup() && queue_wakeup()) run_wakeup();
    return drain.result();
  }

  /// Writable when less than N bytes lie between the positions, whatever they are [4.1].
  std::uint32_t poll() override;
  WaitQueue& wait_queue() override { return wait_queue_; }

  // The ring's irq-work [4.3].

  /// True when it was not queued yet: the caller's CPU is to run it as soon as interrupts are on.
  bool queue_wakeup();
  void run_wakeup();

  /// The ring as it was created. When nobody produces, drains or waits.
  void reset();

  UserRingbufState& state() { return state_; }
  const UserRingbufState& state() const { return state_; }
  const RingbufMemory& memory() const { return memory_; }
  /// A producer over the user's mapping.
  UserRingbufProducer producer() const;
  std::uint64_t consumer_pos() const { return PlainMemory::load_acquire(state_.consumer_pos); }
  std::uint64_t producer_pos() const { return PlainMemory::load_acquire(state_.producer_pos); }

 private:
  BasicUserRingbuf(RingbufMemory memory, const UserRingbufOptions& options);

  RingbufMemory memory_;
  UserRingbufState state_;
  WaitQueue wait_queue_;
  std::uint64_t start_position_;
  std::uint32_t wakeup_queued_ = 0;
};

using UserRingbufModel = BasicUserRingbuf<PlainMemory>;

extern template class BasicUserRingbuf<PlainMemory>;
extern template class BasicUserRingbuf<BrokenMemory>;

}  // namespace ringside::sim
