// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "explore/runtime/world.h"

namespace ringside::explore::runtime {

// Before each block stands its size, in a granule of its own.

void Heap::map() {
  void* const memory =
      ::mmap(nullptr, all_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<char*>(memory);
  used_.assign(most_threads + 1, 0);
  freed_.assign(all_bytes / granule_bytes, false);
}

void* Heap::allocate(std::size_t thread, std::size_t size, std::size_t alignment) {
  if (memory_ == nullptr) map();
  alignment = std::max(alignment, granule_bytes);
  const std::size_t begin = (used_[thread] + granule_bytes + alignment - 1) / alignment * alignment;
  if (size > region_bytes || begin + size + granule_bytes > region_bytes) return nullptr;
  // A granule at least, so that the end of a block is never the beginning of another.
  used_[thread] = (begin + std::max<std::size_t>(size, 1) + granule_bytes - 1) / granule_bytes * granule_bytes;
  char* const block = memory_ + thread * region_bytes + begin;
  std::memcpy(block - granule_bytes, &size, sizeof size);
  return block;
}

std::size_t Heap::size_of(const void* block) const {
  std::size_t size = 0;
  std::memcpy(&size, static_cast<const char*>(block) - granule_bytes, sizeof size);
  return size;
}

void Heap::release(const void* block) {
  const std::size_t first = granule(block);
  const std::size_t count = std::max<std::size_t>((size_of(block) + granule_bytes - 1) / granule_bytes, 1);
  std::fill_n(freed_.begin() + static_cast<std::ptrdiff_t>(first), count, true);
}

bool Heap::any_freed(const void* address, std::size_t size) const {
  const std::size_t first = granule(address);
  const std::uintptr_t last_byte = reinterpret_cast<std::uintptr_t>(address) + (size == 0 ? 0 : size - 1);
  const std::size_t last = granule(reinterpret_cast<const void*>(last_byte));
  for (std::size_t at = first; at <= last && at < freed_.size(); ++at) {
    if (freed_[at]) return true;
  }
  return false;
}

void Heap::reset() {
  if (memory_ == nullptr) return;
  for (std::size_t thread = 0; thread < used_.size(); ++thread) {
    // Also zeroed: what an execution finds in fresh memory must not depend on the one before it.
    std::memset(memory_ + thread * region_bytes, 0, used_[thread]);
    const auto first = static_cast<std::ptrdiff_t>(thread * region_bytes / granule_bytes);
    std::fill_n(freed_.begin() + first, used_[thread] / granule_bytes, false);
    used_[thread] = 0;
  }
}

Heap& heap() {
  // Never destroyed: static objects of the program may hold blocks until the process ends.
  static thread_local Heap& mine = *new Heap;
  return mine;
}

namespace {

std::size_t caller(const Engine* engine) { return engine != nullptr ? engine->running() : Heap::outside; }

/// Within an execution; begin and end have an engine, too, but no thread.
bool in_an_execution() { return Engine::current != nullptr; }

void* allocate(std::size_t size, std::size_t alignment) {
  Engine* const engine = enter();
  void* const block = heap().allocate(caller(engine), size, alignment);
  if (block == nullptr && engine != nullptr) {
    engine->fail(FailureKind::out_of_memory,
                 fmt::format("thread {} allocates more than {} MiB in one execution; does it allocate in a loop?",
                             engine->running(), Heap::region_bytes >> 20));
  }
  return block;
}

void* allocate_or_malloc(std::size_t size, std::size_t alignment) {
  if (in_an_execution()) return allocate(size, alignment);
  return alignment <= alignof(std::max_align_t) ? std::malloc(size) : ::aligned_alloc(alignment, size);
}

void release_within(void* block) {
  if (Engine* const engine = enter()) {
    if (heap().was_freed(block, 1)) {
      engine->fail(FailureKind::use_after_free,
                   fmt::format("thread {} frees memory that was freed before", engine->running()));
    }
    // Whoever accesses it without being ordered before races with this.
    access(*engine, block, heap().size_of(block), true);
  }
  heap().release(block);
}

/// `outside` takes what was not allocated within an execution.
template <class Outside>
void release(void* block, Outside outside) {
  if (block == nullptr) return;
  if (heap().holds(block)) {
    release_within(block);
  } else {
    outside(block);
  }
}

// The operators, outside of executions those of the program: what one side makes the other may delete.

/// As allocate(), and never null.
void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const block = allocate(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* allocate_for_new(std::size_t size) {
  return in_an_execution() ? allocate_or_throw(size, 1) : ::operator new(size);
}

void* allocate_for_new(std::size_t size, std::size_t alignment) {
  return in_an_execution() ? allocate_or_throw(size, alignment) : ::operator new(size, std::align_val_t{alignment});
}

void* allocate_for_quiet_new(std::size_t size) {
  return in_an_execution() ? allocate(size, 1) : ::operator new(size, std::nothrow);
}

void release_for_free(void* block) { release(block, std::free); }

void release_for_delete(void* block) {
  release(block, [](void* outside) { ::operator delete(outside); });
}

void release_for_delete(void* block, std::size_t alignment) {
  release(block, [alignment](void* outside) { ::operator delete(outside, std::align_val_t{alignment}); });
}

}  // namespace
}  // namespace ringside::explore::runtime

namespace runtime = ringside::explore::runtime;

// What instrumented code calls instead of the functions of these names: C's first, then the operators by their mangled
// names.
extern "C" {

void* ringside_explored_malloc(std::size_t size) { return runtime::allocate_or_malloc(size, 1); }

void* ringside_explored_calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  // The heap's own blocks are zero already, and whoever allocated them before has forgotten them.
  return runtime::in_an_execution() ? runtime::allocate(bytes, 1) : std::calloc(count, size);
}

void ringside_explored_free(void* block) { runtime::release_for_free(block); }

void* ringside_explored_realloc(void* block, std::size_t size) {
  if (!runtime::in_an_execution() && !runtime::heap().holds(block)) return std::realloc(block, size);
  void* const moved = runtime::allocate_or_malloc(size, 1);
  if (block == nullptr || moved == nullptr) return moved;
  if (!runtime::heap().holds(block)) {
    // From before the first execution: its size is libc's secret, and it must outlive this execution.
    if (auto* const engine = runtime::enter(__builtin_return_address(0))) {
      runtime::refuse(*engine, "realloc of memory from before the execution: allocate it in begin");
    }
    return nullptr;
  }
  const std::size_t kept = std::min(size, runtime::heap().size_of(block));
  if (auto* const engine = runtime::enter(__builtin_return_address(0))) runtime::access(*engine, block, kept, false);
  std::memcpy(moved, block, kept);
  runtime::release_for_free(block);
  return moved;
}

void* ringside_explored_reallocarray(void* block, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  return ringside_explored_realloc(block, bytes);
}

void* ringside_explored_aligned_alloc(std::size_t alignment, std::size_t size) {
  return runtime::allocate_or_malloc(size, alignment);
}

int ringside_explored_posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  *block = runtime::allocate_or_malloc(size, alignment);
  return *block == nullptr ? ENOMEM : 0;
}

char* ringside_explored_strdup(const char* text) {
  const std::size_t size = std::strlen(text) + 1;
  if (auto* const engine = runtime::enter(__builtin_return_address(0))) runtime::access(*engine, text, size, false);
  auto* const copy = static_cast<char*>(runtime::allocate_or_malloc(size, 1));
  if (copy != nullptr) std::memcpy(copy, text, size);
  return copy;
}

void* ringside_explored__Znwm(std::size_t size) { return runtime::allocate_for_new(size); }
void* ringside_explored__Znam(std::size_t size) { return runtime::allocate_for_new(size); }
void* ringside_explored__ZnwmRKSt9nothrow_t(std::size_t size, const void*) {
  return runtime::allocate_for_quiet_new(size);
}
void* ringside_explored__ZnamRKSt9nothrow_t(std::size_t size, const void*) {
  return runtime::allocate_for_quiet_new(size);
}
void* ringside_explored__ZnwmSt11align_val_t(std::size_t size, std::size_t alignment) {
  return runtime::allocate_for_new(size, alignment);
}
void* ringside_explored__ZnamSt11align_val_t(std::size_t size, std::size_t alignment) {
  return runtime::allocate_for_new(size, alignment);
}
void ringside_explored__ZdlPv(void* block) { runtime::release_for_delete(block); }
void ringside_explored__ZdaPv(void* block) { runtime::release_for_delete(block); }
void ringside_explored__ZdlPvm(void* block, std::size_t) { runtime::release_for_delete(block); }
void ringside_explored__ZdaPvm(void* block, std::size_t) { runtime::release_for_delete(block); }
void ringside_explored__ZdlPvSt11align_val_t(void* block, std::size_t alignment) {
  runtime::release_for_delete(block, alignment);
}
void ringside_explored__ZdaPvSt11align_val_t(void* block, std::size_t alignment) {
  runtime::release_for_delete(block, alignment);
}
void ringside_explored__ZdlPvmSt11align_val_t(void* block, std::size_t, std::size_t alignment) {
  runtime::release_for_delete(block, alignment);
}
void ringside_explored__ZdaPvmSt11align_val_t(void* block, std::size_t, std::size_t alignment) {
  runtime::release_for_delete(block, alignment);
}
void ringside_explored__ZdlPvRKSt9nothrow_t(void* block, const void*) { runtime::release_for_delete(block); }
void ringside_explored__ZdaPvRKSt9nothrow_t(void* block, const void*) { runtime::release_for_delete(block); }
}
