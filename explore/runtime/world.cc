// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/world.h"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "explore/runtime/descriptors.h"
#include "explore/runtime/heap.h"
#include "explore/runtime/statics.h"
#include "explore/runtime/wait_queue.h"

namespace ringside::explore::runtime {

World world;

namespace {

struct Range {
  std::uintptr_t begin = 0;
  std::size_t size_bytes = 0;
};

/// What the modules of the process keep for the calling thread: libstdc++'s own, the runtime's.
std::vector<Range> find_thread_locals() {
  std::vector<Range> ranges;
  const auto add = [](dl_phdr_info* module, std::size_t, void* to) {
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      if (module->dlpi_phdr[i].p_type != PT_TLS || module->dlpi_tls_data == nullptr) continue;
      static_cast<std::vector<Range>*>(to)->push_back({.begin = reinterpret_cast<std::uintptr_t>(module->dlpi_tls_data),
                                                       .size_bytes = module->dlpi_phdr[i].p_memsz});
    }
    return 0;
  };
  ::dl_iterate_phdr(add, &ranges);
  return ranges;
}

/// Whether every thread of the program would have that memory of its own, were it no fiber.
bool is_thread_local(const void* address) {
  static thread_local const std::vector<Range> ranges = find_thread_locals();
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  return std::any_of(ranges.begin(), ranges.end(),
                     [place](const Range& range) { return place - range.begin < range.size_bytes; });
}

}  // namespace

std::uint64_t bytes_at(std::uintptr_t address, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), size);
  return value;
}

// The compiled code has stored the new value by now. No other thread has run since it was announced, so the store can
// still be made what it is to the search: one step, at this place of the thread's order.
void finish_volatile(Engine& engine) {
  const VolatileAccess access = std::exchange(world.pending, {});
  auto* const memory = reinterpret_cast<void*>(access.address);
  const std::uint64_t value = bytes_at(access.address, access.size_bytes);
  std::memcpy(memory, &access.before, access.size_bytes);
  if (!access.write) return;
  note_effect(engine);
  engine.at(access.site);
  engine.store(access.address, access.size_bytes, value, EventKind::store, Order::release);
}

void access(Engine& engine, const void* address, std::size_t size, bool write) {
  // What is on the thread's own stack and known to nobody else cannot race. Compilers leave most of it out; this is the
  // rest.
  const bool stacks_matter = world.stacks_shared || !my_record(engine).stack_words.empty();
  if (!stacks_matter && engine.on_running_stack(address)) return;
  if (is_thread_local(address)) return;
  check_alive(engine, address, size);
  if (write && !engine.on_running_stack(address)) note_effect(engine);
  const bool in_look = heap().holds(address) || is_static(address);
  // Memory that is seen at two addresses may begin or end at any page.
  constexpr std::uintptr_t page_bytes = 4096;
  auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = begin + size;
  while (begin < end) {
    const std::uintptr_t page_end = (begin / page_bytes + 1) * page_bytes;
    const std::uintptr_t piece_end = std::min(end, page_end);
    engine.at(world.site);
    engine.plain(begin, piece_end - begin, write, in_look);
    begin = piece_end;
  }
}

namespace {

// Compilers do not announce what they write into a local variable that nobody else can know of, though they announce
// its atomic accesses: two variables of which one has the other's place on the stack look like one. So what the thread
// finds there must be what it left there, in the width in which it left it; otherwise the place has been written anew.
void note_stack_word(Engine& engine, const void* address, std::size_t size) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  if (!engine.on_running_stack(address)) {
    if (!world.atomics_on_stacks) return;
    for (ThreadRecord& thread : world.threads) {
      for (StackWord& word : thread.stack_words) word.shared = word.shared || word.address == place;
    }
    return;
  }
  world.atomics_on_stacks = true;
  std::vector<StackWord>& words = my_record(engine).stack_words;
  std::erase_if(words, [&](const StackWord& word) {
    if (word.shared || word.address >= place + size || place >= word.address + word.size_bytes) return false;
    const bool same = word.address == place && word.size_bytes == size && bytes_at(place, size) == word.left;
    if (!same) engine.plain(word.address, word.size_bytes, true);
    return !same;
  });
  const bool known = std::any_of(words.begin(), words.end(), [&](const StackWord& word) {
    return word.address == place && word.size_bytes == size;
  });
  if (!known) words.push_back({.address = place, .size_bytes = size});
}

}  // namespace

