// SPDX-License-Identifier: Apache-2.0
//
// What is explored: a few threads over shared memory, and the accesses they may make of it. Every access of memory that
// threads share goes through here; what a thread keeps to itself is its own business.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "explore/event.h"
#include "explore/value_test.h"
#include "ring/defect.h"

namespace ringside::explore {

using ring::DefectKind;

/// The same memory at a second address, as the data of a ring that is mapped twice in a row.
struct Alias {
  const void* begin = nullptr;
  std::size_t size_bytes = 0;
  const void* same_as = nullptr;
};

/// Memory by the name that reports give it; of two that hold an address the smaller one counts.
struct Name {
  const void* begin = nullptr;
  std::size_t size_bytes = 0;
  std::string name = {};
};

/// A ring whose consumer hands space back by storing its position, and whose producer claims space by storing its own:
/// consumer_pos and producer_pos of a BPF ring, data_tail and data_head of a perf ring. Positions count up and wrap in
/// the ring by its size. Of its data, threads that are not the kernel's may access only what docs/explored.md says.
/// Rings that overwrite what nobody consumed are none of these.
struct Ring {
  std::string name = {};           ///< for reports
  const void* consumed = nullptr;  ///< a u64
  const void* produced = nullptr;  ///< a u64
  const void* data = nullptr;
  std::uint64_t size_bytes = 0;  ///< of the data: a power of two
};

/// Must do the same again whenever its loads return the same: no clock, no chance, no address that changes.
struct Program {
  /// Puts the memory into its first state; before each execution.
  std::function<void()> begin;
  /// 1 to 8 threads.
  std::vector<std::function<void()>> threads;
  /// What holds at the end of an execution that no thread is stuck in; it may fail() and use plain C++ alone.
  std::function<void()> end;
  /// Whether a committed record lies where its consumer should have been awake for it; plain C++ alone. Asked where
  /// threads wait and nothing will wake them any more.
  std::function<bool()> unread = {};
  /// Those of `threads` that are the kernel's, by their numbers.
  std::vector<std::size_t> kernel_threads = {};
  std::vector<Alias> aliases = {};
  std::vector<Ring> rings = {};
  /// For reports; threads and memory without a name have a number there, static variables their own name.
  std::vector<Name> names = {};
  std::vector<std::string> thread_names = {};
  /// The functions that a thread is in, by their return addresses, outermost first; asked while it does a step.
  std::function<std::vector<const void*>(std::size_t)> callers = {};
};

// Within a thread of a program that is being explored. An `access` of `size` bytes (1, 2, 4, 8) at an address that is a
// multiple of it.

/// In begin and end: what the memory holds.
std::uint64_t atomic_load(const void* address, std::size_t size, Order order);
void atomic_store(void* address, std::size_t size, std::uint64_t value, Order order);
/// Stores what `change` makes of the value; returns that value. In begin and end plainly.
std::uint64_t atomic_update(void* address, std::size_t size, Order order,
                            const std::function<std::uint64_t(std::uint64_t)>& change);
/// Stores `wanted` if the value is `expected`; returns the value.
std::uint64_t atomic_compare_exchange(void* address, std::size_t size, std::uint64_t expected, std::uint64_t wanted,
                                      Order success, Order failure);
void atomic_fence(Order order);
/// A load that only ends with a value that `enough` accepts: a loop around a load, of which the last round counts. A
/// thread for which no such value ever comes is stuck.
std::uint64_t await(const void* address, std::size_t size, Order order,
                    const std::function<bool(std::uint64_t)>& enough);
/// Calls `poll` until it returns true. When it returns false it must have changed nothing; what it returns hangs on
/// `state`, a hash, and on what it reads, atomically and plainly. A call in vain is as if it had not been made: the
/// thread waits until a load of it would read something else. (retry() of explored.h finds the state by itself.)
void look(std::uint64_t state, const std::function<bool()>& poll);
/// Whether the test holds of the value, by a load of now.
bool atomic_test(const void* address, std::size_t size, Order order, const ValueTest& test);

/// A load whose value is not looked at before a test of it, which stands further on and knows more by then.
class DeferredLoad {
 public:
  DeferredLoad() = default;
  /// Is made here, as far as the memory model can tell. Until the test, the thread must not release anything, access
  /// the address, or rely for a plain access on what the load acquires.
  DeferredLoad(const void* address, std::size_t size, Order order);

  /// Once.
  bool test(const ValueTest& test) const;

 private:
  const void* address_ = nullptr;
  std::size_t size_ = 0;
  Order order_ = Order::relaxed;
  bool deferred_ = false;
  View view_;
  std::uint64_t value_ = 0;  ///< where it could not be deferred
};

/// Any number from 0 to `count` - 1: the search takes each of them. Whether a timeout passes, whether a lock fails.
/// `count` is 1 or more.
std::uint64_t choose(std::uint64_t count);
/// Takes a lock word: waits until it is 0 and makes it 1, in one step. Acquire.
void lock(std::uint32_t* word);
/// Gives it back. Release.
void unlock(std::uint32_t* word);
/// Creates a thread, which begins with what its creator knows; its number. At most 8 threads in all.
std::size_t spawn(std::function<void()> body);
/// Waits for its end, and knows then what it knew. Only of a number that spawn returned.
void join(std::size_t thread);
/// Plain accesses: a race if another thread accesses the same bytes, one of the two writes, and nothing orders them.
void plain_read(const void* address, std::size_t size);
void plain_write(void* address, std::size_t size);
/// Ends the exploration: what the program tries has this defect.
[[noreturn]] void fail(DefectKind defect, std::string_view what);
/// The same for what has no name among the defects: a fault of the program itself.
[[noreturn]] void fail(std::string_view what);

/// A variable of at most 8 bytes. Its accesses stand, for reports, where they are called.
template <class T>
class Atomic {
  static_assert(std::is_integral_v<T>);

 public:
  Atomic() = default;
  explicit Atomic(T value) : value_(value) {}

  /// For begin and end.
  T plain() const { return value_; }
  void set(T value) { value_ = value; }

  [[gnu::always_inline]] T load(Order order = Order::seq_cst) const {
    return static_cast<T>(atomic_load(&value_, sizeof(T), order));
  }
  [[gnu::always_inline]] void store(T value, Order order = Order::seq_cst) {
    atomic_store(&value_, sizeof(T), static_cast<std::uint64_t>(value), order);
  }
  [[gnu::always_inline]] T exchange(T value, Order order = Order::seq_cst) {
    return static_cast<T>(
        atomic_update(&value_, sizeof(T), order, [value](std::uint64_t) { return static_cast<std::uint64_t>(value); }));
  }
  [[gnu::always_inline]] T fetch_add(T more, Order order = Order::seq_cst) {
    return static_cast<T>(atomic_update(&value_, sizeof(T), order, [more](std::uint64_t value) {
      return static_cast<std::uint64_t>(static_cast<T>(static_cast<T>(value) + more));
    }));
  }
  [[gnu::always_inline]] bool compare_exchange(T expected, T wanted, Order success = Order::seq_cst,
                                               Order failure = Order::relaxed) {
    const auto seen = atomic_compare_exchange(&value_, sizeof(T), static_cast<std::uint64_t>(expected),
                                              static_cast<std::uint64_t>(wanted), success, failure);
    return static_cast<T>(seen) == expected;
  }
  [[gnu::always_inline]] T await_equal(T value, Order order = Order::acquire) const {
    return static_cast<T>(
        await(&value_, sizeof(T), order, [value](std::uint64_t seen) { return static_cast<T>(seen) == value; }));
  }

 private:
  T value_{};
};

}  // namespace ringside::explore
