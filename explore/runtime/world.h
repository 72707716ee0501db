// SPDX-License-Identifier: Apache-2.0
//
// What the entry points of instrumented code share. Code that was compiled with -fsanitize=thread calls the functions
// of ThreadSanitizer's interface, and the functions of libc and libstdc++ that its object's renaming leads here
// (cmake/explored_object.cmake). Within a thread of a program under exploration they are steps of the search; anywhere
// else they do what the original does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "explore/clock.h"
#include "explore/engine.h"

namespace ringside::explore {
struct Call;
}

namespace ringside::explore::runtime {

/// A volatile access that the compiled code makes itself, right after it was announced.
struct VolatileAccess {
  std::uintptr_t address = 0;  ///< where the memory is accounted for
  std::size_t size_bytes = 0;  ///< 0: none
  bool write = false;
  const void* site = nullptr;
  std::uint64_t before = 0;  ///< what the memory held, and holds for everybody else
};

inline constexpr std::size_t deepest_stack = 512;

/// A local variable that is accessed atomically.
struct StackWord {
  std::uintptr_t address = 0;
  std::size_t size_bytes = 0;
  std::uint64_t left = 0;  ///< what the thread's last access left there
  bool shared = false;     ///< another thread accessed it, too
};

/// A load and all that the thread's next steps depend on, as a hash: what it read, and its registers and stack.
struct Fingerprint {
  std::uint64_t hash = 0;
  std::size_t events = 0;  ///< of the thread, the load among them
  std::uint64_t clock_ns = 0;
};

/// What belongs to one thread of the explored program.
struct ThreadRecord {
  std::array<const void*, deepest_stack> stack{};     ///< return addresses, outermost first
  std::array<std::uintptr_t, deepest_stack> frame{};  ///< of each: the function's locals lie above
  std::size_t depth = 0;                              ///< may be more than is kept
  std::vector<StackWord> stack_words;
  std::vector<Fingerprint> loads;  ///< since the thread last changed what others may see
  std::uint64_t changes = 0;       ///< of what others may see, in this execution
  bool in_call = false;            ///< of the kernel, which may leave everything as it was
  bool changed_in_call = false;
  void* result = nullptr;         ///< of a thread that has ended
  int error_number = 0;           ///< its errno
  std::uint64_t clock_ns = 0;     ///< virtual time since the execution began
  std::uint32_t clock_reads = 0;  ///< since its clock last moved for another reason
  int poll_descriptor = -1;       ///< what poll() waits on
  std::uint32_t timeouts = 0;     ///< that were taken by choice in this execution
};

/// Of the exploration that the process is at.
struct World {
  const void* site = nullptr;  ///< of the entry point that runs, in the program
  std::array<ThreadRecord, most_threads> threads{};
  VolatileAccess pending;
  std::uint32_t executions = 0;     ///< of all searches
  std::uint64_t hooks_at_tick = 0;  ///< when the silence was last looked at
  std::uint32_t silent_ticks = 0;
  bool seen_any = false;           ///< in this search
  std::uint64_t hooks = 0;         ///< entries in this execution
  bool timeouts_refused = false;   ///< in this search: a wait could not end by its timeout once more
  bool atomics_on_stacks = false;  ///< in this execution
  bool stacks_shared = false;  ///< threads were created, which may have been given addresses of their creator's stack
  std::function<std::optional<long>(const Call&)> answer;  ///< to calls without a model, in this execution
};

extern World world;

/// The engine, for a caller that is a thread of a program under exploration; otherwise null.
inline Engine* exploring() {
  Engine* const engine = Engine::current;
  return engine != nullptr && engine->inside() ? engine : nullptr;
}

inline ThreadRecord& my_record(const Engine& engine) { return world.threads[engine.running()]; }

std::uint64_t bytes_at(std::uintptr_t address, std::size_t size);

/// Ends what the last volatile access left open. Every entry point comes through here first.
void finish_volatile(Engine& engine);

/// More entries than this in one execution are taken for a loop without an end.
inline constexpr std::uint64_t most_entries = 5'000'000;
[[noreturn]] void refuse_to_go_on(Engine& engine);

/// As exploring(), for entry points; `site` is where in the program.
inline Engine* enter(const void* site = nullptr) {
  Engine* const engine = exploring();
  if (engine != nullptr) {
    world.site = site;
    if (++world.hooks > most_entries) refuse_to_go_on(*engine);
    if (world.pending.size_bytes != 0) finish_volatile(*engine);
  }
  return engine;
}

/// A plain access of any size.
void access(Engine& engine, const void* address, std::size_t size, bool write);

/// Before and after an atomic access.
void begin_atomic(Engine& engine, const void* address, std::size_t size);
void end_atomic(Engine& engine, const void* address, std::size_t size);

/// Where the entry point that laid down `state` was called (explore/runtime/spin.cc).
const void* site_of(const void* state);

/// After a load of the running thread, which goes to sleep if it would only repeat itself. `state` is the lowest
/// address of the registers that it kept and of the frames that called.
void note_load(Engine& engine, const void* address, std::uint64_t value, const void* state);
inline void note_change(ThreadRecord& thread) {
  thread.loads.clear();
  ++thread.changes;
}
/// The running thread changes what others may see, or learns the time.
inline void note_effect(Engine& engine) {
  engine.forget_look();
  ThreadRecord& thread = my_record(engine);
  thread.changed_in_call = true;
  if (!thread.in_call) note_change(thread);
}
/// A call of the kernel. What it changed is no effect if it changed it back before it ended.
inline void begin_call(Engine& engine) {
  engine.forget_look();
  ThreadRecord& thread = my_record(engine);
  thread.in_call = true;
  thread.changed_in_call = false;
}
inline void end_call(const Engine& engine, bool changed_back) {
  ThreadRecord& thread = my_record(engine);
  thread.in_call = false;
  if (thread.changed_in_call && !changed_back) note_change(thread);
}

/// Functions begin and end; `frame` is an address below the function's locals.
void begin_function(Engine& engine, const void* caller, const void* frame);
void end_function(Engine& engine);

/// Fails the exploration if the memory was freed.
void check_alive(Engine& engine, const void* address, std::size_t size);

/// Ends the exploration: the program did what has no meaning here. `what` names it and says what to do.
[[noreturn]] void refuse(Engine& engine, std::string what);

/// Reads until `enough`, then stores what `change` makes of it, in one step; nothing if that is no value. What was
/// read.
std::uint64_t await_update(Engine& engine, void* address, std::size_t size, Order order,
                           const std::function<bool(std::uint64_t)>* enough,
                           const std::function<std::optional<std::uint64_t>(std::uint64_t)>& change);

/// Runs a thread's body to its end. An exception that leaves it ends the exploration.
void run(const std::function<void()>& body);

/// Before each execution: all threads' records, the heap, the descriptors and the program's static data as at the
/// start.
void reset();

}  // namespace ringside::explore::runtime
