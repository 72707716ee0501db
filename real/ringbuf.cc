// SPDX-License-Identifier: Apache-2.0
#include "real/ringbuf.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <limits>

namespace ringside::real {

namespace {

// BPF_F_RB_OVERWRITE; the headers of Debian 12 are older than it.
constexpr std::uint32_t overwrite_flag = 1u << 19;

std::string create_remedy(int code, std::uint64_t size_bytes, RingbufMode mode) {
  if (code == EPERM) return "run as root or with CAP_BPF";
  if (code == EINVAL) {
    return fmt::format("{} must be a power of two, a multiple of {} and at most 2^31, and the kernel {} or later",
                       size_bytes, page_bytes(), mode == RingbufMode::overwrite ? "6.19" : "5.8");
  }
  if (code == ENOMEM) return "take a smaller ring";
  return {};
}

ring::Result<Fd> create_map(std::uint64_t size_bytes, RingbufMode mode) {
  const bool overwrite = mode == RingbufMode::overwrite;
  const std::string attempt =
      fmt::format("create {} of {} bytes", overwrite ? "overwrite ring buffer" : "ring buffer", size_bytes);
  // The kernel takes 32 bits and would round a wider number down to something else.
  if (size_bytes > std::numeric_limits<std::uint32_t>::max()) {
    return ring::errno_error(attempt, EINVAL, create_remedy(EINVAL, size_bytes, mode));
  }
  bpf_map_create_opts options{};
  options.sz = sizeof(options);
  options.map_flags = map_flags_of(mode);
  Fd map(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ringside_ring", 0, 0, static_cast<std::uint32_t>(size_bytes), &options));
  if (!map) return ring::errno_error(attempt, errno, create_remedy(errno, size_bytes, mode));
  return map;
}

}  // namespace

std::uint32_t map_flags_of(RingbufMode mode) { return mode == RingbufMode::overwrite ? overwrite_flag : 0; }

ring::Result<RingbufMap> RingbufMap::create(std::uint64_t size_bytes, RingbufMode mode) {
  auto map = create_map(size_bytes, mode);
  if (!map) return tl::unexpected(map.error());
  return of(std::move(*map), size_bytes);
}

ring::Result<RingbufMap> RingbufMap::of(Fd map, std::uint64_t size_bytes) {
  RingbufMap result;
  result.map_ = std::move(map);
  const std::size_t page = page_bytes();
  auto consumer = Mapping::of_file(result.map_fd(), page, PROT_READ | PROT_WRITE, 0, "consumer page of ring buffer");
  if (!consumer) return tl::unexpected(consumer.error());
  auto producer = Mapping::of_file(result.map_fd(), page + 2 * static_cast<std::size_t>(size_bytes), PROT_READ, page,
                                   "producer page and data of ring buffer");
  if (!producer) return tl::unexpected(producer.error());

  result.consumer_page_ = std::move(*consumer);
  result.producer_page_and_data_ = std::move(*producer);
  result.ring_ = ringside_ring{.kind = RINGSIDE_RINGBUF,
                               .cpu = -1,
                               .fd = result.map_fd(),
                               .page_size = static_cast<std::uint32_t>(page),
                               .data_size = size_bytes,
                               .consumer_page = result.consumer_page_.data(),
                               .producer_page = result.producer_page_and_data_.data(),
                               .data = result.producer_page_and_data_.data() + page};
  return result;
}

ringside_ring_set RingbufMap::ring_set() const {
  return ringside_ring_set{.kind = RINGSIDE_RINGBUF,
                           .ring_count = 1,
                           .rings = &ring_,
                           .map_fd = map_fd(),
                           .data_pages = static_cast<std::uint32_t>(ring_.data_size / ring_.page_size),
                           .wakeup_events = 0,
                           .watermark_bytes = 0,
                           .swap = nullptr,
                           .sample_type = 0,
                           .backward = 0,
                           .stamp_bytes = 0};
}

}  // namespace ringside::real
