// SPDX-License-Identifier: Apache-2.0
//
// ThreadSanitizer's interface, as GCC and clang call it: plain and volatile accesses, ranges, functions. Each is called
// right before the access itself, which the compiled code makes.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "explore/runtime/access_modes.h"
#include "explore/runtime/world.h"

namespace ringside::explore::runtime {
namespace {

void plain(const void* address, std::size_t size, bool write, const void* site) {
  if (Engine* const engine = enter(site)) access(*engine, address, size, write);
}

/// The search says what the load yields; the compiled code finds it in the memory, until the next entry point.
void volatile_read(Engine& engine, const void* address, std::size_t size, const void* state) {
  const Order order = volatile_mode() == VolatileMode::relaxed ? Order::relaxed : Order::acquire;
  const std::uintptr_t place = engine.canonical(reinterpret_cast<std::uintptr_t>(address));
  const std::uint64_t value = engine.load(place, size, event_of(EventKind::load, order), nullptr).value;
  note_load(engine, address, value, state);
  const std::uint64_t before = bytes_at(place, size);
  if (value == before) return;
  std::memcpy(reinterpret_cast<void*>(place), &value, size);
  world.pending = {.address = place, .size_bytes = size, .write = false, .site = world.site, .before = before};
}

void volatile_write(Engine& engine, const void* address, std::size_t size) {
  const std::uintptr_t place = engine.canonical(reinterpret_cast<std::uintptr_t>(address));
  world.pending = {
      .address = place, .size_bytes = size, .write = true, .site = world.site, .before = bytes_at(place, size)};
}

/// What does not fit into one atomic access is no more than a plain one.
bool is_one_access(const void* address, std::size_t size) {
  return size <= 8 && reinterpret_cast<std::uintptr_t>(address) % size == 0;
}

/// The engine, if the access is a step of its own; as a plain one it is done with.
Engine* enter_volatile(const void* address, std::size_t size, bool write, const void* site) {
  Engine* const engine = enter(site);
  if (engine == nullptr) return nullptr;
  const bool own = engine->on_running_stack(address) && !world.stacks_shared;
  if (own || volatile_mode() == VolatileMode::plain || !is_one_access(address, size)) {
    access(*engine, address, size, write);
    return nullptr;
  }
  begin_atomic(*engine, address, size);
  return engine;
}

void copy(void* to, const void* from, std::size_t size, const void* site) {
  if (Engine* const engine = enter(site); engine != nullptr && size != 0) {
    access(*engine, from, size, false);
    access(*engine, to, size, true);
  }
  std::memmove(to, from, size);
}

void fill(void* to, int byte, std::size_t size, const void* site) {
  if (Engine* const engine = enter(site); engine != nullptr && size != 0) access(*engine, to, size, true);
  std::memset(to, byte, size);
}

}  // namespace
}  // namespace ringside::explore::runtime

namespace runtime = ringside::explore::runtime;

