// SPDX-License-Identifier: Apache-2.0
//
// One perf event and its ring: memory, output, LOST, counters and readiness (KERNEL-RINGS 2, 4.1).
//
// The outputs here run from end to end; whoever wants to stand between their steps drives PerfOutput over state()
// himself. One CPU writes to a ring at a time, interrupts included.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ring/result.h"
#include "sim/memory.h"
#include "sim/perf_output.h"
#include "sim/perf_state.h"
#include "sim/readiness.h"
#include "sim/ring_memory.h"

namespace ringside::sim {

struct PerfRingOptions {
  std::uint64_t data_size = 4096;  ///< bytes: pages, a power of two of them
  /// Of data_head and data_tail; a multiple of 8. The ring is one that was drained there and woke its reader there.
  std::uint64_t start_position = 0;
  PerfAttr attr = {};
  std::uint64_t event_id = 1;
  bool writable = true;  ///< how the user maps it first: false makes an overwrite ring [2.1]
  UserMapping user_mapping = default_user_mapping;
};

/// A ring as its first mapping makes it [2.2, 2.3], over memory that is all zero: a control page and `data_size` bytes
/// of data, which may be 0. `writable`: that mapping; without it the ring is an overwrite ring.
PerfRingState start_perf_ring(std::byte* control_page, std::byte* data, std::uint64_t data_size, const PerfAttr& attr,
                              std::uint64_t owner_id, bool writable);

/// poll and the wait queue are thread-safe; all else belongs to the CPU that writes.
class PerfRingModel : public PollSource {
 public:
  /// Errors: EINVAL for sizes [2.1] and for sample_type bits that are not modelled, ENOMEM.
  static ring::Result<std::unique_ptr<PerfRingModel>> create(const PerfRingOptions& options);

  // Output, in task context: a wake-up that it queues has run when it returns [4.3].

  /// bpf_perf_event_output: 0 or -ENOSPC.
  int output(std::span<const std::byte> payload, const PerfSampleValues& values = {});
  /// Any record, by this event or by another one whose output goes to this ring.
  int write(const PerfRecord& record);
  int write(const PerfRecord& record, PerfEventState& event);
  /// PERF_EVENT_IOC_PAUSE_OUTPUT [2.11].
  void pause(bool paused) { state_.paused = paused; }

  // Readiness [4.1]: one-shot; a poll takes the flag.

  std::uint32_t poll() override;
  WaitQueue& wait_queue() override { return wait_queue_; }
  /// The event's task has exited: HUP only from now on, even with unread data.
  void hang_up();

  // The event's irq-work [4.3].

  /// True when it was not queued yet: the caller's CPU is to run it as soon as interrupts are on.
  bool queue_wakeup();
  void run_wakeup();

  // For the machine, the explorer and tests.

  PerfRingState& state() { return state_; }
  const PerfRingState& state() const { return state_; }
  PerfEventState& event() { return event_; }
  const PerfMemory& memory() const { return memory_; }
  std::uint64_t data_head() const { return PlainMemory::load_acquire(state_.data_head); }
  std::uint64_t data_tail() const { return PlainMemory::load_acquire(state_.data_tail); }
  /// Whether published records lie before data_head that data_tail has not passed. Thread-safe.
  bool deliverable() const { return data_head() != data_tail(); }
  /// Calls visit(position, header) for every published record from data_tail on, until the end or the first header that
  /// cannot be one; for none when data_tail is no position that an honest consumer can have. Forward rings only, when
  /// nobody produces or consumes.
  template <class Visit>
  void visit_unread(Visit&& visit) const {
    const std::uint64_t head = data_head();
    const std::uint64_t tail = data_tail();
    if (tail % 8 != 0 || head - tail > state_.size) return;
    for (std::uint64_t at = tail; at != head;) {
      ring::perf::RecordHeader header;
      std::memcpy(&header, state_.data + (at & state_.mask()), sizeof(header));
      if (header.size < sizeof(header) || header.size % 8 != 0 || header.size > head - at) return;
      visit(at, header);
      at += header.size;
    }
  }

 private:
  PerfRingModel(PerfMemory memory, const PerfRingOptions& options);

  PerfMemory memory_;
  PerfRingState state_;
  PerfEventState event_;
  WaitQueue wait_queue_;
  std::uint32_t wakeup_queued_ = 0;
  std::atomic<bool> hung_up_{false};
};

}  // namespace ringside::sim
