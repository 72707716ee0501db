// SPDX-License-Identifier: Apache-2.0
//
// The heap of explored code: each thread's blocks lie one after the other in a region of its own, so that a block has
// the same address however threads take turns; nothing is used again within an execution, and all is forgotten before
// the next one. So there is no leak of abandoned executions, and memory that was freed can be told from all other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "explore/clock.h"

namespace ringside::explore::runtime {

class Heap {
 public:
  /// What one thread may allocate in one execution.
  static constexpr std::size_t region_bytes = std::size_t{8} << 20;
  /// The part of begin and end.
  static constexpr std::size_t outside = most_threads;

  Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// `alignment` is a power of two; null when the thread's region is used up.
  void* allocate(std::size_t thread, std::size_t size, std::size_t alignment);

  bool holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory_) < all_bytes;
  }
  /// Of a block, which it must be the beginning of.
  std::size_t size_of(const void* block) const;
  /// The block may not be accessed any more.
  void release(const void* block);
  /// Whether any of these bytes belong to a block that was released.
  bool was_freed(const void* address, std::size_t size) const { return holds(address) && any_freed(address, size); }

  /// What all blocks hold, thread by thread.
  std::span<const std::byte> used(std::size_t thread) const {
    if (memory_ == nullptr) return {};
    return {reinterpret_cast<const std::byte*>(memory_ + thread * region_bytes), used_[thread]};
  }
  /// Forgets all blocks.
  void reset();

 private:
  static constexpr std::size_t granule_bytes = 16;
  static constexpr std::size_t all_bytes = (most_threads + 1) * region_bytes;

  bool any_freed(const void* address, std::size_t size) const;
  void map();
  std::size_t granule(const void* address) const {
    return static_cast<std::size_t>(static_cast<const char*>(address) - memory_) / granule_bytes;
  }

  char* memory_ = nullptr;
  std::vector<std::size_t> used_;  ///< bytes, by thread
  std::vector<bool> freed_;        ///< by granule
};

/// Of the calling thread's explorations.
Heap& heap();

}  // namespace ringside::explore::runtime