extern "C" {

void __tsan_init() {}

void __tsan_func_entry(void* caller) {
  if (auto* const engine = runtime::enter(__builtin_return_address(0)))
    runtime::begin_function(*engine, caller, __builtin_frame_address(0));
}

void __tsan_func_exit() {
  if (auto* const engine = runtime::enter(__builtin_return_address(0))) runtime::end_function(*engine);
}

// The interface has a function for each size; a macro, since names cannot be made by templates.
#define RINGSIDE_SIZED(size)                                                                                        \
  void __tsan_read##size(void* address) { runtime::plain(address, size, false, __builtin_return_address(0)); }      \
  void __tsan_write##size(void* address) { runtime::plain(address, size, true, __builtin_return_address(0)); }      \
  void __tsan_unaligned_read##size(void* address) {                                                                 \
    runtime::plain(address, size, false, __builtin_return_address(0));                                              \
  }                                                                                                                 \
  void __tsan_unaligned_write##size(void* address) {                                                                \
    runtime::plain(address, size, true, __builtin_return_address(0));                                               \
  }                                                                                                                 \
  void __tsan_read_write##size(void* address) { runtime::plain(address, size, true, __builtin_return_address(0)); } \
  void __tsan_unaligned_read_write##size(void* address) {                                                           \
    runtime::plain(address, size, true, __builtin_return_address(0));                                               \
  }                                                                                                                 \
  void ringside_tsan_volatile_read##size(void* address, const void* state) {                                        \
    if (auto* const engine = runtime::enter_volatile(address, size, false, runtime::site_of(state)))                \
      runtime::volatile_read(*engine, address, size, state);                                                        \
  }                                                                                                                 \
  void __tsan_volatile_write##size(void* address) {                                                                 \
    if (auto* const engine = runtime::enter_volatile(address, size, true, __builtin_return_address(0)))             \
      runtime::volatile_write(*engine, address, size);                                                              \
  }                                                                                                                 \
  void __tsan_unaligned_volatile_read##size(void* address) {                                                        \
    runtime::plain(address, size, false, __builtin_return_address(0));                                              \
  }                                                                                                                 \
  void __tsan_unaligned_volatile_write##size(void* address) {                                                       \
    runtime::plain(address, size, true, __builtin_return_address(0));                                               \
  }

RINGSIDE_SIZED(1)
RINGSIDE_SIZED(2)
RINGSIDE_SIZED(4)
RINGSIDE_SIZED(8)
RINGSIDE_SIZED(16)
#undef RINGSIDE_SIZED

void __tsan_read_range(void* address, std::size_t size) {
  if (size != 0) runtime::plain(address, size, false, __builtin_return_address(0));
}
void __tsan_write_range(void* address, std::size_t size) {
  if (size != 0) runtime::plain(address, size, true, __builtin_return_address(0));
}

void __tsan_vptr_read(void** address) { runtime::plain(address, sizeof(void*), false, __builtin_return_address(0)); }
void __tsan_vptr_update(void** address, void* value) {
  // Constructors and destructors store what is there already; others may read it meanwhile.
  if (*address != value) runtime::plain(address, sizeof(void*), true, __builtin_return_address(0));
}

void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
  runtime::copy(to, from, size, __builtin_return_address(0));
  return to;
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
  runtime::copy(to, from, size, __builtin_return_address(0));
  return to;
}
void* __tsan_memset(void* to, int byte, std::size_t size) {
  runtime::fill(to, byte, size, __builtin_return_address(0));
  return to;
}

void* ringside_explored_memcpy(void* to, const void* from, std::size_t size) {
  runtime::copy(to, from, size, __builtin_return_address(0));
  return to;
}
void* ringside_explored_memmove(void* to, const void* from, std::size_t size) {
  runtime::copy(to, from, size, __builtin_return_address(0));
  return to;
}
void* ringside_explored_memset(void* to, int byte, std::size_t size) {
  runtime::fill(to, byte, size, __builtin_return_address(0));
  return to;
}

// Of libc's functions that read or write memory for the program, those that consumers of rings are met with.
int ringside_explored_memcmp(const void* a, const void* b, std::size_t size) {
  if (size != 0) {
    runtime::plain(a, size, false, __builtin_return_address(0));
    runtime::plain(b, size, false, __builtin_return_address(0));
  }
  return std::memcmp(a, b, size);
}
std::size_t ringside_explored_strlen(const char* text) {
  const std::size_t length = std::strlen(text);
  runtime::plain(text, length + 1, false, __builtin_return_address(0));
  return length;
}
int ringside_explored_strcmp(const char* a, const char* b) {
  runtime::plain(a, std::strlen(a) + 1, false, __builtin_return_address(0));
  runtime::plain(b, std::strlen(b) + 1, false, __builtin_return_address(0));
  return std::strcmp(a, b);
}
}
