// SPDX-License-Identifier: Apache-2.0
//
// The harness's side of the consumer contract (ring/consumer.h) within explored programs: it delivers to the program's
// judge and sleeps in an epoll of the runtime's, armed as the consumer asks.
#pragma once

#include <sys/epoll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>

#include "explore/explored.h"
#include "explore/programs/bpf_ring.h"
#include "ring/consumer.h"

namespace ringside::harness::explored {

using ring::DefectKind;

/// What a program asks of what is delivered; fails where it is wrong.
struct Judge {
  std::uint64_t (*read)(const void* bytes, std::uint64_t size);  ///< what the bytes say
  void (*delivered)(std::uint64_t said);
  void (*lost)(std::uint64_t count);
  /// Whether a committed record lies where the consumer has come to; null where timeouts are not judged: the look
  /// orders what the consumer would have to order itself.
  bool (*readable)() = nullptr;
  /// What a consumer tells of its batches (ring/consumer.h); null where none is judged.
  void (*batch_begin)() = nullptr;
  void (*batch_end)(std::uint32_t claim) = nullptr;
  /// Of the one ring where it is written backward, else null.
  void (*pause)(bool on) = nullptr;
  void (*quiesce)() = nullptr;
  /// The time that is told of what is delivered, before that; null where none is judged.
  void (*timed)(std::uint64_t said, std::uint64_t time_ns) = nullptr;
  /// Where the program has a time of its own; else null.
  void (*yield)() = nullptr;
  std::int64_t (*now_ns)() = nullptr;
  std::uint64_t sample_type = 0;  ///< of perf rings whose samples carry more than raw data
};

/// One epoll set of one ring. Threads: one program at a time.
inline int& epoll_descriptor() {
  static int descriptor = -1;
  return descriptor;
}

/// In begin: the set holds the rings for `events`, before anything is produced.
inline void arm(std::span<const int> rings, std::uint32_t events, std::uint32_t trigger) {
  epoll_descriptor() = epoll_create1(0);
  for (std::size_t ring = 0; ring < rings.size(); ++ring) {
    epoll_event event{};
    event.events = events | (trigger == RINGSIDE_EDGE ? static_cast<std::uint32_t>(EPOLLET) : 0u);
    event.data.u32 = static_cast<std::uint32_t>(ring);
    if (epoll_ctl(epoll_descriptor(), EPOLL_CTL_ADD, rings[ring], &event) != 0)
      explore::fail("the ring cannot be watched");
  }
}
inline void arm(int ring, std::uint32_t events, std::uint32_t trigger) { arm(std::span(&ring, 1), events, trigger); }

/// A program that begins so, with the ring that `open` gives.
inline explore::Program armed(explore::Program program, int (*open)(), std::uint32_t events, std::uint32_t trigger) {
  program.begin = [begin = program.begin, open, events, trigger] {
    begin();
    arm(open(), events, trigger);
  };
  return program;
}

using ConsumerTable = const ringside_consumer& (*)();

/// A BPF ring as the contract has it.
inline ringside_ring as_mapped(const explore::programs::RingView& view) {
  return {.kind = RINGSIDE_RINGBUF,
          .cpu = -1,
          .fd = -1,
          .page_size = 4096,
          .data_size = view.mask + 1,
          .consumer_page = view.consumer_pos,
          .producer_page = view.producer_pos,
          .data = view.data};
}

/// What epoll_wait returns, or a negative errno, and the one event that it is asked for.
struct Woken {
  int count = 0;
  std::uint32_t events = 0;
  std::uint32_t ring = 0;
};
/// timeout_ns < 0: without a deadline.
inline Woken sleep_in_epoll(std::int64_t timeout_ns) {
  constexpr std::int64_t ns_per_ms = 1'000'000;
  epoll_event event{};
  const int timeout_ms = timeout_ns < 0 ? -1 : static_cast<int>((timeout_ns + ns_per_ms - 1) / ns_per_ms);
  const int count = epoll_wait(epoll_descriptor(), &event, 1, timeout_ms);
  return {.count = count < 0 ? -errno : count, .events = event.events, .ring = event.data.u32};
}

inline std::int64_t virtual_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// Runs one consumer: opens it, and hands over what it delivers. A view is read when it is delivered and again when it
/// is released, which is at the next record.
class Host {
 public:
  Host(const ringside_consumer& consumer, const ringside_ring& ring, const Judge& judge)
      : Host(consumer, std::span(&ring, 1), judge) {}
  /// At most two rings; `swap` where they are the sides of one, `stamp_bytes` where their records begin with a stamp.
  Host(const ringside_consumer& consumer, std::span<const ringside_ring> rings, const Judge& judge,
       ringside_swap* swap = nullptr, std::uint32_t stamp_bytes = 0)
      : consumer_(consumer), judge_(judge) {
    std::copy(rings.begin(), rings.end(), rings_.begin());
    set_.kind = rings[0].kind;
    set_.ring_count = static_cast<std::uint32_t>(rings.size());
    set_.rings = rings_.data();
    set_.swap = swap;
    set_.map_fd = -1;
    set_.backward = judge.pause == nullptr ? 0 : 1;
    set_.sample_type = judge.sample_type;
    set_.wakeup_events = 1;
    set_.stamp_bytes = stamp_bytes;
    host_ = {.abi_version = RINGSIDE_CONSUMER_ABI,
             .struct_size = sizeof(ringside_host),
             .context = this,
             .deliver = deliver,
             .lost = lost,
             .wait = wait,
             .wait_fd = nullptr,
             .now_ns = now_ns,
             .yield = yield,
             .adopt = nullptr,
             .batch_begin = batch_begin,
             .batch_end = batch_end,
             .pause = judge.pause == nullptr ? nullptr : pause,
             .sleep = sleep,
             .quiesce = judge.quiesce == nullptr ? nullptr : quiesce};
    if (consumer_.open(&set_, &host_, &state_) != 0) {
      explore::fail(DefectKind::protocol, "the consumer does not open the ring");
    }
  }
  ~Host() {
    release();
    consumer_.close(state_);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t lost() const { return lost_; }

  void drain() {
    if (consumer_.drain(state_, UINT64_MAX) < 0) explore::fail(DefectKind::protocol, "drain tells an error");
    release();
  }
  int wait(std::int64_t timeout_ns) {
    left_unread_ = false;
    const int woken = consumer_.wait(state_, timeout_ns);
    if (woken == RINGSIDE_WAIT_TIMEOUT && left_unread_) {
      explore::fail(DefectKind::early_timeout, "a timeout is told beside a committed record");
    }
    return woken;
  }

 private:
  static Host& as(void* context) { return *static_cast<Host*>(context); }

  void release() {
    if (view_.token == 0) return;
    if (judge_.read(view_.data, view_.size) != said_) {
      explore::fail(DefectKind::use_after_release, "a view's bytes have changed");
    }
    if (consumer_.release(state_, view_.token) != 0) explore::fail(DefectKind::protocol, "a view cannot be released");
    view_.token = 0;
  }

  static int deliver(void* context, const ringside_record* record) {
    Host& host = as(context);
    host.release();
    host.said_ = host.judge_.read(record->data, record->size);
    if (host.judge_.timed != nullptr) host.judge_.timed(host.said_, record->time_ns);
    host.judge_.delivered(host.said_);
    host.view_ = *record;
    ++host.delivered_;
    return 0;
  }
  static void lost(void* context, std::uint32_t /*ring*/, std::uint64_t count) {
    as(context).lost_ += count;
    as(context).judge_.lost(count);
  }
  static int wait(void* context, ringside_ready* ready, std::uint32_t /*max_ready*/, std::int64_t timeout_ns) {
    const Woken woken = sleep_in_epoll(timeout_ns);
    Host& host = as(context);
    if (woken.count == 0 && host.judge_.readable != nullptr) host.left_unread_ = host.judge_.readable();
    if (woken.count > 0) *ready = {.ring = woken.ring, .events = woken.events};
    return woken.count;
  }
  static void batch_begin(void* context) {
    if (as(context).judge_.batch_begin != nullptr) as(context).judge_.batch_begin();
  }
  static void batch_end(void* context, std::uint32_t claim) {
    if (as(context).judge_.batch_end != nullptr) as(context).judge_.batch_end(claim);
  }
  static int pause(void* context, std::uint32_t /*ring*/, int on) {
    as(context).judge_.pause(on != 0);
    return 0;
  }
  static int quiesce(void* context, std::uint32_t /*ring*/) {
    as(context).judge_.quiesce();
    return 0;
  }
  static int sleep(void* /*context*/, std::int64_t ns) {
    const timespec duration{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    return nanosleep(&duration, nullptr) == 0 ? 0 : -errno;
  }
  static void yield(void* context) {
    if (as(context).judge_.yield != nullptr) as(context).judge_.yield();
  }
  static std::int64_t now_ns(void* context) {
    return as(context).judge_.now_ns == nullptr ? virtual_now_ns() : as(context).judge_.now_ns();
  }

  const ringside_consumer& consumer_;
  const Judge& judge_;
  std::array<ringside_ring, 2> rings_{};
  ringside_ring_set set_{};
  ringside_host host_{};
  void* state_ = nullptr;
  ringside_record view_{};  ///< the last record; held where it has a token
  std::uint64_t said_ = 0;  ///< by it
  std::uint64_t delivered_ = 0;
  std::uint64_t lost_ = 0;
  bool left_unread_ = false;  ///< at the deadline of the wait under way
};

}  // namespace ringside::harness::explored
