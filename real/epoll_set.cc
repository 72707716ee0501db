// SPDX-License-Identifier: Apache-2.0
#include "real/epoll_set.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <limits>

namespace ringside::real {

static_assert(RINGSIDE_POLLIN == EPOLLIN && RINGSIDE_POLLERR == EPOLLERR && RINGSIDE_POLLHUP == EPOLLHUP);

namespace {

constexpr std::uint32_t cancel_index = std::numeric_limits<std::uint32_t>::max();

ring::Result<void> add_item(int epoll, int fd, std::uint32_t events, std::uint32_t index) {
  epoll_event item{};
  item.events = events;
  item.data.u32 = index;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &item) != 0) return ring::errno_error("add ring to epoll set", errno);
  return {};
}

/// The deadline for epoll_wait, which counts milliseconds: never earlier than asked for.
int milliseconds_of(std::int64_t timeout_ns) {
  constexpr std::int64_t in_a_millisecond = 1'000'000;
  if (timeout_ns < 0) return -1;
  const std::int64_t rounded_up = timeout_ns / in_a_millisecond + (timeout_ns % in_a_millisecond != 0 ? 1 : 0);
  return static_cast<int>(std::min<std::int64_t>(rounded_up, std::numeric_limits<int>::max()));
}

/// Kernels before 5.11 have no epoll_pwait2. A ppoll of the epoll descriptor would keep the nanoseconds but asks each
/// ring for its readiness, and a perf ring tells that once [KERNEL-RINGS 4.1].
int wait_on(int epoll, epoll_event* items, int most, std::int64_t timeout_ns) {
  timespec timeout{};
  if (timeout_ns > 0) {
    timeout.tv_sec = timeout_ns / 1'000'000'000;
    timeout.tv_nsec = timeout_ns % 1'000'000'000;
  }
  const int found = ::epoll_pwait2(epoll, items, most, timeout_ns < 0 ? nullptr : &timeout, nullptr);
  return found < 0 && errno == ENOSYS ? ::epoll_wait(epoll, items, most, milliseconds_of(timeout_ns)) : found;
}

}  // namespace

ring::Result<EpollSet> EpollSet::create(std::span<const int> fds, std::uint32_t trigger) {
  EpollSet set;
  set.epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!set.epoll_) return ring::errno_error("create epoll set", errno);
  set.cancel_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!set.cancel_) return ring::errno_error("create eventfd of epoll set", errno);
  set.events_ = EPOLLIN | (trigger == RINGSIDE_EDGE ? static_cast<std::uint32_t>(EPOLLET) : 0u);
  if (auto added = add_item(set.epoll_.get(), set.cancel_.get(), EPOLLIN, cancel_index); !added) {
    return tl::unexpected(added.error());
  }
  for (const int fd : fds) {
    if (auto added = set.add(fd); !added) return tl::unexpected(added.error());
  }
  return set;
}

ring::Result<EpollSet> EpollSet::create(std::span<const ringside_ring> rings, std::uint32_t trigger) {
  auto set = create(std::span<const int>{}, trigger);
  if (!set) return set;
  for (const ringside_ring& ring : rings) {
    if (auto added = set->add(ring.fd); !added) return tl::unexpected(added.error());
  }
  return set;
}

ring::Result<void> EpollSet::add(int fd) {
  auto added = add_item(epoll_.get(), fd, events_, count_);
  if (added) ++count_;
  return added;
}

int EpollSet::wait(ringside_ready* ready, std::uint32_t max_ready, std::int64_t timeout_ns) {
  std::array<epoll_event, 64> items;
  // Not one more than asked for: a readiness that is fetched and not handed on is lost (edge-triggered, and perf).
  const auto most = static_cast<int>(std::min<std::uint64_t>(items.size(), max_ready));
  const int found = wait_on(epoll_.get(), items.data(), most, timeout_ns);
  if (found < 0) return -errno;
  std::uint32_t written = 0;
  for (const epoll_event& item : std::span(items.data(), static_cast<std::size_t>(found))) {
    if (item.data.u32 == cancel_index) return -ECANCELED;
    ready[written++] = {.ring = item.data.u32,
                        .events = item.events & (RINGSIDE_POLLIN | RINGSIDE_POLLERR | RINGSIDE_POLLHUP)};
  }
  return static_cast<int>(written);
}

void EpollSet::cancel() const {
  const std::uint64_t one = 1;
  // The counter cannot overflow in practice, and if it could, it would be set all the same.
  [[maybe_unused]] const ssize_t ignored = ::write(cancel_.get(), &one, sizeof(one));
}

}  // namespace ringside::real
