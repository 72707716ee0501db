// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the model share: rings made in one line, reads through the user's mapping, a sequential reader.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "sim/machine.h"
#include "sim/perf_ring.h"
#include "sim/ringbuf.h"

namespace ringside::sim::test {

/// The value of a Result that the test needs; fails the test with the error otherwise.
template <class T>
T must(ring::Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error();
    std::abort();
  }
  return std::move(*result);
}

inline std::unique_ptr<RingbufModel> make_ringbuf(RingbufOptions options = {}) {
  return must(RingbufModel::create(options));
}

inline std::unique_ptr<PerfRingModel> make_perf(PerfAttr attr = {}, PerfRingOptions options = {}) {
  options.attr = attr;
  return must(PerfRingModel::create(options));
}

inline std::vector<std::byte> bytes_of(std::size_t count, unsigned char value) {
  return std::vector<std::byte>(count, std::byte{value});
}

template <class T>
T load(const void* base, std::uint64_t offset) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(base) + offset, sizeof(value));
  return value;
}

template <class T>
void store(void* base, std::uint64_t offset, T value) {
  std::memcpy(static_cast<std::byte*>(base) + offset, &value, sizeof(value));
}

/// Moves the consumer as an honest one does: through the user's mapping, with release.
inline void consume_to(RingbufModel& ring, std::uint64_t position) {
  __atomic_store_n(static_cast<std::uint64_t*>(ring.memory().user_consumer_page()), position, __ATOMIC_RELEASE);
}
inline void drain(RingbufModel& ring) { consume_to(ring, ring.producer_pos()); }

inline void set_tail(PerfRingModel& ring, std::uint64_t position) {
  auto* page = static_cast<std::byte*>(ring.memory().user_control_page());
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(page + ring::perf::data_tail_offset), position, __ATOMIC_RELEASE);
}
inline void drain(PerfRingModel& ring) { set_tail(ring, ring.data_head()); }

/// The len word of the record at a position, as the user sees it.
inline std::uint32_t header_at(const RingbufModel& ring, std::uint64_t position) {
  return load<std::uint32_t>(ring.memory().user_data(), position & ring.state().mask());
}

/// Bytes of a perf ring from a position on, wrapped, as the user sees them.
inline std::vector<std::byte> perf_bytes(const PerfRingModel& ring, std::uint64_t position, std::size_t count) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes.push_back(load<std::byte>(ring.memory().user_data(), (position + i) & ring.state().mask()));
  }
  return bytes;
}

template <class T>
T perf_load(const PerfRingModel& ring, std::uint64_t position) {
  const auto bytes = perf_bytes(ring, position, sizeof(T));
  return load<T>(bytes.data(), 0);
}

}  // namespace ringside::sim::test
