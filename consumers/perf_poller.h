// SPDX-License-Identifier: Apache-2.0
//
// The pollers of consumers/poller.h for perf rings, which can be paused: what is put out meanwhile finds no place and
// is counted as lost (KERNEL-RINGS 2.11). Both have, beside what a poller has,
//
//   int pause(std::uint32_t ring, bool paused)   by any thread; 0 or a negative errno
#pragma once

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdint>

#include "consumers/epoll_poller.h"
#include "consumers/poller.h"

namespace ringside::consumers {

/// Asks the host, where that can.
class HostPerfPoller : public HostPoller {
 public:
  HostPerfPoller(const ringside_ring_set& rings, const ringside_host& host) : HostPoller(rings, host), host_(host) {}

  int pause(std::uint32_t ring, bool paused) {
    return host_.pause == nullptr ? -EOPNOTSUPP : host_.pause(host_.context, ring, paused ? 1 : 0);
  }

 private:
  const ringside_host& host_;
};

/// Asks the kernel, by the events' descriptors.
template <std::uint32_t trigger>
class EpollPerfPoller : public EpollPoller<trigger> {
 public:
  EpollPerfPoller(const ringside_ring_set& rings, const ringside_host& host)
      : EpollPoller<trigger>(rings, host), rings_(rings) {}

  int pause(std::uint32_t ring, bool paused) {
    return ioctl(rings_.rings[ring].fd, PERF_EVENT_IOC_PAUSE_OUTPUT, paused ? 1 : 0) == 0 ? 0 : -errno;
  }

 private:
  const ringside_ring_set& rings_;
};

}  // namespace ringside::consumers
