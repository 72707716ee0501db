// SPDX-License-Identifier: Apache-2.0
//
// A session over perf rings of several CPUs: one row of records, the oldest first.
//
// The contract: one thread reads; disable may be called by any. A builder says which CPUs, how many pages, whether the
// session sleeps for a fixed time when the rings are empty (15 ms unless it is said otherwise) or in epoll with a
// watermark, and how the row is made:
//
//   as_visible  Snapshots of all heads are taken, one after the other; the ring with the oldest record is read up to
//               the oldest of the others, at most 101 records; then the next snapshots. So the order is kept within
//               what was visible at each snapshot and not beyond: a ring that was empty when it was looked at can
//               show an older record later. Nothing more is claimed (K1, K2, Q3).
//   held_back   Snapshots are taken twice, `hold_back_ns` apart. Records up to the first are handed out, merged with
//               all that the second show: a record goes out when every other ring was seen, after its time, empty or
//               with a later record. The order over all CPUs is kept if no producer takes longer than hold_back_ns
//               from the stamp of a record to its publication, and none is interrupted between the two by another one
//               on its CPU. A producer that stands still for longer publishes a record that is too old: it is handed
//               out all the same, late, and nothing is ever lost or waits for it.
//
// A loss carries no time: it is told when it is come to, before the sample behind it.
//
//   parse_until         Calls back for each record until `should_stop()` is true, which is asked between rounds, or the
//                       session is disabled and the rings are empty.
//   parse_for_duration  The same with a clock. Its last sleep ends in time.
//   parse_all           The same with disable alone.
#pragma once

#include <atomic>
#include <bit>
#include <bitset>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>

#include "consumers/consumer_table.h"
#include "consumers/perf_record.h"
#include "consumers/perf_view.h"
#include "consumers/wait.h"

namespace ringside::consumers {

/// A record of a session. A sample's bytes are valid during the callback.
struct SessionRecord {
  PerfItem what;
  std::uint32_t ring = 0;
  std::int32_t cpu = 0;
  std::uint64_t time_ns = 0;  ///< 0 of a loss, and where samples carry none
};

enum class SessionOrder : std::uint8_t { as_visible, held_back };

struct SessionOptions {
  static constexpr std::size_t most_cpus = 1024;

  std::optional<std::bitset<most_cpus>> cpus;  ///< none: every CPU of the set
  std::optional<std::uint32_t> pages;          ///< data pages of each ring, rounded up to a power of two; none: any
  std::optional<std::uint32_t> watermark;  ///< bytes; none: the session sleeps for read_timeout_ns instead of in epoll
  std::int64_t read_timeout_ns = 15'000'000;
  std::int64_t hold_back_ns = 20'000;
};

template <class Steps, SessionOrder order>
class PerfSession {
 public:
  PerfSession(const ringside_ring_set& rings, const ringside_host& host, const SessionOptions& options)
      : set_(rings), host_(host), options_(options) {}

  /// 0; -EINVAL for no ring, for rings of another size or watermark than was asked for, and for a watermark that its
  /// ring can never pass; -ENOMEM; -EBADMSG for positions that no consumer can have left.
  int start() {
    if (!fits()) return -EINVAL;
    rings_ = allocate<Ring>(set_.ring_count);
    buffer_ = allocate<std::byte>(sample_buffer_bytes);
    if (rings_ == nullptr || buffer_ == nullptr) return -ENOMEM;
    for (std::uint32_t index = 0; index < set_.ring_count; ++index) {
      if (!reads_cpu(set_.rings[index].cpu)) continue;
      rings_[count_].index = index;
      if (!rings_[count_].reader.start(set_.rings[index], set_)) return -EBADMSG;
      ++count_;
    }
    return count_ == 0 ? -EINVAL : 0;
  }

  /// Reads rounds until `most` samples have come, `on_record(const SessionRecord&)` says stop, or as much is read as
  /// lay there when the call began. Does not sleep. Returns the number of samples, or the error of a ring if there was
  /// none.
  template <class OnRecord>
  std::int64_t read(std::uint64_t most, OnRecord&& on_record) {
    if (!in_round() && !begin_round()) return error_;
    const std::uint64_t end = passed_ + unread();
    std::uint64_t samples = 0;
    bool stop = false;
    do {
      stop = read_round(most, samples, on_record);
    } while (samples < most && !stop && passed_ < end && (in_round() || begin_round()));
    return samples == 0 ? error_ : static_cast<std::int64_t>(samples);
  }

