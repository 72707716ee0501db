// SPDX-License-Identifier: Apache-2.0
#include "sim/perf_event.h"

#include <cassert>
#include <cerrno>
#include <utility>

#include "sim/perf_ring.h"
#include "sim/ring_memory.h"

namespace ringside::sim {

template <class Memory>
PerfRing<Memory>::PerfRing(const PerfEventState& owner, std::uint64_t data_size, bool writable)
    : words_(std::make_unique<std::uint64_t[]>(
          static_cast<std::size_t>((page_size_bytes() + data_size) / sizeof(std::uint64_t)))) {
  state_ =
      start_perf_ring(control_page(), control_page() + page_size_bytes(), data_size, owner.attr, owner.id, writable);
}

template <class Memory>
PerfEventModel<Memory>::PerfEventModel(const PerfEventOptions& options)
    : maps_redirected_(!holds(VersionRuleId::perf_redirected_mmap, options.kernel)) {
  state_.attr = options.attr;
  state_.id = options.id;
}

template <class Memory>
PerfEventModel<Memory>::~PerfEventModel() {
  if (ring_ != nullptr) std::erase(ring_->events_, this);
}

template <class Memory>
int PerfEventModel<Memory>::map(std::uint64_t data_pages, bool writable) {
  const std::uint64_t data_size = data_pages * page_size_bytes();
  if ((data_pages & (data_pages - 1)) != 0 && data_pages != 0) return -EINVAL;
  if (ring_ != nullptr) {
    if (ring_->state_.size != data_size) return -EINVAL;
    if (mappings_ == 0 && !maps_redirected_) return -EBUSY;
  } else {
    attach(std::make_shared<Ring>(state_, data_size, writable));
  }
  // One more of the same ring changes nothing of it, however it is made.
  ++mappings_;
  ++ring_->mappings_;
  return 0;
}

template <class Memory>
void PerfEventModel<Memory>::unmap() {
  assert(mappings_ > 0);
  const std::shared_ptr<Ring> ring = ring_;
  --ring->mappings_;
  if (--mappings_ == 0) attach(nullptr);
  if (ring->mappings_ != 0) return;
  while (!ring->events_.empty()) ring->events_.front()->attach(nullptr);
}

template <class Memory>
int PerfEventModel<Memory>::redirect(PerfEventModel* target) {
  if (target == this) return -EINVAL;
  if (target != nullptr && target->state_.attr.write_backward != state_.attr.write_backward) return -EINVAL;
  if (mappings_ != 0) return -EINVAL;
  if (target != nullptr && target->ring_ == nullptr) return -EINVAL;
  attach(target == nullptr ? nullptr : target->ring_);
  return 0;
}

template <class Memory>
int PerfEventModel<Memory>::pause(bool paused) {
  if (ring_ == nullptr || ring_->state_.size == 0) return -EINVAL;
  ring_->state_.paused = paused;
  return 0;
}

// Whoever waits for an event whose ring is taken away, or changed for another one, is woken.
template <class Memory>
void PerfEventModel<Memory>::attach(std::shared_ptr<Ring> ring) {
  const std::shared_ptr<Ring> before = std::exchange(ring_, std::move(ring));
  if (before != nullptr) std::erase(before->events_, this);
  if (ring_ != nullptr) ring_->events_.insert(ring_->events_.begin(), this);
  if (before != nullptr) wait_queue_.wake_all();
}

template <class Memory>
int PerfEventModel<Memory>::write(const PerfRecord& record) {
  if (ring_ == nullptr) return -ENOSPC;  // 2.4.1
  PerfOutput<Memory> output(ring_->state_, state_, record);
  output.run();
  if (output.wants_wakeup()) wake_ring();
  return output.result();
}

template <class Memory>
int PerfEventModel<Memory>::write(const PerfRecord& record, PerfPoint point, const std::function<void()>& within) {
  if (ring_ == nullptr) return -ENOSPC;
  PerfOutput<Memory> output(ring_->state_, state_, record);
  bool waiting = true;
  while (output.step() != StepResult::done) {
    if (!waiting || output.point() != point) continue;
    waiting = false;
    within();
  }
  if (output.wants_wakeup()) wake_ring();
  return output.result();
}

template <class Memory>
void PerfEventModel<Memory>::wake_ring() {
  for (PerfEventModel* event : ring_->events_) event->wait_queue_.wake_all();
}

template <class Memory>
std::uint32_t PerfEventModel<Memory>::poll() {
  if (ring_ == nullptr) return poll_hup;
  if (Memory::breaks(Rule::perf_poll_one_shot)) return ring_->state_.poll;
  // Takes the flag. Full, as the kernel's exchange is.
  return Memory::exchange_full(&ring_->state_.poll, 0u);
}

template class PerfRing<PlainMemory>;
template class PerfRing<BrokenMemory>;
template class PerfEventModel<PlainMemory>;
template class PerfEventModel<BrokenMemory>;

}  // namespace ringside::sim
