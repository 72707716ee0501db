// SPDX-License-Identifier: Apache-2.0
//
// A user ring buffer of the running kernel: the map and its mappings, as the producer contract wants them, and the
// program that drains it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "real/handle.h"
#include "ring/producer.h"
#include "ring/result.h"

namespace ringside::real {

/// A BPF_MAP_TYPE_USER_RINGBUF, mapped with the protections that the kernel allows: the consumer page read-only, the
/// producer page and the data (twice) writable. Movable.
class UserRingbufMap {
 public:
  /// `size_bytes`: as for RingbufMap. EPERM without CAP_BPF; EINVAL also before kernel 6.1.
  static ring::Result<UserRingbufMap> create(std::uint64_t size_bytes);

  /// The ring as producers see it.
  const ringside_user_ring& ring() const { return ring_; }
  int map_fd() const { return map_.get(); }

 private:
  UserRingbufMap() = default;

  Fd map_;
  Mapping consumer_page_;
  Mapping producer_page_and_data_;
  ringside_user_ring ring_{};
};

/// The program that drains one ring. Not thread-safe.
class UserDrain {
 public:
  /// Errors: EPERM, and what keeps the program from being loaded; needs kernel 6.1, and a ring of at most 128 MiB. The
  /// ring may go before it.
  static ring::Result<UserDrain> load(const UserRingbufMap& ring);
  ~UserDrain();
  UserDrain(UserDrain&&) noexcept;
  UserDrain& operator=(UserDrain&&) = delete;

  using Take = std::function<void(std::span<const std::byte> sample)>;
  /// bpf_user_ringbuf_drain on the calling thread's CPU: its return value; its wake-up is done then. `take` gets, after
  /// the drain, each sample that its callback got, which stops at `most_samples` (0: at none) or when the samples
  /// outgrow the ring's size.
  ring::Result<std::int64_t> drain(std::uint64_t flags, std::uint32_t most_samples, const Take& take);

 private:
  struct Loaded;
  explicit UserDrain(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace ringside::real
