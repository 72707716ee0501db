// SPDX-License-Identifier: Apache-2.0
//
// What `read_into` and `drain_all` share: a snapshot of every head at the start of each drain, the rings in turn, loss
// reports, and a wait that looks at all rings before and after it sleeps: perf readiness is one-shot, so a ring that
// was left with records in it, or one below its watermark, is found by looking only. They differ in how one sample is
// handed over.
#pragma once

#include <memory>

#include "consumers/consumer_table.h"
#include "consumers/perf_view.h"
#include "consumers/wait.h"

namespace ringside::consumers {

/// `Strategy` derives from this and has `int hand_over(PerfReader<Steps>&, std::uint32_t ring)`, which delivers the
/// sample found and steps behind it: 0 or 1 to stop. What it has not published is published after the ring's pass.
template <class Strategy, class Steps>
class PerfConsumer {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_PERF;
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<Strategy>::make(
        {.name = name, .summary = summary, .ring_kind = ring_kind, .claims = RINGSIDE_CLAIM_REPORTS_LOSS});
  }

  PerfConsumer(const ringside_ring_set& rings, const ringside_host& host) : rings_(rings), host_(host) {}

  int start() {
    if (rings_.ring_count == 0) return -EINVAL;
    readers_ = allocate<PerfReader<Steps>>(rings_.ring_count);
    buffer_ = allocate<std::byte>(sample_buffer_bytes);
    if (readers_ == nullptr || buffer_ == nullptr) return -ENOMEM;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      if (!readers_[ring].start(rings_.rings[ring], rings_)) return -EBADMSG;
    }
    return 0;
  }

  std::int64_t drain(std::uint64_t max_records) {
    const int error = read_heads();
    const std::int64_t delivered = drain_to_heads(max_records);
    return delivered == 0 ? error : delivered;
  }

  void report_lost(std::uint32_t ring, std::uint64_t count) { host_.lost(host_.context, ring, count); }

  int wait(std::int64_t timeout_ns) {
    return wait_until<Steps>(
        Deadline(host_, timeout_ns), [this] { return look(); },
        [this](const Deadline& deadline) { return sleep_on_rings(host_, deadline); });
  }

 protected:
  const ringside_host& host() const { return host_; }

  /// Takes the snapshot of every head. 0, or -EBADMSG for one that cannot be true.
  int read_heads() {
    int error = 0;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      if (Steps::reads_every_head || ring == next_ring_) error = readers_[ring].refresh() ? error : -EBADMSG;
    }
    return error;
  }

  /// Drains the rings in turn up to the snapshot.
  std::int64_t drain_to_heads(std::uint64_t max_records) {
    return drain_in_turn(rings_.ring_count, next_ring_, Steps::most(max_records),
                         [this](std::uint32_t ring, std::uint64_t most) { return drain_ring(ring, most); });
  }

  /// True if every ring is read up to its snapshot.
  bool read_to_heads() const {
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      if (!readers_[ring].at_snapshot()) return false;
    }
    return true;
  }

  Drained drain_ring(std::uint32_t ring, std::uint64_t max_records) {
    PerfReader<Steps>& reader = readers_[ring];
    Drained drained;
    while (drained.delivered < max_records && !drained.stopped) {
      const Found found =
          reader.find([this, ring](std::uint64_t count) { static_cast<Strategy&>(*this).report_lost(ring, count); });
      if (found != Found::record) {
        if (found == Found::end && Steps::rereads_head && reader.refresh() && !reader.at_snapshot()) continue;
        if (found == Found::broken) drained.error = -EBADMSG;
        break;
      }
      drained.stopped = static_cast<Strategy&>(*this).hand_over(reader, ring) != 0;
      ++drained.delivered;
    }
    reader.publish();
    return drained;
  }

  PerfReader<Steps>& reader(std::uint32_t ring) { return readers_[ring]; }
  const ringside_ring_set& rings() const { return rings_; }

  /// Delivers `size` bytes at `data`, valid during the call: 1 to stop, else 0.
  int deliver(std::uint32_t ring, const std::byte* data, std::uint64_t size) {
    const ringside_record record{.ring = ring, .reserved = 0, .data = data, .size = size, .token = 0, .time_ns = 0};
    return host_.deliver(host_.context, &record) > 0 ? 1 : 0;
  }

  /// Room for the raw payload of any sample.
  std::byte* buffer() { return buffer_.get(); }

 private:
  bool look() {
    bool found = false;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) found |= readers_[ring].look();
    return found;
  }

  const ringside_ring_set& rings_;
  const ringside_host& host_;
  std::unique_ptr<PerfReader<Steps>[]> readers_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint32_t next_ring_ = 0;
};

}  // namespace ringside::consumers
