// SPDX-License-Identifier: Apache-2.0
#include "explore/programs/bpf_map.h"

#include <linux/bpf.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "explore/programs/bpf_ring.h"
#include "explore/programs/kernel_calls.h"
#include "sim/ring_memory.h"

namespace ringside::explore::programs {
namespace {

/// What the kernel's poll of the map says: it looks at both positions itself.
std::uint32_t readiness() {
  const RingView view = ring();
  const std::uint64_t consumed = atomic_load(view.consumer_pos, sizeof consumed, Order::acquire);
  const std::uint64_t produced = atomic_load(view.producer_pos, sizeof produced, Order::acquire);
  return produced != consumed ? std::uint32_t{EPOLLIN} : 0;
}

/// The consumer's page, writable, or behind it the producer's page and the data, twice in a row (KERNEL-RINGS 1.3).
std::optional<long> map_ring(const MmapCall& call) {
  const RingView view = ring();
  const std::uint64_t page_bytes = sim::page_size_bytes();
  const std::uint64_t data_size = view.mask + 1;
  if (call.offset == 0) return call.size == page_bytes ? address_of(view.consumer_pos) : -EPERM;
  if (call.offset != page_bytes || call.size > page_bytes + 2 * data_size) return -EINVAL;
  return call.writes ? -EPERM : address_of(view.producer_pos);
}

std::optional<long> answer(int map, const Call& call) {
  if (const auto info = as_map_info(call, map)) {
    return tell_map_info(*info, {.type = BPF_MAP_TYPE_RINGBUF, .max_entries = ring().mask + 1});
  }
  if (const auto mapping = as_mmap(call, map)) return map_ring(*mapping);
  if (call.name == "munmap") return 0;
  return std::nullopt;
}

}  // namespace

int open_ring_map() {
  const int map = open_source(readiness);
  wake_by(map);
  answer_calls([map](const Call& call) { return answer(map, call); });
  return map;
}

}  // namespace ringside::explore::programs
