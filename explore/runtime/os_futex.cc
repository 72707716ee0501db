// SPDX-License-Identifier: Apache-2.0
//
// futex, and system calls by number. A futex's queue has a lock, as the kernel's hash bucket has: the look at the value
// and going to sleep are one step to whoever wakes.
#include <errno.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <deque>

#include "explore/runtime/os_result.h"
#include "explore/runtime/virtual_time.h"
#include "explore/runtime/wait_queue.h"

namespace ringside::explore::runtime {
namespace {

struct Futex {
  std::uintptr_t address = 0;
  std::uint32_t locked = 0;
  std::uint32_t sleepers = 0;
};

std::deque<Futex>& all_futexes() {
  static thread_local std::deque<Futex>& mine = *new std::deque<Futex>;
  return mine;
}

/// The queue of an address, which is the same in all executions of a search.
Futex& futex_at(Engine& engine, const std::uint32_t* address) {
  const std::uintptr_t place = engine.canonical(reinterpret_cast<std::uintptr_t>(address));
  for (Futex& known : all_futexes()) {
    if (known.address == place) return known;
  }
  return all_futexes().emplace_back(Futex{.address = place});
}

class Locked {
 public:
  Locked(Engine& engine, Futex& futex) : engine_(engine), futex_(futex) {
    static const std::function<bool(std::uint64_t)> free = [](std::uint64_t value) { return value == 0; };
    await_update(engine_, &futex_.locked, sizeof futex_.locked, Order::acquire, &free,
                 [](std::uint64_t) { return std::optional{1}; });
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() {
    const auto place = reinterpret_cast<std::uintptr_t>(&futex_.locked);
    engine_.store(place, sizeof futex_.locked, 0, EventKind::store, Order::release);
  }

 private:
  Engine& engine_;
  Futex& futex_;
};

/// 0, or an errno value. `deadline_ns`: 0 for none, else how long at most.
int wait(Engine& engine, std::uint32_t* address, std::uint32_t expected, const std::uint64_t* timeout_ns) {
  Futex& futex = futex_at(engine, address);
  WaitQueue queue(engine, &futex.sleepers);
  const bool passes = timeout_ns != nullptr && timeout_passes(engine);
  {
    const Locked locked(engine, futex);
    begin_atomic(engine, address, sizeof *address);
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    const Event asked = event_of(EventKind::load, Order::seq_cst);
    const std::uint64_t value = engine.load(place, sizeof *address, asked, nullptr).value;
    end_atomic(engine, address, sizeof *address);
    if (value != expected) return EAGAIN;
    queue.enroll();
  }
  if (!passes) {
    queue.sleep(timeout_ns != nullptr);
    return 0;
  }
  if (queue.leave()) return 0;
  pass_time(engine, *timeout_ns);
  return ETIMEDOUT;
}

long wake(Engine& engine, const std::uint32_t* address, std::uint32_t count) {
  Futex& futex = futex_at(engine, address);
  const Locked locked(engine, futex);
  WaitQueue(engine, &futex.sleepers).wake(count);
  return 0;
}

struct FutexCall {
  std::uint32_t* address;
  int operation;
  std::uint32_t value;
  const timespec* timeout;
};

long futex(Engine& engine, const FutexCall& call) {
  const int command = call.operation & FUTEX_CMD_MASK;
  if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET) return wake(engine, call.address, call.value);
  if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) {
    refuse(engine, fmt::format("futex operation {}; modelled are FUTEX_WAIT and FUTEX_WAKE, with a bitset or without",
                               command));
  }
  const std::uint64_t timeout_ns = call.timeout != nullptr ? nanoseconds_of(*call.timeout) : 0;
  const int error = wait(engine, call.address, call.value, call.timeout != nullptr ? &timeout_ns : nullptr);
  return error == 0 ? 0 : os_error(&engine, error);
}

}  // namespace

void reset_futexes() {
  for (Futex& futex : all_futexes()) futex.locked = futex.sleepers = 0;
}

}  // namespace ringside::explore::runtime

namespace runtime = ringside::explore::runtime;

extern "C" {

long ringside_explored_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  auto* const engine = runtime::enter(__builtin_return_address(0));
  const ringside::explore::Call call{
      .name = "syscall", .arguments = {number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]}};
  if (engine == nullptr) {
    if (const auto answer = runtime::os_ask(nullptr, call)) return *answer;
    return syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
  }
  if (number == SYS_futex) {
    return runtime::futex(*engine, {.address = reinterpret_cast<std::uint32_t*>(arguments[0]),
                                    .operation = static_cast<int>(arguments[1]),
                                    .value = static_cast<std::uint32_t>(arguments[2]),
                                    .timeout = reinterpret_cast<const timespec*>(arguments[3])});
  }
  if (number == SYS_sched_yield) return 0;
  if (number == SYS_gettid) return static_cast<long>(engine->running()) + 1;
  if (const auto answer = runtime::os_ask(engine, call)) return *answer;
  runtime::refuse(*engine,
                  fmt::format("system call {}, which is not modelled: make it in begin, or leave it out", number));
}

// What std::future waits by, a member function: (this, address, value, whether there is a timeout, its seconds, its
// nanoseconds since 1970). False: it passed.
bool ringside_explored_wait_for_future(void*, std::uint32_t* address, std::uint32_t value, bool timed, long, long) asm(
    "ringside_explored__ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilE"
    "PjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE");
bool ringside_explored_wait_for_future(void*, std::uint32_t* address, std::uint32_t value, bool timed, long, long) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return true;
  const std::uint64_t timeout_ns = 0;
  return runtime::wait(*engine, address, value, timed ? &timeout_ns : nullptr) != ETIMEDOUT;
}
// A static one, which its name does not tell.
void ringside_explored__ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj(std::uint32_t* address) {
  if (auto* const engine = runtime::enter(__builtin_return_address(0))) runtime::wake(*engine, address, UINT32_MAX);
}
}