  /// Sleeps until something lies in a ring: 1; 0 when `deadline` has passed and nothing did; -EINTR, -ECANCELED.
  int sleep_until_ready(const Deadline& deadline) {
    if (options_.watermark) {
      return wait_until<Steps>(
          deadline, [this] { return look(); }, [this](const Deadline& until) { return sleep_on_rings(host_, until); });
    }
    while (true) {
      const std::int64_t left_ns = deadline.remaining_ns();
      if (look()) return 1;  // behind the clock: nothing may come between the look and a timeout
      if (left_ns == 0) return 0;
      const int slept = host_.sleep(host_.context, Steps::sleep_ns(options_.read_timeout_ns, left_ns));
      if (slept < 0) return slept;
    }
  }

  template <class ShouldStop, class OnRecord>
  int parse_until(ShouldStop&& should_stop, OnRecord&& on_record) {
    return parse(Deadline(host_, -1), should_stop, on_record);
  }
  template <class OnRecord>
  int parse_for_duration(std::int64_t duration_ns, OnRecord&& on_record) {
    const Deadline deadline(host_, duration_ns);
    return parse(deadline, [&deadline] { return deadline.remaining_ns() == 0; }, on_record);
  }
  template <class OnRecord>
  int parse_all(OnRecord&& on_record) {
    return parse_until([] { return false; }, on_record);
  }
  /// No more producers: parsing ends when the rings are empty.
  void disable() {
    // (S2) release, pairs with S1: what was published before it is seen by the look behind it.
    enabled_.store(false, std::memory_order_release);
  }

 private:
  struct Ring {
    PerfReader<Steps> reader;
    std::uint32_t index = 0;  // in the set
    Found found = Found::end;
    std::uint64_t first_look = 0;  // how far the first of two looks saw, of which so many bytes are left
  };

  static constexpr std::uint64_t most_of_a_ring = 101;

  bool reads_cpu(std::int32_t cpu) const {
    if (!options_.cpus) return true;
    return cpu >= 0 && static_cast<std::size_t>(cpu) < SessionOptions::most_cpus &&
           options_.cpus->test(static_cast<std::size_t>(cpu));
  }
  bool fits() const {
    if (set_.ring_count == 0) return false;
    const std::uint64_t ring_bytes = set_.rings[0].data_size;
    if (options_.pages && std::bit_ceil(*options_.pages) * std::uint64_t{set_.rings[0].page_size} != ring_bytes)
      return false;
    return !options_.watermark || (*options_.watermark < ring_bytes && *options_.watermark == set_.watermark_bytes);
  }

  /// Looks at one ring after the other, which takes its time: others move meanwhile.
  bool look_at_all() {
    bool found = false;
    error_ = 0;
    for (std::uint32_t ring = 0; ring < count_; ++ring) {
      if (!rings_[ring].reader.refresh()) error_ = -EBADMSG;
      found |= !rings_[ring].reader.at_snapshot();
      if (ring + 1 < count_) host_.yield(host_.context);
    }
    return found;
  }

  bool begin_round() {
    if (!look_at_all()) return false;
    if constexpr (order == SessionOrder::held_back) {
      for (std::uint32_t ring = 0; ring < count_; ++ring) rings_[ring].first_look = rings_[ring].reader.unread();
      if (count_ > 1) {  // one ring has its order by itself
        hold_back();
        look_at_all();
      }
    }
    for (std::uint32_t ring = 0; ring < count_; ++ring) find(rings_[ring]);
    return order == SessionOrder::held_back ? in_round() : oldest() != nullptr;
  }
  void hold_back() {
    const std::int64_t begun_ns = host_.now_ns(host_.context);
    const std::int64_t hold_back_ns = Steps::holds_back ? options_.hold_back_ns : 0;
    while (host_.now_ns(host_.context) - begun_ns < hold_back_ns) host_.yield(host_.context);
  }

  /// Bytes of all rings up to their snapshots.
  std::uint64_t unread() const {
    std::uint64_t bytes = 0;
    for (std::uint32_t ring = 0; ring < count_; ++ring) bytes += rings_[ring].reader.unread();
    return bytes;
  }

  /// Whether a round is under way.
  bool in_round() const {
    if constexpr (order == SessionOrder::held_back) {
      for (std::uint32_t ring = 0; ring < count_; ++ring) {
        if (rings_[ring].first_look > 0 && rings_[ring].found == Found::record) return true;
      }
    }
    return false;
  }

  void find(Ring& ring) {
    const std::uint64_t before = ring.reader.unread();
    ring.found = ring.reader.find();
    pass(ring, before - ring.reader.unread());
    if (ring.found == Found::broken) error_ = -EBADMSG;
    if (ring.found != Found::record) ring.reader.publish();
  }
  void pass(Ring& ring, std::uint64_t bytes) {
    passed_ += bytes;
    ring.first_look = bytes < ring.first_look ? ring.first_look - bytes : 0;
  }

