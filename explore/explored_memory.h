// SPDX-License-Identifier: Apache-2.0
//
// The memory policy under which the model's kernel side is explored: each access is a step of the search. The orderings
// are those of the kernel's primitives as C++ has them (KERNEL-RINGS 5); a control dependency before a store counts as
// acquire, which is stronger than the kernel's only for later loads.
#pragma once

#include <cstdint>
#include <cstring>

#include "explore/program.h"
#include "sim/rule.h"

namespace ringside::explore {

/// Stateless; only within a thread of a program that is being explored.
struct ExploredMemory {
  template <class T>
  static T load_plain(const T* place) {
    plain_read(place, sizeof(T));
    return *place;
  }
  template <class T>
  static T load_relaxed(const T* place) {
    return static_cast<T>(atomic_load(place, sizeof(T), Order::relaxed));
  }
  template <class T>
  static T load_acquire(const T* place) {
    return static_cast<T>(atomic_load(place, sizeof(T), Order::acquire));
  }
  /// The load is one of the place where it is made, but is bound when it is asked: what it answers is all there is to
  /// it, and the search branches over answers (value_test.h).
  using Position = DeferredLoad;
  static Position load_position(const std::uint64_t* place) { return {place, sizeof(*place), Order::acquire}; }
  static bool is_further(const Position& position, std::uint64_t next, std::uint64_t most) {
    return position.test({.kind = ValueTest::Kind::further, .a = next, .b = most});
  }
  static bool points_at(const std::uint64_t* place, std::uint64_t mask, std::uint64_t wanted) {
    return atomic_test(place, sizeof(*place), Order::acquire,
                       {.kind = ValueTest::Kind::points_at, .a = wanted, .b = mask});
  }
  template <class T>
  static void store_plain(T* place, T value) {
    plain_write(place, sizeof(T));
    *place = value;
  }
  template <class T>
  static void store_relaxed(T* place, T value) {
    atomic_store(place, sizeof(T), value, Order::relaxed);
  }
  template <class T>
  static void store_release(T* place, T value) {
    atomic_store(place, sizeof(T), value, Order::release);
  }
  template <class T>
  static T exchange_full(T* place, T value) {
    return static_cast<T>(atomic_update(place, sizeof(T), Order::seq_cst, [value](std::uint64_t) { return value; }));
  }
  /// Waits, as a spinner would: a failed try is no step.
  static bool try_lock(std::uint32_t* word) {
    lock(word);
    return true;
  }
  static void relax(unsigned) {}
  static void unlock(std::uint32_t* word) { explore::unlock(word); }
  static void write_barrier() { atomic_fence(Order::release); }
  static void write_bytes(void* to, const void* from, std::size_t size) {
    plain_write(to, size);
    std::memcpy(to, from, size);
  }
  static constexpr bool breaks(sim::Rule) { return false; }
};

}  // namespace ringside::explore
