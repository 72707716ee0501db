// SPDX-License-Identifier: Apache-2.0
#include "explore/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "ring/sanitizers.h"

#if RINGSIDE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif RINGSIDE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

// switch_stacks(save, load): pushes what a call must keep, stores the stack pointer at *save, takes `load` as the stack
// pointer and pops there. A jump at the end instead of a return: the processor's return stack belongs to the other
// fiber.
extern "C" void ringside_switch_stacks(void** save, void* load);

#if defined(__x86_64__)
asm(R"(
.text
.globl ringside_switch_stacks
.hidden ringside_switch_stacks
.type ringside_switch_stacks, @function
ringside_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size ringside_switch_stacks, . - ringside_switch_stacks
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl ringside_switch_stacks
.hidden ringside_switch_stacks
.type ringside_switch_stacks, %function
ringside_switch_stacks:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  br x30
.size ringside_switch_stacks, . - ringside_switch_stacks
)");
#else
#error "explore/fiber.cc knows how to switch stacks on x86-64 and aarch64 only"
#endif

namespace ringside::explore {
namespace {

/// The fibers of the last switch: who is entered asks for both.
thread_local Fiber* entered = nullptr;
thread_local Fiber* left = nullptr;

#if defined(__x86_64__)
constexpr std::size_t saved_words = 6;  // the six registers; then the address to go on at
constexpr std::size_t frame_words = saved_words + 2;
constexpr std::size_t entry_word = saved_words;
#else
constexpr std::size_t frame_words = 20;
constexpr std::size_t entry_word = 11;  // x30
#endif

/// Several pages: a function with large locals would step over one.
std::size_t guard_bytes() { return 16 * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

Fiber::Fiber() {
#if RINGSIDE_THREAD_SANITIZER
  sanitizer_fiber_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(std::size_t stack_bytes) {
  const std::size_t guard = guard_bytes();
  mapping_bytes_ = (stack_bytes + guard - 1) / guard * guard + guard;
  void* const mapping =
      ::mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<char*>(mapping);
  if (::mprotect(mapping_, guard, PROT_NONE) != 0) {
    ::munmap(mapping_, mapping_bytes_);
    throw std::bad_alloc();
  }
}

Fiber::~Fiber() {
#if RINGSIDE_THREAD_SANITIZER
  if (mapping_ != nullptr && sanitizer_fiber_ != nullptr) __tsan_destroy_fiber(sanitizer_fiber_);
#endif
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

bool Fiber::guards(const void* address) const {
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(mapping_);
  return mapping_ != nullptr && offset < guard_bytes();
}

void Fiber::start(std::function<void()> body) {
  assert(mapping_ != nullptr);
  body_ = std::move(body);
#if RINGSIDE_ADDRESS_SANITIZER
  // Frames that were left unfinished marked their surroundings.
  __asan_unpoison_memory_region(mapping_, mapping_bytes_);
#endif
#if RINGSIDE_THREAD_SANITIZER
  if (sanitizer_fiber_ != nullptr) __tsan_destroy_fiber(sanitizer_fiber_);
  sanitizer_fiber_ = __tsan_create_fiber(0);
#endif
  // As if enter() had just been called: aligned to 16 bytes, less the return address, which is null.
  auto* const frame = reinterpret_cast<std::uintptr_t*>(mapping_ + mapping_bytes_) - frame_words;
  for (std::size_t word = 0; word < frame_words; ++word) frame[word] = 0;
  frame[entry_word] = reinterpret_cast<std::uintptr_t>(&Fiber::enter);
  stack_pointer_ = frame;
}

void Fiber::switch_from(Fiber& from) {
  entered = this;
  left = &from;
#if RINGSIDE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&from.fake_stack_, mapping_ != nullptr ? mapping_ : own_stack_,
                                 mapping_ != nullptr ? mapping_bytes_ : own_stack_bytes_);
#elif RINGSIDE_THREAD_SANITIZER
  __tsan_switch_to_fiber(sanitizer_fiber_, 0);
#endif
  ringside_switch_stacks(&from.stack_pointer_, stack_pointer_);
#if RINGSIDE_ADDRESS_SANITIZER
  tell_sanitizer(from.fake_stack_);
#endif
}

#if RINGSIDE_ADDRESS_SANITIZER
void Fiber::tell_sanitizer(void* fake) {
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(fake, &bottom, &size);
  if (left->mapping_ == nullptr) {
    left->own_stack_ = bottom;
    left->own_stack_bytes_ = size;
  }
}
#endif

void Fiber::enter() {
#if RINGSIDE_ADDRESS_SANITIZER
  // What it keeps of a stack's frames is taken over by the next body: there is no other way to give it back.
  tell_sanitizer(entered->fake_stack_);
#endif
  entered->body_();
  std::abort();  // the body must end by switching away
}

}  // namespace ringside::explore