void begin_atomic(Engine& engine, const void* address, std::size_t size) {
  check_alive(engine, address, size);
  note_stack_word(engine, address, size);
  engine.at(world.site);
}

void end_atomic(Engine& engine, const void* address, std::size_t size) {
  if (!engine.on_running_stack(address)) return;
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  for (StackWord& word : my_record(engine).stack_words) {
    if (word.address == place) word.left = bytes_at(place, size);
  }
}

void begin_function(Engine& engine, const void* caller, const void* frame) {
  ThreadRecord& thread = my_record(engine);
  if (thread.depth < deepest_stack) {
    thread.stack[thread.depth] = caller;
    thread.frame[thread.depth] = reinterpret_cast<std::uintptr_t>(frame);
  }
  ++thread.depth;
}

// The locals of the function that ends are nobody's from now on: whatever stands there next is another variable, whose
// first value compilers may write without a word.
void end_function(Engine& engine) {
  ThreadRecord& thread = my_record(engine);
  if (thread.depth == 0) return;
  --thread.depth;
  if (thread.stack_words.empty() || thread.depth >= deepest_stack) return;
  const std::uintptr_t live = thread.depth == 0 ? UINTPTR_MAX : thread.frame[thread.depth - 1];
  std::erase_if(thread.stack_words, [&](const StackWord& word) {
    const bool dead = word.address < live;
    if (dead) engine.plain(word.address, word.size_bytes, true);
    return dead;
  });
}

void check_alive(Engine& engine, const void* address, std::size_t size) {
  if (heap().was_freed(address, size)) {
    engine.fail(FailureKind::use_after_free,
                fmt::format("thread {} accesses {} bytes of memory that was freed", engine.running(), size));
  }
}

void refuse_to_go_on(Engine& engine) {
  engine.fail(FailureKind::too_long, fmt::format("an execution of more than {} accesses; does thread {} ever end?",
                                                 most_entries, engine.running()));
}

void refuse(Engine& engine, std::string what) { engine.fail(FailureKind::unmodelled, std::move(what)); }

void run(const std::function<void()>& body) {
  std::string what;
  try {
    body();
    if (Engine* const engine = exploring(); engine != nullptr && world.pending.size_bytes != 0)
      finish_volatile(*engine);
    return;
  } catch (const std::exception& exception) {
    what = exception.what();
  } catch (...) {
    what = "no std::exception";
  }
  Engine& engine = *Engine::current;
  what = fmt::format("an exception left thread {}: {}", engine.running(), what);
  engine.fail(FailureKind::failed, std::move(what));
}

std::uint64_t await_update(Engine& engine, void* address, std::size_t size, Order order,
                           const std::function<bool(std::uint64_t)>* enough,
                           const std::function<std::optional<std::uint64_t>(std::uint64_t)>& change) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  begin_atomic(engine, address, size);
  const std::uint64_t value = engine.load(place, size, event_of(EventKind::exclusive_load, order), enough).value;
  if (const auto changed = change(value)) {
    note_effect(engine);
    engine.store(place, size, *changed, EventKind::exclusive_store, order);
  }
  end_atomic(engine, address, size);
  return value;
}

void reset() {
  for (ThreadRecord& thread : world.threads) {
    thread.depth = 0;
    thread.stack_words.clear();
    thread.loads.clear();
    thread.changes = 0;
    thread.in_call = false;
    thread.result = nullptr;
    thread.error_number = 0;
    thread.clock_ns = 0;
    thread.clock_reads = thread.timeouts = 0;
    thread.poll_descriptor = -1;
  }
  world.pending = {};
  world.seen_any = world.seen_any || world.hooks > 0;
  world.hooks = 0;
  ++world.executions;
  world.atomics_on_stacks = false;
  world.answer = nullptr;
  heap().reset();
  descriptors().reset();
  reset_futexes();
  restore_statics();
}

}  // namespace ringside::explore::runtime
