// SPDX-License-Identifier: Apache-2.0
//
// The memory policy: how the model's kernel side touches shared memory. The kernel side is written once, as operations
// that advance one step at a time, over this policy; the explorer brings its own policy and drives the same code.
//
// The names follow section 5 of the specification: relaxed, acquire, release, full (an atomic exchange with full
// barrier) and plain (not atomic: ordered by something else, or a race).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#include "ring/sanitizers.h"
#include "sim/rule.h"

namespace ringside::sim {

/// What one step of an operation came to.
enum class StepResult : std::uint8_t {
  more,     ///< the step was taken; another remains
  blocked,  ///< nothing was done: another context holds what this step needs (the reserve lock)
  done,     ///< the last step was taken
};

inline constexpr bool under_thread_sanitizer = RINGSIDE_THREAD_SANITIZER != 0;

/// Memory as the machine has it. Stateless; every function may be called from any thread.
struct PlainMemory {
  template <class T>
  static T load_plain(const T* place) {
    return *place;
  }
  // ThreadSanitizer knows neither fences nor control dependencies: under it, the relaxed accesses that these order
  // carry the order themselves.
  template <class T>
  static T load_relaxed(const T* place) {
    return __atomic_load_n(place, under_thread_sanitizer ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
  }
  template <class T>
  static T load_acquire(const T* place) {
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
  }
  /// A position that the other side moves, loaded with acquire here and asked about further on; the questions are all
  /// that is done with it, so that the explorer need not tell values with the same answers apart.
  using Position = std::uint64_t;
  static Position load_position(const std::uint64_t* place) { return load_acquire(place); }
  /// next - position > most. Asked once, but by models that break a rule.
  static bool is_further(Position position, std::uint64_t next, std::uint64_t most) { return next - position > most; }
  /// Loads with acquire; whether the value is `wanted` in the bits of the mask.
  static bool points_at(const std::uint64_t* place, std::uint64_t mask, std::uint64_t wanted) {
    return (load_acquire(place) & mask) == wanted;
  }
  template <class T>
  static void store_plain(T* place, T value) {
    *place = value;
  }
  template <class T>
  static void store_relaxed(T* place, T value) {
    __atomic_store_n(place, value, under_thread_sanitizer ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);
  }
  template <class T>
  static void store_release(T* place, T value) {
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
  }
  /// xchg: sequentially consistent, a full barrier on both sides.
  template <class T>
  static T exchange_full(T* place, T value) {
    return __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST);
  }
  /// One try to take a lock word (0 free, 1 taken): acquire on success.
  static bool try_lock(std::uint32_t* lock) {
    std::uint32_t free = 0;
    return __atomic_compare_exchange_n(lock, &free, 1u, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }
  /// What a spinner does between two tries: leaves the core to the holder, who may have been preempted on it.
  static void relax(unsigned tries) {
    if (tries % 64 == 63) {
      std::this_thread::yield();
    } else {
      pause();
    }
  }
  static void unlock(std::uint32_t* lock) { __atomic_store_n(lock, 0u, __ATOMIC_RELEASE); }
  static void write_barrier() {
    if constexpr (!under_thread_sanitizer) std::atomic_thread_fence(std::memory_order_release);
  }
  /// Plain bytes into shared memory.
  static void write_bytes(void* to, const void* from, std::size_t size) { std::memcpy(to, from, size); }
  /// Whether the model is to break that rule here.
  static constexpr bool breaks(Rule) { return false; }

 private:
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
};

/// Memory of a model that breaks one rule on purpose: the rule set last on this thread (sim/rule.h).
struct BrokenMemory : PlainMemory {
  static bool breaks(Rule rule) { return rule == broken; }
  static inline thread_local Rule broken = Rule::none;
};

}  // namespace ringside::sim
