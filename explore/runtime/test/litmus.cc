// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/test/litmus.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

int litmus_seen[4];
int litmus_failed;

struct Payload {
  std::int32_t a = 0;
  std::int32_t b = 0;
  std::int32_t c = 0;
};
Payload payload;  // not static: a compiler that sees all that is stored may make one bit of it

namespace {

std::atomic<int> x;
std::atomic<int> y;
std::atomic<int> flag;

std::atomic<std::uint8_t> sum_8;
std::atomic<std::uint16_t> sum_16;
std::atomic<std::uint32_t> sum_32;
std::atomic<std::uint64_t> sum_64;
std::atomic<int> ticket;

void demand(bool holds) {
  if (!holds) litmus_failed = 1;
}

/// Runs before main, through the same entry points.
struct Initialiser {
  Initialiser() {
    std::atomic<int> local{1};
    local.fetch_add(2);
    std::vector<std::string> words{"instrumented", "but outside of any execution"};
    ran = local.load() == 3 && words.size() == 2;
  }
  bool ran = false;
} initialiser;

template <class T>
void update_all() {
  std::atomic<T> value{T{6}};
  demand(value.exchange(5) == 6);
  demand(value.fetch_add(4) == 5);
  demand(value.fetch_sub(10) == 9);
  demand(value.load() == static_cast<T>(-1));
  demand(value.fetch_and(T{12}) == static_cast<T>(-1));
  demand(value.fetch_or(T{3}) == 12);
  demand(value.fetch_xor(T{5}) == 15);
  T expected = 11;
  demand(!value.compare_exchange_strong(expected, T{1}));
  demand(expected == 10);
  demand(value.compare_exchange_strong(expected, T{1}));
  T plain = 7;
  demand(__atomic_fetch_nand(&plain, T{3}, __ATOMIC_RELAXED) == 7);
  demand(plain == static_cast<T>(~3));
  demand(__sync_val_compare_and_swap(&plain, static_cast<T>(~3), T{2}) == static_cast<T>(~3));
  demand(plain == 2);
}

template <class Sum>
void add(Sum& sum) {
  sum.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void litmus_begin() { ticket.store(1); }

int cpp_static_initialiser_ran() { return initialiser.ran ? 1 : 0; }

void cpp_sb_left() {
  x.store(1, std::memory_order_release);
  litmus_seen[0] = y.load(std::memory_order_acquire);
}
void cpp_sb_right() {
  y.store(1, std::memory_order_release);
  litmus_seen[1] = x.load(std::memory_order_acquire);
}
void cpp_sb_seq_cst_left() {
  x = 1;
  litmus_seen[0] = y;
}
void cpp_sb_seq_cst_right() {
  y = 1;
  litmus_seen[1] = x;
}
void cpp_sb_fences_left() {
  x.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  litmus_seen[0] = y.load(std::memory_order_relaxed);
}
void cpp_sb_fences_right() {
  y.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  litmus_seen[1] = x.load(std::memory_order_relaxed);
}

void cpp_mp_send() {
  payload = {1, 2, 3};
  flag.store(1, std::memory_order_release);
}
void cpp_mp_receive() {
  if (flag.load(std::memory_order_acquire) != 0) demand(payload.a + payload.b + payload.c == 6);
}
void cpp_mp_receive_relaxed() {
  if (flag.load(std::memory_order_relaxed) != 0) demand(payload.c == 3);
}

void cpp_updates() {
  update_all<std::uint8_t>();
  update_all<std::uint16_t>();
  update_all<std::uint32_t>();
  update_all<std::uint64_t>();
}

void cpp_add_8() { add(sum_8); }
void cpp_add_16() { add(sum_16); }
void cpp_add_32() { add(sum_32); }
void cpp_add_64() { add(sum_64); }
int cpp_sums() { return static_cast<int>(sum_8 + sum_16 + sum_32 + sum_64); }

void cpp_take_strong() {
  int one = 1;
  const bool taken = ticket.compare_exchange_strong(one, 0, std::memory_order_acq_rel);
  demand(taken == (one == 1));
}
void cpp_take_weak() {
  int expected = ticket.load(std::memory_order_relaxed);
  while (!ticket.compare_exchange_weak(expected, expected + 2, std::memory_order_relaxed)) {
  }
}

Payload structs[2];
void cpp_copy_struct() { structs[1] = structs[0]; }
void cpp_write_member() { structs[0].c = 1; }

void cpp_wide() {
  static __int128 wide;
  __int128 none = 0;
  __atomic_compare_exchange_n(&wide, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
}
