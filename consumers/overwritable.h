// SPDX-License-Identifier: Apache-2.0
//
// Strategy `overwritable`: perf rings that are written backward over their oldest records (KERNEL-RINGS 2.10), as a
// flight recorder is. A dump pauses a ring, waits until no output is under way in it, copies what came since the last
// dump, at most one lap, and lets the ring go on before anything is handed over: what is put out meanwhile is lost, so
// the pause is as short as a copy. From the copy records are delivered oldest first.
//
// What it claims: each record that lies whole in a ring when that is dumped is delivered once, and nothing else is; and
// each PERF_RECORD_LOST among them is reported. How many were overwritten between two dumps nobody can know: they are
// not reported.
//
// The pause alone is not enough: an output that was under way on another CPU goes on, and its bytes lie over the oldest
// records of the lap, below no head that says so. A reader that cannot wait for it must leave so much of the lap out.
#pragma once

#include <memory>

#include "consumers/consumer_table.h"
#include "consumers/drain.h"
#include "consumers/perf_view.h"
#include "consumers/wait.h"

namespace ringside::consumers {

/// The steps that a reader of backward rings may get wrong, each done right. A mutant derives from this and redefines
/// exactly one of them.
struct BackwardSteps {
  static constexpr bool looks_before_sleep = true;
  static constexpr bool looks_at_timeout = true;
  static constexpr bool pauses = true;
  static constexpr bool waits_for_outputs = true;  ///< that are under way when the pause begins
  static constexpr bool waits_behind_pause = true;
  static constexpr bool copies_before_it_goes_on = true;
  static constexpr bool goes_on = true;
  static constexpr bool remembers_dump = true;
  static constexpr bool oldest_first = true;
  static constexpr bool stores_tail = false;
  /// How far a dump goes back, at most.
  static constexpr std::uint64_t most_laps = 1;
  /// Whether a record is whole that ends at `end` of so many bytes.
  static constexpr bool whole(std::uint64_t end, std::uint64_t bytes) { return end <= bytes; }
  static constexpr std::uint64_t report(std::uint64_t count) { return count; }
};

template <class Steps>
class Overwritable {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_PERF;
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<Overwritable>::make({.name = name,
                                        .summary = summary,
                                        .ring_kind = ring_kind,
                                        .claims = RINGSIDE_CLAIM_REPORTS_LOSS | RINGSIDE_CLAIM_READS_BACKWARD});
  }

  Overwritable(const ringside_ring_set& rings, const ringside_host& host) : rings_(rings), host_(host) {}

