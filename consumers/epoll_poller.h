// SPDX-License-Identifier: Apache-2.0
//
// A poller with an epoll set of its own: the rings' descriptors and an eventfd by which other threads end a wait.
// Level- or edge-triggered; what it promises is in consumers/poller.h.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>

#include "consumers/poller.h"

namespace ringside::consumers {

template <std::uint32_t trigger>
class EpollPoller {
 public:
  /// A poller that could not be made fails at its first wait.
  EpollPoller(const ringside_ring_set& rings, const ringside_host& /*host*/)
      : epoll_(epoll_create1(EPOLL_CLOEXEC)), waker_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    constexpr std::uint32_t as_armed = trigger == RINGSIDE_EDGE ? EPOLLIN | EPOLLET : EPOLLIN;
    armed_ = add(waker_, EPOLLIN, waker_number);
    for (std::uint32_t ring = 0; ring < rings.ring_count; ++ring) {
      armed_ = add(rings.rings[ring].fd, as_armed, ring) && armed_;
    }
  }
  ~EpollPoller() {
    if (waker_ >= 0) ::close(waker_);
    if (epoll_ >= 0) ::close(epoll_);
  }
  EpollPoller(const EpollPoller&) = delete;
  EpollPoller& operator=(const EpollPoller&) = delete;

  Woken wait(std::int64_t deadline_ns) {
    if (!armed_) return Woken::failed;
    if (closed()) return Woken::closed;
    epoll_event event{};
    const int count = epoll_wait(epoll_, &event, 1, timeout_ms(deadline_ns));
    if (count < 0) return errno == EINTR ? Woken::interrupted : Woken::failed;
    if (count == 0) return Woken::timeout;
    if (event.data.u64 != waker_number) return Woken::ready;
    eventfd_t wakes = 0;
    eventfd_read(waker_, &wakes);
    return closed() ? Woken::closed : Woken::flushed;  // behind the read, which may have taken close's own wake-up
  }

  void flush() { eventfd_write(waker_, 1); }
  void close() {
    // (E2) release, pairs with E1: whoever is woken by the write sees it.
    closed_.store(true, std::memory_order_release);
    eventfd_write(waker_, 1);
  }

  std::int64_t now_ns() const {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }

 private:
  static constexpr std::uint64_t waker_number = UINT64_MAX;

  /// (E1) acquire, pairs with E2.
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  bool add(int descriptor, std::uint32_t events, std::uint64_t number) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = number;
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0;
  }

  /// Rounded up, so that less than a millisecond sleeps and does not spin; capped, so that far is not for ever (I1).
  int timeout_ms(std::int64_t deadline_ns) const {
    constexpr std::int64_t ns_per_ms = 1'000'000;
    if (deadline_ns < 0) return -1;
    const std::int64_t now = now_ns();
    if (deadline_ns <= now) return 0;
    const std::int64_t left_ms = (deadline_ns - now - 1) / ns_per_ms + 1;
    return left_ms < INT_MAX ? static_cast<int>(left_ms) : INT_MAX;
  }

  int epoll_;
  int waker_;
  bool armed_ = false;
  std::atomic<bool> closed_{false};
};

}  // namespace ringside::consumers
