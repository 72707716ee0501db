// SPDX-License-Identifier: Apache-2.0
#include "real/user_ringbuf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "bpf/user_ringbuf.h"
#include "bpf/user_ringbuf.skel.h"
#include "real/quiet_libbpf.h"
#include "real/wakeup_fence.h"
#include "ring/layout.h"

namespace ringside::real {

namespace {

std::string create_remedy(int code) {
  if (code == EPERM) return "run as root or with CAP_BPF";
  if (code == EINVAL) {
    return fmt::format("it must be a power of two, a multiple of {} and at most 2^31, and the kernel 6.1 or later",
                       page_bytes());
  }
  return code == ENOMEM ? "take a smaller ring" : "";
}

}  // namespace

ring::Result<UserRingbufMap> UserRingbufMap::create(std::uint64_t size_bytes) {
  const std::string attempt = fmt::format("create user ring buffer of {} bytes", size_bytes);
  // The kernel takes 32 bits and would round a wider number down to something else.
  if (size_bytes > std::numeric_limits<std::uint32_t>::max()) {
    return ring::errno_error(attempt, EINVAL, create_remedy(EINVAL));
  }
  UserRingbufMap result;
  result.map_ = Fd(bpf_map_create(BPF_MAP_TYPE_USER_RINGBUF, "ringside_user", 0, 0,
                                  static_cast<std::uint32_t>(size_bytes), nullptr));
  if (!result.map_) return ring::errno_error(attempt, errno, create_remedy(errno));

  const std::size_t page = page_bytes();
  auto consumer = Mapping::of_file(result.map_fd(), page, PROT_READ, 0, "consumer page of user ring buffer");
  if (!consumer) return tl::unexpected(consumer.error());
  auto producer = Mapping::of_file(result.map_fd(), page + 2 * static_cast<std::size_t>(size_bytes),
                                   PROT_READ | PROT_WRITE, page, "producer page and data of user ring buffer");
  if (!producer) return tl::unexpected(producer.error());
  result.consumer_page_ = std::move(*consumer);
  result.producer_page_and_data_ = std::move(*producer);
  result.ring_ = ringside_user_ring{.fd = result.map_fd(),
                                    .page_size = static_cast<std::uint32_t>(page),
                                    .data_size = size_bytes,
                                    .consumer_page = result.consumer_page_.data(),
                                    .producer_page = result.producer_page_and_data_.data(),
                                    .data = result.producer_page_and_data_.data() + page};
  return result;
}

struct UserDrain::Loaded {
  user_ringbuf_bpf* skeleton = nullptr;
  Mapping samples;
  WakeupFence wakeups;

  Loaded() = default;
  ~Loaded() { user_ringbuf_bpf::destroy(skeleton); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
};

UserDrain::UserDrain(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
UserDrain::~UserDrain() = default;
UserDrain::UserDrain(UserDrain&&) noexcept = default;

ring::Result<UserDrain> UserDrain::load(const UserRingbufMap& ring) {
  constexpr std::string_view what = "a user ring buffer";
  constexpr std::string_view needed = "6.1 or later with CONFIG_BPF_SYSCALL";
  constexpr std::uint64_t least_half = 1u << 16;
  constexpr std::uint64_t most_half = 1u << 28;
  const std::uint64_t half = std::max(least_half, 2 * ring.ring().data_size);
  if (half > most_half) {
    return ring::error(fmt::format("drain a user ring buffer of {} bytes", ring.ring().data_size),
                       "its samples do not fit into what a program can copy", "take a ring of at most 128 MiB");
  }
  auto loaded = std::make_unique<Loaded>();
  {
    const QuietLibbpf quiet;
    loaded->skeleton = user_ringbuf_bpf::open();
    if (loaded->skeleton == nullptr) return load_error(what, errno, needed);
    loaded->skeleton->rodata->half_bytes = static_cast<std::uint32_t>(half);
    // Half, and one sample of half with its header.
    bpf_map__set_value_size(loaded->skeleton->maps.samples, static_cast<std::uint32_t>(2 * half + 8));
    int code = bpf_map__reuse_fd(loaded->skeleton->maps.ring, ring.map_fd());
    if (code == 0) code = user_ringbuf_bpf::load(loaded->skeleton);
    if (code != 0) return load_error(what, -code, needed);
  }
  auto samples = Mapping::of_file(bpf_map__fd(loaded->skeleton->maps.samples), static_cast<std::size_t>(2 * half),
                                  PROT_READ, 0, "samples of a drain");
  if (!samples) return tl::unexpected(samples.error());
  loaded->samples = std::move(*samples);
  auto wakeups = WakeupFence::create();
  if (!wakeups) return tl::unexpected(wakeups.error());
  loaded->wakeups = std::move(*wakeups);
  return UserDrain(std::move(loaded));
}

ring::Result<std::int64_t> UserDrain::drain(std::uint64_t flags, std::uint32_t most_samples, const Take& take) {
  user_drain_shared& shared = loaded_->skeleton->bss->shared;
  shared.flags = flags;
  shared.most_samples = most_samples;
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  const int code = bpf_prog_test_run_opts(bpf_program__fd(loaded_->skeleton->progs.drain), &options);
  if (code != 0) return ring::errno_error("run the program that drains a user ring buffer", -code);
  if (auto passed = loaded_->wakeups.pass(shared.cpu); !passed) return tl::unexpected(passed.error());
  const std::byte* at = loaded_->samples.data();
  for (std::uint32_t index = 0; index < shared.taken; ++index) {
    std::uint32_t length = 0;
    std::memcpy(&length, at, sizeof(length));
    take({at + ring::ringbuf::header_bytes, length});
    at += ring::ringbuf::span_of(length);
  }
  return shared.result;
}

}  // namespace ringside::real
