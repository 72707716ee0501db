// SPDX-License-Identifier: Apache-2.0
//
// A BPF ring buffer in miniature: producers as the kernel has them, a consumer that polls as libbpf does, and waits for
// what it reads first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "explore/search.h"

namespace ringside::explore {

struct MiniatureRing {
  std::uint64_t consumer_pos = 0;
  std::uint64_t producer_pos = 0;
  std::uint64_t pending_pos = 0;
  std::uint32_t lock = 0;
  alignas(8) std::array<unsigned char, 256> data{};

  unsigned char* at(std::uint64_t position) { return &data[position % data.size()]; }
};

struct MiniatureShape {
  std::size_t producers = 1;
  std::uint64_t records = 1;  ///< of each producer
  bool pending_walk = false;  ///< looks for committed records behind the producers, as later kernels do
};

/// What a consumer must get right; a mutant gets one of them wrong.
struct MiniatureOrders {
  Order producer_pos = Order::acquire;
  Order header = Order::acquire;
  Order consumer_pos = Order::release;
  bool release_early = false;  ///< hands the space back before it has read the record
};

class Miniature {
 public:
  Miniature(const MiniatureShape& shape, const MiniatureOrders& orders) : shape_(shape), orders_(orders) {}

  Miniature(const Miniature&) = delete;
  Miniature& operator=(const Miniature&) = delete;

  SearchResult explore(MemoryModel model = MemoryModel::c11) { return search(program(), {.model = model}); }

  /// Of this object.
  Program program() {
    Program program;
    program.begin = [this] { ring_ = MiniatureRing{}; };
    for (std::size_t producer = 0; producer < shape_.producers; ++producer) {
      program.threads.emplace_back([this, producer] {
        for (std::uint64_t record = 0; record < shape_.records; ++record) output(100 * producer + record);
      });
    }
    program.threads.emplace_back([this] { consume(); });
    return program;
  }

 private:
  static constexpr std::uint32_t busy = 1u << 31;
  static constexpr std::uint64_t record_bytes = 16;  // a header and 8 bytes

  void output(std::uint64_t payload) {
    if (shape_.producers > 1) lock(&ring_.lock);
    plain_read(&ring_.producer_pos, 8);
    const std::uint64_t position = ring_.producer_pos;
    if (shape_.pending_walk) walk(position);
    const std::uint64_t consumed = atomic_load(&ring_.consumer_pos, 8, Order::acquire);
    if (position + record_bytes - consumed > ring_.data.size() - 1) fail("the ring is too small for the test");
    const std::array<std::uint32_t, 2> header{8 | busy, 0};
    plain_write(ring_.at(position), 8);
    std::memcpy(ring_.at(position), header.data(), 8);
    atomic_store(&ring_.producer_pos, 8, position + record_bytes, Order::release);
    if (shape_.producers > 1) unlock(&ring_.lock);
    plain_write(ring_.at(position + 8), 8);
    std::memcpy(ring_.at(position + 8), &payload, 8);
    atomic_update(ring_.at(position), 4, Order::acq_rel, [](std::uint64_t length) { return length & ~busy; });
  }

  void walk(std::uint64_t producer_pos) {
    plain_read(&ring_.pending_pos, 8);
    std::uint64_t pending = ring_.pending_pos;
    while (pending < producer_pos && (atomic_load(ring_.at(pending), 4, Order::relaxed) & busy) == 0) {
      pending += record_bytes;
    }
    plain_write(&ring_.pending_pos, 8);
    ring_.pending_pos = pending;
  }

  void consume() {
    const std::uint64_t all = shape_.producers * shape_.records * record_bytes;
    for (std::uint64_t position = 0; position < all;) position = poll(position);
  }

  /// One call that delivers at least one record: what it reads first, it waits for.
  std::uint64_t poll(std::uint64_t position) {
    const std::uint64_t begin = position;
    while (true) {
      const std::uint64_t end = position == begin
                                    ? await(&ring_.producer_pos, 8, orders_.producer_pos,
                                            [position](std::uint64_t produced) { return produced > position; })
                                    : atomic_load(&ring_.producer_pos, 8, orders_.producer_pos);
      if (position >= end) return position;
      while (position < end) {
        const auto committed = [](std::uint64_t length) { return (length & busy) == 0; };
        const std::uint64_t length = position == begin ? await(ring_.at(position), 4, orders_.header, committed)
                                                       : atomic_load(ring_.at(position), 4, orders_.header);
        if (!committed(length)) return position;
        if (!orders_.release_early) plain_read(ring_.at(position + 8), 8);
        const std::uint64_t read = position;
        position += record_bytes;
        atomic_store(&ring_.consumer_pos, 8, position, orders_.consumer_pos);
        if (orders_.release_early) plain_read(ring_.at(read + 8), 8);
      }
    }
  }

  MiniatureShape shape_;
  MiniatureOrders orders_;
  MiniatureRing ring_;
};

}  // namespace ringside::explore
