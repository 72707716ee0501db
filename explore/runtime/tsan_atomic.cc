// SPDX-License-Identifier: Apache-2.0
//
// ThreadSanitizer's interface: atomic accesses. Each is the access itself. A weak compare-exchange never fails without
// a reason here.
#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "explore/runtime/world.h"

namespace ringside::explore::runtime {
namespace {

/// As the compilers number memory orders: relaxed, consume, acquire, release, acq_rel, seq_cst. Higher bits are hints.
Order order_of(int number) {
  switch (number & 0xff) {
    case 0:
      return Order::relaxed;
    case 1:
    case 2:
      return Order::acquire;
    case 3:
      return Order::release;
    case 4:
      return Order::acq_rel;
    default:
      return Order::seq_cst;
  }
}

template <class T>
using Bits = std::make_unsigned_t<T>;

std::uintptr_t number(const volatile void* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// The engine, if this access is a step.
template <class T>
Engine* enter_atomic(const volatile T* address, const void* site) {
  Engine* const engine = enter(site);
  if (engine == nullptr) return nullptr;
  if (number(address) % sizeof(T) != 0) {
    refuse(*engine, fmt::format("an atomic access of {} bytes at an address that is no multiple of it", sizeof(T)));
  }
  begin_atomic(*engine, reinterpret_cast<const void*>(number(address)), sizeof(T));
  return engine;
}

template <class T>
void leave(Engine& engine, const volatile T* address) {
  end_atomic(engine, reinterpret_cast<const void*>(number(address)), sizeof(T));
}

template <class T>
T load(const volatile T* address, int order, const void* state) {
  Engine* const engine = enter_atomic(address, site_of(state));
  if (engine == nullptr) return __atomic_load_n(address, __ATOMIC_SEQ_CST);
  const Event asked = event_of(EventKind::load, order_of(order));
  const auto value = static_cast<T>(engine->load(number(address), sizeof(T), asked, nullptr).value);
  leave(*engine, address);
  note_load(*engine, reinterpret_cast<const void*>(number(address)), static_cast<Bits<T>>(value), state);
  return value;
}

template <class T>
void store(volatile T* address, T value, int order, const void* site) {
  Engine* const engine = enter_atomic(address, site);
  if (engine == nullptr) return __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
  note_effect(*engine);
  engine->store(number(address), sizeof(T), static_cast<Bits<T>>(value), EventKind::store, order_of(order));
  leave(*engine, address);
}

/// Stores what `change` makes of the value; returns the value from before.
template <class T, class Change>
T update(volatile T* address, int order, const void* site, Change change) {
  Engine* const engine = enter_atomic(address, site);
  if (engine == nullptr) {
    T value = __atomic_load_n(address, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(address, &value, change(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return value;
  }
  const Event asked = event_of(EventKind::exclusive_load, order_of(order));
  const auto value = static_cast<T>(engine->load(number(address), sizeof(T), asked, nullptr).value);
  note_effect(*engine);
  engine->store(number(address), sizeof(T), static_cast<Bits<T>>(change(value)), EventKind::exclusive_store,
                order_of(order));
  leave(*engine, address);
  return value;
}

/// Returns the value; stores `wanted` if it is `expected`.
template <class T>
T compare_exchange(volatile T* address, T expected, T wanted, int success, int failure, const void* state) {
  Engine* const engine = enter_atomic(address, site_of(state));
  if (engine == nullptr) {
    __atomic_compare_exchange_n(address, &expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
  }
  Event asked = event_of(EventKind::exclusive_load, order_of(success));
  asked.compares = true;
  asked.if_equal = order_of(success);
  asked.if_unequal = order_of(failure);
  asked.expected = static_cast<Bits<T>>(expected);
  const auto value = static_cast<T>(engine->load(number(address), sizeof(T), asked, nullptr).value);
  if (value == expected) {
    note_effect(*engine);
    engine->store(number(address), sizeof(T), static_cast<Bits<T>>(wanted), EventKind::exclusive_store,
                  order_of(success));
  }
  leave(*engine, address);
  if (value != expected) {
    note_load(*engine, reinterpret_cast<const void*>(number(address)), static_cast<Bits<T>>(value), state);
  }
  return value;
}

template <class T>
int compare_exchange_into(volatile T* address, T* expected, T wanted, int success, int failure, const void* state) {
  const T asked = *expected;
  // The caller's memory is part of the state that a repetition must have in common.
  const T value = compare_exchange(address, asked, wanted, success, failure, state);
  *expected = value;
  return value == asked ? 1 : 0;
}

void fence(int order, const void* site) {
  if (Engine* const engine = enter(site)) {
    if (order_of(order) != Order::relaxed) engine->at(site).fence(order_of(order));
  } else {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }
}

/// The search knows words of at most eight bytes.
void refuse_wide() {
  if (Engine* const engine = enter()) {
    refuse(*engine,
           "an atomic access of 16 bytes, which the search does not know; explore with one of 8 or with a lock");
  }
}

}  // namespace
}  // namespace ringside::explore::runtime

namespace runtime = ringside::explore::runtime;

extern "C" {

void __tsan_atomic_thread_fence(int order) { runtime::fence(order, __builtin_return_address(0)); }
void __tsan_atomic_signal_fence(int) {}

// The interface has a function for each size; macros, since names cannot be made by templates.
#define RINGSIDE_UPDATE(bits, name, result)                                                                         \
  std::int##bits##_t __tsan_atomic##bits##_##name(volatile std::int##bits##_t* address, std::int##bits##_t operand, \
                                                  int order) {                                                      \
    using T = std::int##bits##_t;                                                                                   \
    using U = std::uint##bits##_t;                                                                                  \
    return runtime::update(address, order, __builtin_return_address(0), [operand]([[maybe_unused]] T seen) {        \
      [[maybe_unused]] const auto value = static_cast<U>(seen);                                                     \
      [[maybe_unused]] const auto more = static_cast<U>(operand);                                                   \
      return static_cast<T>(static_cast<U>(result));                                                                \
    });                                                                                                             \
  }

#define RINGSIDE_ATOMIC(bits)                                                                                    \
  std::int##bits##_t ringside_tsan_atomic##bits##_load(const volatile std::int##bits##_t* address, int order,    \
                                                       const void* state) {                                      \
    return runtime::load(address, order, state);                                                                 \
  }                                                                                                              \
  void __tsan_atomic##bits##_store(volatile std::int##bits##_t* address, std::int##bits##_t value, int order) {  \
    runtime::store(address, value, order, __builtin_return_address(0));                                          \
  }                                                                                                              \
  RINGSIDE_UPDATE(bits, exchange, more)                                                                          \
  RINGSIDE_UPDATE(bits, fetch_add, value + more)                                                                 \
  RINGSIDE_UPDATE(bits, fetch_sub, value - more)                                                                 \
  RINGSIDE_UPDATE(bits, fetch_and, value& more)                                                                  \
  RINGSIDE_UPDATE(bits, fetch_or, value | more)                                                                  \
  RINGSIDE_UPDATE(bits, fetch_xor, value ^ more)                                                                 \
  RINGSIDE_UPDATE(bits, fetch_nand, ~(value & more))                                                             \
  int ringside_tsan_atomic##bits##_compare_exchange(volatile std::int##bits##_t* address,                        \
                                                    std::int##bits##_t* expected, std::int##bits##_t wanted,     \
                                                    int success, int failure, const void* state) {               \
    return runtime::compare_exchange_into(address, expected, wanted, success, failure, state);                   \
  }                                                                                                              \
  std::int##bits##_t ringside_tsan_atomic##bits##_compare_exchange_val(                                          \
      volatile std::int##bits##_t* address, std::int##bits##_t expected, std::int##bits##_t wanted, int success, \
      int failure, const void* state) {                                                                          \
    return runtime::compare_exchange(address, expected, wanted, success, failure, state);                        \
  }

RINGSIDE_ATOMIC(8)
RINGSIDE_ATOMIC(16)
RINGSIDE_ATOMIC(32)
RINGSIDE_ATOMIC(64)
#undef RINGSIDE_ATOMIC
#undef RINGSIDE_UPDATE

__int128 __tsan_atomic128_load(const volatile __int128* address, int) {
  runtime::refuse_wide();
  return *address;
}
void __tsan_atomic128_store(volatile __int128* address, __int128 value, int) {
  runtime::refuse_wide();
  *address = value;
}
__int128 __tsan_atomic128_exchange(volatile __int128* address, __int128 value, int) {
  runtime::refuse_wide();
  const __int128 before = *address;
  *address = value;
  return before;
}
int __tsan_atomic128_compare_exchange_strong(volatile __int128* address, __int128* expected, __int128 wanted, int,
                                             int) {
  runtime::refuse_wide();
  const __int128 value = *address;
  const bool equal = value == *expected;
  if (equal) *address = wanted;
  *expected = value;
  return equal ? 1 : 0;
}
int __tsan_atomic128_compare_exchange_weak(volatile __int128* address, __int128* expected, __int128 wanted, int success,
                                           int failure) {
  return __tsan_atomic128_compare_exchange_strong(address, expected, wanted, success, failure);
}
__int128 __tsan_atomic128_compare_exchange_val(volatile __int128* address, __int128 expected, __int128 wanted, int,
                                               int) {
  runtime::refuse_wide();
  const __int128 value = *address;
  if (value == expected) *address = wanted;
  return value;
}
}
