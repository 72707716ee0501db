// SPDX-License-Identifier: Apache-2.0
//
// From a C++ class to the contract's table of C functions. A strategy is a class with start, drain, wait and, when it
// hands out views, release; this file gives it the five functions and the checks that every open makes.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>

#include "ring/consumer.h"

namespace ringside::consumers {

/// What the table says of a strategy.
struct Traits {
  const char* name;
  const char* summary;
  std::uint32_t ring_kind;
  std::uint32_t needs = 0;
  std::uint32_t trigger = RINGSIDE_EDGE;
  std::uint32_t claims = 0;
};

/// An array of `count` default values, or null when there is no memory: consumers return -ENOMEM, they do not throw.
template <class T>
std::unique_ptr<T[]> allocate(std::size_t count) {
  return std::unique_ptr<T[]>(new (std::nothrow) T[count]);
}

/// The five functions for `Strategy`, which must have
///   Strategy(const ringside_ring_set&, const ringside_host&), not failing;
///   int start(): 0 or a negative errno, on which the object is destroyed;
///   std::int64_t drain(std::uint64_t max_records); int wait(std::int64_t timeout_ns);
///   optionally int release(std::uint64_t token).
template <class Strategy>
class TableOf {
 public:
  static constexpr ringside_consumer make(const Traits& traits) {
    ringside_consumer table{};
    table.abi_version = RINGSIDE_CONSUMER_ABI;
    table.struct_size = sizeof(ringside_consumer);
    table.name = traits.name;
    table.summary = traits.summary;
    table.ring_kinds = traits.ring_kind;
    table.needs = traits.needs;
    table.trigger = traits.trigger;
    table.claims = traits.claims;
    table.open = open;
    table.drain = drain;
    table.wait = wait;
    if constexpr (requires(Strategy& strategy) { strategy.release(std::uint64_t{}); }) table.release = release;
    table.close = close;
    return table;
  }

 private:
  static int open(const ringside_ring_set* rings, const ringside_host* host, void** state) {
    if (host->abi_version != RINGSIDE_CONSUMER_ABI || rings->kind != Strategy::ring_kind) return -EINVAL;
    std::unique_ptr<Strategy> strategy(new (std::nothrow) Strategy(*rings, *host));
    if (strategy == nullptr) return -ENOMEM;
    const int result = strategy->start();
    if (result < 0) return result;
    *state = strategy.release();
    return 0;
  }
  static std::int64_t drain(void* state, std::uint64_t max_records) {
    return static_cast<Strategy*>(state)->drain(max_records);
  }
  static int wait(void* state, std::int64_t timeout_ns) { return static_cast<Strategy*>(state)->wait(timeout_ns); }
  static int release(void* state, std::uint64_t token) { return static_cast<Strategy*>(state)->release(token); }
  static void close(void* state) { delete static_cast<Strategy*>(state); }
};

}  // namespace ringside::consumers
