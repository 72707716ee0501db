// SPDX-License-Identifier: Apache-2.0
//
// Producer `libbpf_user`: libbpf's user_ring_buffer__reserve, __submit and __discard. It waits as __reserve_blocking
// does, which itself would sleep where the harness's clock does not reach: level-triggered, and with one more try at
// the deadline. libbpf does not look at how much a drain can take: samples above 0xffffff bytes are refused here.
#include <bpf/libbpf.h>

#include <cerrno>
#include <memory>

#include "consumers/strategies.h"
#include "consumers/user_producer.h"

namespace ringside::consumers {

namespace {

struct Free {
  void operator()(user_ring_buffer* ring) const { user_ring_buffer__free(ring); }
};

class LibbpfUser {
 public:
  LibbpfUser(const ringside_user_ring& ring, const ringside_producer_host& host)
      : fd_(ring.fd), view_(ring), host_(&host) {}

  int start() {
    if (fd_ < 0) return -EBADF;
    ring_.reset(user_ring_buffer__new(fd_, nullptr));
    return ring_ == nullptr ? -errno : 0;
  }

  int reserve(std::uint32_t size, void** payload) {
    if (size > RINGSIDE_LARGEST_SAMPLE) return -E2BIG;
    *payload = user_ring_buffer__reserve(ring_.get(), size);
    return *payload == nullptr ? -errno : 0;
  }

  int commit(void* payload, std::uint32_t fate) {
    if (fate == RINGSIDE_DISCARD_SAMPLE) {
      user_ring_buffer__discard(ring_.get(), payload);
    } else {
      user_ring_buffer__submit(ring_.get(), payload);
    }
    return 0;
  }

  int wait(std::uint32_t size, std::int64_t timeout_ns) {
    const int woken = host_->wait(host_->context, timeout_ns);
    if (woken > 0 || (woken == 0 && has_room(view_, size))) return RINGSIDE_WAIT_READY;
    return woken;
  }

 private:
  int fd_;
  UserRingbufView view_;  // to look at the deadline
  const ringside_producer_host* host_;
  std::unique_ptr<user_ring_buffer, Free> ring_;
};

}  // namespace

const ringside_producer& libbpf_user() {
  static constexpr ringside_producer table =
      ProducerTableOf<LibbpfUser>::make({.name = "libbpf_user",
                                         .summary = "libbpf's user_ring_buffer: reserve, then submit or discard",
                                         .needs = RINGSIDE_NEEDS_FD,
                                         .trigger = RINGSIDE_LEVEL});
  return table;
}

}  // namespace ringside::consumers