  /// The ring with the oldest record, or null; a loss is older than anything.
  Ring* oldest(const Ring* but = nullptr) {
    Ring* oldest = nullptr;
    for (std::uint32_t index = 0; index < count_; ++index) {
      Ring& ring = rings_[index];
      if (ring.found != Found::record || &ring == but) continue;
      if (oldest == nullptr || Steps::is_older(time_of(ring), time_of(*oldest))) oldest = &ring;
    }
    return oldest;
  }
  static std::uint64_t time_of(const Ring& ring) { return ring.reader.is_loss() ? 0 : ring.reader.time_ns(); }

  template <class OnRecord>
  bool read_round(std::uint64_t most, std::uint64_t& samples, OnRecord& on_record) {
    bool stop = false;
    if constexpr (order == SessionOrder::held_back) {
      while (in_round() && samples < most && !stop) stop = hand_over(*oldest(), samples, on_record);
    } else {
      Ring* ring = oldest();
      const Ring* second = oldest(ring);
      const std::uint64_t until_ns = second == nullptr ? UINT64_MAX : time_of(*second);
      for (std::uint64_t read = 0; read < most_of_a_ring && samples < most && !stop; ++read) {
        if (ring->found != Found::record || time_of(*ring) > until_ns) break;
        stop = hand_over(*ring, samples, on_record);
      }
    }
    return stop;
  }

  /// Hands out the record that the ring stands at, and goes to the next.
  template <class OnRecord>
  bool hand_over(Ring& ring, std::uint64_t& samples, OnRecord& on_record) {
    PerfReader<Steps>& reader = ring.reader;
    SessionRecord record{.what = {}, .ring = ring.index, .cpu = set_.rings[ring.index].cpu, .time_ns = time_of(ring)};
    if (reader.is_loss()) {
      record.what = PerfLoss{.count = reader.lost()};
    } else {
      record.what = reader.sample(buffer_.get());
      ++samples;
    }
    const bool stop = on_record(record);
    pass(ring, reader.unread() - reader.behind_record());
    reader.advance();
    reader.publish();  // (D)
    find(ring);
    return stop;
  }

  bool look() {
    if (in_round()) return true;
    bool found = false;
    for (std::uint32_t ring = 0; ring < count_; ++ring) found |= rings_[ring].reader.look();
    return found;
  }
  template <class ShouldStop, class OnRecord>
  int parse(const Deadline& deadline, ShouldStop&& should_stop, OnRecord&& on_record) {
    const auto never_stop = [&on_record](const SessionRecord& record) {
      on_record(record);
      return false;
    };
    while (true) {
      // (S1) acquire, pairs with S2: before the reading, which then finds all that came before disable.
      const bool enabled = enabled_.load(std::memory_order_acquire);
      const std::int64_t read_samples = read(most_of_a_ring, never_stop);
      if (read_samples < 0) return static_cast<int>(read_samples);
      if (should_stop() || (read_samples == 0 && !enabled)) return 0;
      if (read_samples > 0) continue;
      const std::int64_t left_ns = deadline.remaining_ns();
      const std::int64_t most_ns = options_.read_timeout_ns;  // in epoll, too: for the tail below the watermark (L1)
      const int slept = sleep_until_ready(Deadline(host_, left_ns < 0 ? most_ns : std::min(left_ns, most_ns)));
      if (slept < 0 && slept != -EINTR) return slept;
    }
  }

  const ringside_ring_set& set_;
  const ringside_host& host_;
  const SessionOptions options_;
  std::unique_ptr<Ring[]> rings_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint32_t count_ = 0;
  int error_ = 0;             // of a ring, at the last look
  std::uint64_t passed_ = 0;  // bytes of all rings, ever
  std::atomic<bool> enabled_{true};
};

/// Makes the options of a session.
class SessionBuilder {
 public:
  /// Only that CPU, and those named before.
  SessionBuilder& cpu(std::size_t number) {
    if (!options_.cpus) options_.cpus.emplace();
    options_.cpus->set(number);
    return *this;
  }
  SessionBuilder& pages(std::uint32_t count) {
    options_.pages = count;
    return *this;
  }
  /// Sleeps in epoll until a ring has more than so many bytes.
  SessionBuilder& watermark(std::uint32_t bytes) {
    options_.watermark = bytes;
    return *this;
  }
  /// Sleeps for so long when the rings are empty; a millisecond is the least.
  SessionBuilder& read_timeout_ms(std::uint32_t milliseconds) {
    options_.read_timeout_ns = std::int64_t{milliseconds == 0 ? 1 : milliseconds} * 1'000'000;
    return *this;
  }
  SessionBuilder& hold_back_ns(std::int64_t nanoseconds) {
    options_.hold_back_ns = nanoseconds;
    return *this;
  }
  const SessionOptions& options() const { return options_; }

 private:
  SessionOptions options_;
};

}  // namespace ringside::consumers
