// SPDX-License-Identifier: Apache-2.0
//
// Threads of an explored program run as fibers of one thread: the search decides at every step who goes on, and a
// switch costs a few nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ringside::explore {

/// A stack and where to go on with it. A fiber may be left unfinished and started anew: what its frames held is then
/// forgotten, not destroyed. Belongs to one thread.
class Fiber {
 public:
  /// The thread's own stack.
  Fiber();
  /// A stack of that many bytes (rounded up to 16 pages) with as many below it that fault. Throws std::bad_alloc.
  explicit Fiber(std::size_t stack_bytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next switch to this fiber calls `body`, which must not return and must not throw out of itself.
  void start(std::function<void()> body);

  /// Leaves `from`, which is the running fiber, and goes on here.
  void switch_from(Fiber& from);

  /// Whether the address lies in the pages below the stack: what an overflow hits first.
  bool guards(const void* address) const;
  /// One past the last byte of the stack.
  const char* stack_end() const { return mapping_ + mapping_bytes_; }
  /// Whether it lies on the stack itself.
  bool holds(const void* address) const {
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(mapping_);
    return mapping_ != nullptr && offset < mapping_bytes_;
  }

 private:
  static void enter();
  static void tell_sanitizer(void* fake);

  void* stack_pointer_ = nullptr;
  char* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::function<void()> body_;
  // What sanitizers want to know; unused without them.
  [[maybe_unused]] void* sanitizer_fiber_ = nullptr;  ///< ThreadSanitizer's notion of this fiber
  [[maybe_unused]] void* fake_stack_ = nullptr;       ///< AddressSanitizer's, where frames lie after their return
  [[maybe_unused]] const void* own_stack_ = nullptr;  ///< AddressSanitizer's of the thread's own stack
  [[maybe_unused]] std::size_t own_stack_bytes_ = 0;
};

}  // namespace ringside::explore
