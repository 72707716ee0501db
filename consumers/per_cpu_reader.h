// SPDX-License-Identifier: Apache-2.0
//
// Perf rings for a caller with an epoll set of its own: it takes the descriptor of each CPU's ring from perf_fds(), and
// reads the ring of the CPU whose descriptor is ready, by being called back (parse_for_cpu) or by asking (drain_cpu).
//
// The contract: one thread. CPUs are named by their numbers, which may have gaps: perf_fds() is a list of pairs, and no
// place in it is a CPU's number.
//
//   parse_for_cpu  Calls back for each record that lay in that CPU's ring when the call began, in order, until there is
//                  none or the function says stop. Nothing of any other ring is read.
//   drain_cpu      The same records, one by one, as the caller asks for them: it may stop and come back. A sample is
//                  shown where it lies, or in one buffer if it runs over the ring's end, until the next one is asked
//                  for or the Drain ends; its space is handed back then. One Drain of a ring at a time.
//   left           A ring that was not read to the end of what lay there is not made ready by that rest: perf readiness
//                  is one-shot (KERNEL-RINGS 4.1), so the caller must remember such rings (A13) ...
//   look           ... and look at all rings when its sleep ends by a deadline, for what lies below a watermark has
//                  made no ring ready (A4).
//
// The order is each ring's own. Who wants the oldest record of all CPUs wants a session (perf_session.h).
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <variant>

#include "consumers/consumer_table.h"
#include "consumers/perf_record.h"
#include "consumers/perf_view.h"

namespace ringside::consumers {

struct PerfFd {
  std::int32_t cpu = 0;
  int fd = -1;
};

template <class Steps>
class PerCpuReader {
 public:
  /// 0, -EINVAL for no ring, -ENOMEM, or -EBADMSG for positions that no consumer can have left.
  int start(const ringside_ring_set& rings) {
    if (rings.ring_count == 0) return -EINVAL;
    count_ = rings.ring_count;
    readers_ = allocate<PerfReader<Steps>>(count_);
    fds_ = allocate<PerfFd>(count_);
    buffer_ = allocate<std::byte>(sample_buffer_bytes);
    if (readers_ == nullptr || fds_ == nullptr || buffer_ == nullptr) return -ENOMEM;
    for (std::uint32_t ring = 0; ring < count_; ++ring) {
      if (!readers_[ring].start(rings.rings[ring], rings)) return -EBADMSG;
      fds_[ring] = {.cpu = rings.rings[ring].cpu, .fd = rings.rings[ring].fd};
    }
    return 0;
  }

  /// One pair a ring.
  const PerfFd* perf_fds() const { return fds_.get(); }
  std::uint32_t count() const { return count_; }

  /// One reading of one ring, up to what lay there when it began.
  class Drain {
   public:
    Drain(PerfReader<Steps>* reader, std::byte* buffer) : reader_(reader), buffer_(buffer) {
      if (reader_ == nullptr) {
        error_ = -ENOENT;
      } else if (!reader_->refresh()) {
        error_ = -EBADMSG;
      }
    }
    ~Drain() { hand_back(); }
    Drain(const Drain&) = delete;
    Drain& operator=(const Drain&) = delete;

    /// The next record, or null: none is left, or there is an error.
    const PerfItem* next() {
      if (error_ != 0) return nullptr;
      hand_back();
      const Found found = reader_->find();
      if (found == Found::broken) error_ = -EBADMSG;
      if (found != Found::record) {
        reader_->publish();
        return nullptr;
      }
      shown_ = true;
      if (Steps::tells_loss_apart && reader_->is_loss()) {
        item_ = PerfLoss{.count = reader_->lost()};
      } else {
        item_ = sample();
      }
      if (!Steps::keeps_shown) hand_back();
      return &item_;
    }
    /// -ENOENT: no ring of that CPU; -EBADMSG: what lies there next cannot be a record. 0 otherwise.
    int error() const { return error_; }
    /// Whether records are left behind the one that is shown.
    bool left() const { return error_ == 0 && (shown_ ? reader_->behind_record() != 0 : !reader_->at_snapshot()); }

   private:
    PerfSample sample() { return reader_->is_loss() ? PerfSample{} : reader_->sample(buffer_); }
    void hand_back() {
      if (!shown_) return;
      shown_ = false;
      reader_->advance();
      reader_->publish();  // (D)
    }

    PerfReader<Steps>* reader_;
    std::byte* buffer_;
    PerfItem item_;
    bool shown_ = false;
    int error_ = 0;
  };

  Drain drain_cpu(std::int32_t cpu) { return Drain(reader_of(cpu), buffer_.get()); }

  /// What a call came to.
  struct Parsed {
    int error = 0;      ///< as Drain's
    bool left = false;  ///< the function said stop, and more lay there
  };
  /// `on_record(const PerfItem&)` says whether to stop.
  template <class OnRecord>
  Parsed parse_for_cpu(std::int32_t cpu, OnRecord&& on_record) {
    Drain drain = drain_cpu(cpu);
    bool stop = false;
    while (!stop) {
      const PerfItem* record = drain.next();
      if (record == nullptr) break;
      stop = on_record(*record) && Steps::heeds_stop;
    }
    return {.error = drain.error(), .left = drain.left()};
  }

  /// Whether anything lies in that CPU's ring, be it something that cannot be read.
  bool look(std::int32_t cpu) {
    PerfReader<Steps>* reader = reader_of(cpu);
    if (Steps::minds_holes && reader == nullptr) return false;
    return reader->look();
  }

 private:
  PerfReader<Steps>* reader_of(std::int32_t cpu) {
    if constexpr (Steps::numbers_rings_by_cpu) {
      return cpu >= 0 && static_cast<std::uint32_t>(cpu) < count_ ? &readers_[static_cast<std::size_t>(cpu)] : nullptr;
    } else {
      const PerfFd* begin = fds_.get();
      const PerfFd* end = begin + count_;
      const PerfFd* found = std::find_if(begin, end, [cpu](const PerfFd& pair) { return pair.cpu == cpu; });
      return found == end ? nullptr : &readers_[static_cast<std::size_t>(found - begin)];
    }
  }

  std::unique_ptr<PerfReader<Steps>[]> readers_;
  std::unique_ptr<PerfFd[]> fds_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint32_t count_ = 0;
};

}  // namespace ringside::consumers
