// SPDX-License-Identifier: Apache-2.0
#include "real/cpu_ringbufs.h"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <cassert>
#include <cerrno>

namespace ringside::real {

namespace {

ring::Result<Fd> create_array(std::uint32_t entries, int inner_fd) {
  bpf_map_create_opts options{};
  options.sz = sizeof(options);
  options.inner_map_fd = static_cast<std::uint32_t>(inner_fd);
  Fd array(bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "ringside_rings", sizeof(std::uint32_t), sizeof(std::uint32_t),
                          entries, &options));
  if (!array) return ring::errno_error(fmt::format("create array of {} ring buffers", entries), errno);
  return array;
}

ring::Result<void> store(const Fd& array, std::uint32_t cpu, int ring_fd) {
  if (bpf_map_update_elem(array.get(), &cpu, &ring_fd, BPF_ANY) == 0) return {};
  return ring::errno_error(fmt::format("store the ring buffer of CPU {}", cpu), errno);
}

}  // namespace

ring::Result<CpuRingbufs> CpuRingbufs::create(std::span<const std::uint32_t> cpus, std::uint64_t size_bytes) {
  assert(!cpus.empty());
  CpuRingbufs result;
  result.cpus_.assign(cpus.begin(), cpus.end());
  for (const std::uint32_t cpu : cpus) {
    auto map = RingbufMap::create(size_bytes);
    if (!map) return tl::unexpected(map.error());
    result.maps_.push_back(std::move(*map));
    result.rings_.push_back(result.maps_.back().ring());
    result.rings_.back().cpu = static_cast<std::int32_t>(cpu);
  }
  auto array = create_array(cpus.back() + 1, result.maps_.front().map_fd());
  if (!array) return tl::unexpected(array.error());
  result.array_ = std::move(*array);
  for (std::size_t index = 0; index < cpus.size(); ++index) {
    if (auto stored = store(result.array_, cpus[index], result.maps_[index].map_fd()); !stored) {
      return tl::unexpected(stored.error());
    }
  }
  return result;
}

ringside_ring_set CpuRingbufs::ring_set() const {
  ringside_ring_set set = maps_.front().ring_set();
  set.ring_count = static_cast<std::uint32_t>(rings_.size());
  set.rings = rings_.data();
  set.map_fd = map_fd();
  return set;
}

}  // namespace ringside::real
