// SPDX-License-Identifier: Apache-2.0
//
// A user ring buffer of the running kernel as a world: a step is a whole drain, run by BPF_PROG_TEST_RUN on the
// session's own thread, so that nothing moves between two steps.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>

#include "harness/user_world.h"
#include "real/user_ringbuf.h"
#include "ring/layout.h"
#include "sim/kernel_version.h"

namespace ringside::harness {

namespace {

class UserKernelWorld final : public UserWorld {
 public:
  UserKernelWorld(real::UserRingbufMap ring, real::UserDrain drain)
      : ring_(std::move(ring)), drain_(std::move(drain)) {}

  ring::Result<void> start_at(std::uint64_t position);
  ring::Result<void> arm(std::uint32_t trigger);

  const ringside_user_ring& ring() const override { return ring_.ring(); }

  void begin_drain(std::uint64_t flags, std::uint32_t most_samples) override {
    ordered_ = true;
    flags_ = flags;
    most_samples_ = most_samples;
  }
  bool draining() const override { return ordered_; }

  ring::Result<std::optional<std::int64_t>> step(const Take& take) override {
    ordered_ = false;
    auto result = drain_.drain(flags_, most_samples_, take);
    if (!result) return tl::unexpected(result.error());
    return *result;
  }
  std::int64_t step_ns() const override { return 500; }

  int ready() override {
    epoll_event event{};
    const int count = epoll_wait(epoll_.get(), &event, 1, 0);
    return count < 0 ? -errno : count;
  }

 private:
  real::UserRingbufMap ring_;
  real::UserDrain drain_;
  real::Fd epoll_;
  bool ordered_ = false;
  std::uint64_t flags_ = 0;
  std::uint32_t most_samples_ = 0;
};

/// A fresh ring stands at 0. Discarded samples, as long as the ring takes, bring it to where it is to start.
ring::Result<void> UserKernelWorld::start_at(std::uint64_t position) {
  constexpr std::uint64_t most = 1u << 23;  // what every drain takes [3.2]
  const ringside_user_ring& ring = ring_.ring();
  for (std::uint64_t at = 0; at < position;) {
    const std::uint64_t span = std::min({position - at, ring.data_size, most});
    const auto header = static_cast<std::uint32_t>(span - ring::ringbuf::header_bytes) | ring::ringbuf::discard_bit;
    auto* const place = static_cast<std::byte*>(ring.data) + (at & (ring.data_size - 1));
    // Release, both, as a producer publishes them.
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(place), header, __ATOMIC_RELEASE);
    at += span;
    __atomic_store_n(static_cast<std::uint64_t*>(ring.producer_page), at, __ATOMIC_RELEASE);
    auto drained = drain_.drain(ring::flag_no_wakeup, 0, [](auto) {});
    if (!drained) return tl::unexpected(drained.error());
  }
  return {};
}

ring::Result<void> UserKernelWorld::arm(std::uint32_t trigger) {
  epoll_ = real::Fd(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLOUT | (trigger == RINGSIDE_EDGE ? static_cast<std::uint32_t>(EPOLLET) : 0u);
  if (!epoll_ || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ring_.map_fd(), &event) != 0) {
    return ring::errno_error("add user ring buffer to an epoll set", errno);
  }
  return {};
}

}  // namespace

ring::Result<std::unique_ptr<UserWorld>> make_user_kernel_world(const UserWorldRequest& request) {
  auto ring = real::UserRingbufMap::create(request.scenario->ring.size);
  if (!ring) return tl::unexpected(ring.error());
  auto drain = real::UserDrain::load(*ring);
  if (!drain) return tl::unexpected(drain.error());
  auto world = std::make_unique<UserKernelWorld>(std::move(*ring), std::move(*drain));
  if (auto started = world->start_at(request.scenario->ring.start); !started) return tl::unexpected(started.error());
  if (auto armed = world->arm(request.trigger); !armed) return tl::unexpected(armed.error());
  return world;
}

std::optional<std::string> user_ringbuf_is_missing() {
  constexpr sim::KernelVersion first{6, 1, 0};
  utsname name{};
  uname(&name);
  const auto version = sim::parse_kernel_version(name.release);
  if (!version || *version >= first) return std::nullopt;
  return fmt::format("the kernel is {}: user ring buffers came with 6.1", name.release);
}

}  // namespace ringside::harness
