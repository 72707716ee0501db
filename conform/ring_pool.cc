// SPDX-License-Identifier: Apache-2.0
#include "conform/ring_pool.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cassert>
#include <cerrno>
#include <utility>

namespace ringside::conform {

RingPool::RingPool(std::uint32_t map_type, int outer_fd, std::vector<RingShape> shapes)
    : map_type_(map_type), outer_fd_(outer_fd), shapes_(std::move(shapes)), fresh_(shapes_.size()) {}

ring::Result<RingPool::Ring> RingPool::take(std::size_t shape) {
  assert(shape < shapes_.size());
  if (fresh_[shape].empty()) {
    if (auto filled = refill(); !filled) return tl::make_unexpected(filled.error());
  }
  Ring ring = std::move(fresh_[shape].back());
  fresh_[shape].pop_back();
  return ring;
}

// All shapes at once: the grace period costs the same for one ring and for all.
ring::Result<void> RingPool::refill() {
  std::vector<std::uint32_t> slots;
  std::vector<int> maps;
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
    const auto first = static_cast<std::uint32_t>(shape) * rings_of_a_shape;
    // Rings are taken from the end: those that are left have the lowest slots.
    for (auto index = static_cast<std::uint32_t>(fresh_[shape].size()); index < rings_of_a_shape; ++index) {
      bpf_map_create_opts options{};
      options.sz = sizeof(options);
      options.map_flags = shapes_[shape].map_flags;
      real::Fd map(
          bpf_map_create(static_cast<bpf_map_type>(map_type_), "conform_ring", 0, 0, shapes_[shape].bytes, &options));
      if (!map) {
        return ring::errno_error(fmt::format("create ring of {} bytes for a script", shapes_[shape].bytes), errno,
                                 errno == EPERM ? "run as root or with CAP_BPF" : "");
      }
      slots.push_back(first + index);
      maps.push_back(map.get());
      fresh_[shape].push_back({.slot = first + index, .map = std::move(map)});
    }
  }
  auto count = static_cast<std::uint32_t>(slots.size());
  if (bpf_map_update_batch(outer_fd_, slots.data(), maps.data(), &count, nullptr) == 0) return {};
  const int code = errno;
  for (auto& rings : fresh_) rings.clear();
  return ring::errno_error(fmt::format("hand {} rings to the programs of conform", slots.size()), code,
                           "needs kernel 5.14 or later");
}

}  // namespace ringside::conform
