// SPDX-License-Identifier: Apache-2.0
//
// Threads that spin. A loop around a load would have executions without an end; but a thread whose registers, stack and
// what it read are what they were at an earlier load, and which has changed nothing since that others may see, does
// only the same again until that load reads something else. Such a thread goes to sleep: no execution is lost. A call
// of the kernel that puts back what it took, as epoll_wait does with what stays ready, is no change.
//
// To see the caller's registers as they were, the entry points of loads are a few instructions of assembly: they lay
// the registers that a function must keep below the caller's frame and pass on where.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "explore/explored.h"
#include "explore/runtime/heap.h"
#include "explore/runtime/statics.h"
#include "explore/runtime/world.h"

#if defined(__x86_64__)
// `argument`: the register of the first argument that the entry point itself does not have.
asm(R"(
.text
.macro ringside_entry name, target, argument
.globl \name
.type \name, @function
\name:
  .cfi_startproc
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  .cfi_adjust_cfa_offset 48
  movq %rsp, \argument
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call \target
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  .cfi_adjust_cfa_offset -48
  ret
  .cfi_endproc
.size \name, . - \name
.endm
.macro ringside_entries bits, bytes
  ringside_entry __tsan_atomic\bits\()_load, ringside_tsan_atomic\bits\()_load, %rdx
  ringside_entry __tsan_atomic\bits\()_compare_exchange_strong, ringside_tsan_atomic\bits\()_compare_exchange, %r9
  ringside_entry __tsan_atomic\bits\()_compare_exchange_weak, ringside_tsan_atomic\bits\()_compare_exchange, %r9
  ringside_entry __tsan_atomic\bits\()_compare_exchange_val, ringside_tsan_atomic\bits\()_compare_exchange_val, %r9
  ringside_entry __tsan_volatile_read\bytes, ringside_tsan_volatile_read\bytes, %rsi
.endm
ringside_entries 8, 1
ringside_entries 16, 2
ringside_entries 32, 4
ringside_entries 64, 8
ringside_entry __tsan_volatile_read16, ringside_tsan_volatile_read16, %rsi
)");
#elif defined(__aarch64__)
asm(R"(
.text
.macro ringside_entry name, target, argument
.globl \name
.type \name, %function
\name:
  .cfi_startproc
  stp x29, x30, [sp, #-160]!
  .cfi_def_cfa_offset 160
  .cfi_offset x29, -160
  .cfi_offset x30, -152
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov \argument, sp
  bl \target
  ldp x29, x30, [sp], #160
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
.size \name, . - \name
.endm
.macro ringside_entries bits, bytes
  ringside_entry __tsan_atomic\bits\()_load, ringside_tsan_atomic\bits\()_load, x2
  ringside_entry __tsan_atomic\bits\()_compare_exchange_strong, ringside_tsan_atomic\bits\()_compare_exchange, x5
  ringside_entry __tsan_atomic\bits\()_compare_exchange_weak, ringside_tsan_atomic\bits\()_compare_exchange, x5
  ringside_entry __tsan_atomic\bits\()_compare_exchange_val, ringside_tsan_atomic\bits\()_compare_exchange_val, x5
  ringside_entry __tsan_volatile_read\bytes, ringside_tsan_volatile_read\bytes, x1
.endm
ringside_entries 8, 1
ringside_entries 16, 2
ringside_entries 32, 4
ringside_entries 64, 8
ringside_entry __tsan_volatile_read16, ringside_tsan_volatile_read16, x1
)");
#else
#error "explore/runtime/spin.cc knows the registers of x86-64 and aarch64 only"
#endif

namespace ringside::explore::runtime {
namespace {

/// Both halves of a product: each bit of both factors moves many of it.
std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Of the words from `begin` to `end`, which may belong to any variable. In two chains, which a processor follows at
/// once.
__attribute__((no_sanitize("address"))) std::uint64_t hash_of(const void* begin, const void* end, std::uint64_t seed) {
  constexpr std::uint64_t first = 0x9e3779b97f4a7c15;
  constexpr std::uint64_t second = 0xd6e8feb86659fd93;
  const auto* word = static_cast<const std::uint64_t*>(begin);
  const auto* const last = static_cast<const std::uint64_t*>(end);
  std::uint64_t one = seed ^ first;
  std::uint64_t other = seed ^ second;
  for (; last - word >= 4; word += 4) {
    one = folded(one ^ word[0], word[1] ^ first);
    other = folded(other ^ word[2], word[3] ^ second);
  }
  for (; word < last; ++word) one = folded(one ^ *word, first);
  return folded(one ^ static_cast<std::uint64_t>(static_cast<const char*>(end) - static_cast<const char*>(begin)),
                other ^ second);
}

}  // namespace

const void* site_of(const void* state) {
#if defined(__x86_64__)
  constexpr std::size_t return_address = 6;  // above the six registers
#else
  constexpr std::size_t return_address = 1;  // x30
#endif
  return static_cast<const void* const*>(state)[return_address];
}

void note_load(Engine& engine, const void* address, std::uint64_t value, const void* state) {
  constexpr std::size_t longest_round = 64;
  ThreadRecord& thread = my_record(engine);
  const std::array<std::uint64_t, 3> read{reinterpret_cast<std::uintptr_t>(address), value,
                                          static_cast<std::uint64_t>(thread.error_number)};
  const std::uint64_t seed = hash_of(read.data(), read.data() + read.size(), 0xcbf29ce484222325);
  const std::uint64_t hash = hash_of(state, engine.running_stack_end(), seed);
  const auto same = std::find_if(thread.loads.begin(), thread.loads.end(),
                                 [&](const Fingerprint& known) { return known.hash == hash; });
  if (same != thread.loads.end()) {
    engine.spin(engine.events() - same->events, same->clock_ns == thread.clock_ns);
    thread.loads.clear();
  }
  if (thread.loads.size() == longest_round) thread.loads.erase(thread.loads.begin());
  thread.loads.push_back({.hash = hash, .events = engine.events(), .clock_ns = thread.clock_ns});
}

}  // namespace ringside::explore::runtime

namespace ringside::explore {
namespace {

/// What libc would know.
std::uint64_t hash_of(const runtime::ThreadRecord& thread, std::uint64_t seed) {
  const std::array<std::uint64_t, 3> known{thread.clock_ns, thread.timeouts,
                                           static_cast<std::uint64_t>(thread.error_number)};
  return runtime::hash_of(known.data(), known.data() + known.size(), seed);
}

/// The program's memory but for its stacks.
std::uint64_t hash_of_memory() {
  std::uint64_t hash = 0;
  const auto add = [&hash](std::span<const std::byte> memory) {
    const std::size_t words = memory.size() / sizeof(std::uint64_t) * sizeof(std::uint64_t);
    hash = runtime::hash_of(memory.data(), memory.data() + words, hash);
    for (const std::byte byte : memory.subspan(words)) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  };
  for (std::size_t region = 0; region <= most_threads; ++region) add(runtime::heap().used(region));
  add(runtime::statics());
  return hash;
}

}  // namespace

// What the thread did in vain has left it with nothing but what it knows, and whoever knows less may read whatever it
// may read: all that follows is part of the execution, too, in which it looked only then.
void retry(const std::function<bool()>& poll) {
  const void* const frame = __builtin_frame_address(0);
  const void* const site = __builtin_return_address(0);
  while (true) {
    Engine* const engine = runtime::enter(site);
    if (engine == nullptr) {
      if (poll()) return;
      continue;
    }
    const std::size_t events = engine->events();
    const std::uint64_t changes = runtime::my_record(*engine).changes;
    const std::uint64_t stack = runtime::hash_of(frame, engine->running_stack_end(), 0);
    engine->begin_look(hash_of(runtime::my_record(*engine), stack), hash_of_memory);
    const bool found = poll();
    runtime::enter(site);  // ends a volatile access
    const bool in_vain = !found && runtime::my_record(*engine).changes == changes &&
                         runtime::hash_of(frame, engine->running_stack_end(), 0) == stack;
    if (in_vain) engine->end_look_in_vain(engine->events() - events);
    engine->forget_look();
    if (found) return;
  }
}

}  // namespace ringside::explore
