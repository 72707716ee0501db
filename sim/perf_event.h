// SPDX-License-Identifier: Apache-2.0
//
// Perf events apart from their rings: an event has a ring while it is mapped, or writes into that of another event
// (KERNEL-RINGS 2.1, 2.11). What an event brings along is its attr, its id, its count of losses and its wait queue; all
// else belongs to the ring, which lives as long as anybody has it mapped.
//
//   PerfEventModel<PlainMemory> a({.attr = attr, .id = 1}), b({.attr = attr, .id = 2});
//   a.map(1, true);          // 0: a ring of one page
//   b.redirect(&a);          // 0: b writes there, too
//   b.write(record);         // 0 or -ENOSPC
//   a.unmap();               // the ring is gone, for b as well
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sim/kernel_version.h"
#include "sim/perf_output.h"
#include "sim/perf_state.h"
#include "sim/readiness.h"

namespace ringside::sim {

struct PerfEventOptions {
  PerfAttr attr = {};
  std::uint64_t id = 1;
  KernelVersion kernel = default_kernel_version;
};

template <class Memory>
class PerfEventModel;

/// One ring and the events that write to it. Its memory is plain: there is no user whose stores must be caught.
template <class Memory>
class PerfRing {
 public:
  PerfRing(const PerfEventState& owner, std::uint64_t data_size, bool writable);

  std::byte* control_page() { return reinterpret_cast<std::byte*>(words_.get()); }
  std::span<const std::byte> data() const { return {state_.data, static_cast<std::size_t>(state_.size)}; }
  PerfRingState& state() { return state_; }

 private:
  friend PerfEventModel<Memory>;

  std::unique_ptr<std::uint64_t[]> words_;
  PerfRingState state_;
  std::vector<PerfEventModel<Memory>*> events_;  // the kernel's order: the one attached last comes first
  std::uint32_t mappings_ = 0;                   // of all of its events
};

/// One event, of the task that uses it. Not thread-safe. Events that were redirected to one another must be destroyed
/// together.
template <class Memory>
class PerfEventModel final : public PollSource {
 public:
  using Ring = PerfRing<Memory>;

  explicit PerfEventModel(const PerfEventOptions& options);
  ~PerfEventModel() override;
  PerfEventModel(const PerfEventModel&) = delete;
  PerfEventModel& operator=(const PerfEventModel&) = delete;

  // System calls: each returns 0 or a negative errno.

  /// mmap of 1 + data_pages pages [2.1]. -EINVAL, -EBUSY.
  int map(std::uint64_t data_pages, bool writable);
  /// munmap of one mapping, which there must be. The last one of a ring ends it.
  void unmap();
  /// PERF_EVENT_IOC_SET_OUTPUT [2.11]: to another event of the same task, or to none. -EINVAL.
  int redirect(PerfEventModel* target);
  /// PERF_EVENT_IOC_PAUSE_OUTPUT [2.11]. -EINVAL.
  int pause(bool paused);
  /// PERF_EVENT_IOC_ENABLE, or DISABLE.
  void enable(bool enabled) { enabled_ = enabled; }
  bool enabled() const { return enabled_; }

  // Output, in task context: a wake-up that it queues has run when it returns [4.3]. 0, -ENOSPC.

  int write(const PerfRecord& record);
  /// Calls `within` once, when the output stands at that point; never when it does not come there.
  int write(const PerfRecord& record, PerfPoint point, const std::function<void()>& within);

  // Readiness [4.1]: one-shot; a poll takes the flag of all events of the ring.

  std::uint32_t poll() override;
  WaitQueue& wait_queue() override { return wait_queue_; }

  const PerfEventState& state() const { return state_; }
  std::uint32_t mappings() const { return mappings_; }
  /// Null without one.
  Ring* ring() const { return ring_.get(); }

 private:
  void attach(std::shared_ptr<Ring> ring);
  void wake_ring();

  PerfEventState state_;
  bool maps_redirected_;  // what kernels do that lack VersionRuleId::perf_redirected_mmap
  WaitQueue wait_queue_;
  std::shared_ptr<Ring> ring_;
  std::uint32_t mappings_ = 0;
  bool enabled_ = true;
};

}  // namespace ringside::sim