  int start() {
    if (rings_.ring_count == 0 || rings_.backward == 0) return -EINVAL;
    if (host_.pause == nullptr || host_.quiesce == nullptr) return -EOPNOTSUPP;
    time_bytes_ = carries_time(rings_) ? sample_time_bytes : 0;
    const std::uint64_t most_bytes = Steps::most_laps * rings_.rings[0].data_size;
    dumped_ = allocate<Ring>(rings_.ring_count);
    // Behind the lap there is room for what its last record says of itself, be that true or not.
    copy_ = allocate<std::byte>(most_bytes + sample_buffer_bytes);
    starts_ = allocate<std::uint64_t>(most_bytes / ring::perf::header_bytes);
    if (dumped_ == nullptr || copy_ == nullptr || starts_ == nullptr) return -ENOMEM;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      dumped_[ring].view = PerfView(rings_.rings[ring]);
    }
    return 0;
  }

  std::int64_t drain(std::uint64_t max_records) {
    std::uint64_t delivered = 0;
    int error = 0;
    for (std::uint32_t dumps = 0; !hand_over(max_records, delivered) && dumps < rings_.ring_count && error == 0;) {
      error = dump(next_ring_);
      next_ring_ = next_ring_ + 1 < rings_.ring_count ? next_ring_ + 1 : 0;
      ++dumps;
    }
    return answer_of_drain(delivered, error);
  }

  int wait(std::int64_t timeout_ns) {
    return wait_until<Steps>(
        Deadline(host_, timeout_ns), [this] { return look(); },
        [this](const Deadline& deadline) { return sleep_on_rings(host_, deadline); });
  }

 private:
  struct Ring {
    PerfView view;
    /// data_head at the last dump: that one has all that lies above. At first 0, where the kernel begins: what the ring
    /// holds when it is opened is delivered, too.
    std::uint64_t to = 0;
  };

  bool look() const {
    bool found = left_ > 0;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      found |= dumped_[ring].view.load_head() != dumped_[ring].to;
    }
    return found;
  }

  /// 0, also when nothing is new, or a negative errno. What was found is in the copy, whose turn it is.
  int dump(std::uint32_t ring) {
    if (dumped_[ring].view.load_head() == dumped_[ring].to) return 0;
    if (const int error = begin_pause(ring); error != 0) return error;
    const std::uint64_t head = dumped_[ring].view.load_head();
    int error = Steps::copies_before_it_goes_on ? copy_from(ring, head) : 0;
    if (Steps::pauses && Steps::goes_on) {
      const int failed = host_.pause(host_.context, ring, 0);
      error = error == 0 ? failed : error;
    }
    if (!Steps::copies_before_it_goes_on) error = copy_from(ring, head);
    if (Steps::stores_tail) dumped_[ring].view.store_tail(head);
    if (Steps::remembers_dump) dumped_[ring].to = head;
    return error;
  }

  int begin_pause(std::uint32_t ring) {
    if (!Steps::waits_behind_pause) host_.quiesce(host_.context, ring);
    const int paused = Steps::pauses ? host_.pause(host_.context, ring, 1) : 0;
    if (paused != 0 || !Steps::waits_for_outputs || !Steps::waits_behind_pause) return paused;
    const int quiet = host_.quiesce(host_.context, ring);
    if (quiet != 0) host_.pause(host_.context, ring, 0);
    return quiet;
  }

  /// Copies what came since the last dump and finds its records. 0, or -EBADMSG for a header that cannot be.
  int copy_from(std::uint32_t ring, std::uint64_t head) {
    const Ring& dumped = dumped_[ring];
    const std::uint64_t bytes = std::min(dumped.to - head, Steps::most_laps * dumped.view.size());
    dumped.view.copy_out(copy_.get(), head, bytes);
    ring_ = ring;
    found_ = 0;
    for (std::uint64_t at = 0; at < bytes;) {
      const auto size = load<ring::perf::RecordHeader>(at).size;
      if (size < ring::perf::header_bytes || size % 8 != 0) return keep(-EBADMSG);
      if (!Steps::whole(at + size, bytes)) break;
      starts_[found_++] = at;
      at += size;
    }
    return keep(0);
  }
  int keep(int result) {
    left_ = found_;
    return result;
  }

  /// Delivers from the copy: true when it may deliver no more.
  bool hand_over(std::uint64_t max_records, std::uint64_t& delivered) {
    while (left_ > 0 && delivered < max_records) {
      --left_;
      if (hand_over_one(starts_[Steps::oldest_first ? left_ : found_ - 1 - left_], delivered)) return true;
    }
    return delivered == max_records;
  }

  /// The record there: true when the host says stop. What is neither sample nor loss is passed over, and so is a sample
  /// that has no room for what it says of itself.
  bool hand_over_one(std::uint64_t at, std::uint64_t& delivered) {
    const auto header = load<ring::perf::RecordHeader>(at);
    if (header.type == ring::perf::type_lost && header.size >= ring::perf::lost_bytes) {
      const std::uint64_t lost = Steps::report(load<std::uint64_t>(at + 16));
      return lost > 0 && hand_to_host(host_, ring_, PerfLoss{lost});
    }
    const std::uint64_t prefix = sample_prefix_bytes + time_bytes_;
    if (header.type != ring::perf::type_sample || header.size < prefix) return false;
    const auto raw_bytes = load<std::uint32_t>(at + prefix - sizeof(std::uint32_t));
    if (raw_bytes > header.size - prefix) return false;
    const std::uint64_t time_ns = time_bytes_ == 0 ? 0 : load<std::uint64_t>(at + ring::perf::header_bytes);
    ++delivered;
    return hand_to_host(host_, ring_, PerfSample{.data = copy_.get() + at + prefix, .size = raw_bytes}, time_ns);
  }

  template <class T>
  T load(std::uint64_t at) const {
    T value;
    std::memcpy(&value, copy_.get() + at, sizeof(value));
    return value;
  }

  const ringside_ring_set& rings_;
  const ringside_host& host_;
  std::uint64_t time_bytes_ = 0;  // of each sample, before its raw_size
  std::unique_ptr<Ring[]> dumped_;
  std::unique_ptr<std::byte[]> copy_;        // of the ring that was dumped last, newest first
  std::unique_ptr<std::uint64_t[]> starts_;  // of its records in the copy
  std::uint64_t found_ = 0;                  // how many they are
  std::uint64_t left_ = 0;                   // of those, not handed over yet
  std::uint32_t ring_ = 0;                   // whose they are
  std::uint32_t next_ring_ = 0;
};

}  // namespace ringside::consumers
