// SPDX-License-Identifier: Apache-2.0
//
// Condition variables, barriers and what happens once: of POSIX, and of libstdc++ where that is not POSIX's under
// another name. A waiter wakes by a signal, a broadcast or its timeout, never without a reason.
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <cstring>
#include <mutex>

#include "explore/runtime/mutex.h"
#include "explore/runtime/virtual_time.h"
#include "explore/runtime/wait_queue.h"
#include "explore/runtime/world.h"

namespace ringside::explore::runtime {
namespace {

using Enough = std::function<bool(std::uint64_t)>;

/// The word of an object that begins with it, as all-zero objects do here.
std::uint32_t* word_of(void* object) { return static_cast<std::uint32_t*>(object); }

void wait(Engine& engine, void* condition, pthread_mutex_t* mutex) {
  WaitQueue queue(engine, word_of(condition));
  queue.enroll();
  unlock(engine, mutex);
  queue.sleep(false);
  lock(engine, mutex);
}

int wait_until(Engine& engine, void* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec& deadline) {
  WaitQueue queue(engine, word_of(condition));
  const bool passes = timeout_passes(engine);
  queue.enroll();
  unlock(engine, mutex);
  bool woken = true;
  if (passes) {
    woken = queue.leave();
  } else {
    queue.sleep(true);
  }
  if (!woken) pass_deadline(engine, clock, deadline);
  lock(engine, mutex);
  return woken ? 0 : ETIMEDOUT;
}

void wake(void* condition, std::uint32_t count) {
  // Outside of an execution nobody can wait.
  if (Engine* const engine = enter()) WaitQueue(*engine, word_of(condition)).wake(count);
}

/// Waits in begin or end, or in a static initialiser, would never be over.
int refuse_outside() {
  if (Engine::current != nullptr) refuse(*Engine::current, "a wait outside of the program's threads");
  return EINVAL;
}

void clear(void* object, std::size_t size) {
  if (Engine* const engine = enter()) access(*engine, object, size, true);
  std::memset(object, 0, size);
}

/// A barrier's words.
struct Barrier {
  std::uint32_t arrived;  ///< in the lower half; how often it was passed in the upper
  std::uint32_t needed;
};
static_assert(sizeof(Barrier) <= sizeof(pthread_barrier_t));

int pass(Engine& engine, Barrier& barrier) {
  const std::uint64_t needed = barrier.needed;
  const auto last = [needed](std::uint64_t word) { return (word & 0xffff) + 1 == needed; };
  const auto arrive = [last](std::uint64_t word) {
    return std::optional{last(word) ? (((word >> 16) + 1) & 0xffff) << 16 : word + 1};
  };
  const std::uint64_t before = await_update(engine, &barrier.arrived, 4, Order::acq_rel, nullptr, arrive);
  if (last(before)) return PTHREAD_BARRIER_SERIAL_THREAD;
  const Enough passed = [before](std::uint64_t word) { return word >> 16 != before >> 16; };
  await_update(engine, &barrier.arrived, 4, Order::acquire, &passed,
               [](std::uint64_t) { return std::optional<std::uint64_t>{}; });
  return 0;
}

/// Whether the running thread is the one to do it; otherwise it has been done. `done` and `busy` are what the memory
/// holds then.
bool begin_once(Engine& engine, void* memory, std::size_t size, std::uint64_t done, std::uint64_t busy) {
  const Enough settled = [busy](std::uint64_t value) { return value != busy; };
  const std::uint64_t seen = await_update(engine, memory, size, Order::acquire, &settled, [=](std::uint64_t value) {
    return value == done ? std::nullopt : std::optional{busy};
  });
  return seen != done;
}

void store(Engine& engine, void* memory, std::size_t size, std::uint64_t value) {
  begin_atomic(engine, memory, size);
  note_effect(engine);
  engine.store(reinterpret_cast<std::uintptr_t>(memory), size, value, EventKind::store, Order::release);
  end_atomic(engine, memory, size);
}

}  // namespace
}  // namespace ringside::explore::runtime

namespace runtime = ringside::explore::runtime;

extern "C" {

int ringside_explored_pthread_cond_init(pthread_cond_t* condition, const pthread_condattr_t*) {
  runtime::clear(condition, sizeof *condition);
  return 0;
}
int ringside_explored_pthread_cond_destroy(pthread_cond_t* condition) {
  runtime::clear(condition, sizeof *condition);
  return 0;
}
int ringside_explored_pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return runtime::refuse_outside();
  runtime::wait(*engine, condition, mutex);
  return 0;
}
int ringside_explored_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                             const timespec* deadline) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return runtime::refuse_outside();
  return runtime::wait_until(*engine, condition, mutex, clock, *deadline);
}
// The attributes say which clock; so does the deadline itself.
int ringside_explored_pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                             const timespec* deadline) {
  return ringside_explored_pthread_cond_clockwait(condition, mutex, runtime::clock_of(*deadline), deadline);
}
int ringside_explored_pthread_cond_signal(pthread_cond_t* condition) {
  runtime::wake(condition, 1);
  return 0;
}
int ringside_explored_pthread_cond_broadcast(pthread_cond_t* condition) {
  runtime::wake(condition, UINT32_MAX);
  return 0;
}

// std::condition_variable: constructor, destructor, wait(unique_lock<mutex>&), notify_one, notify_all. A unique_lock
// begins with the address of its mutex, and that with the pthread_mutex_t.
void ringside_explored__ZNSt18condition_variableC1Ev(pthread_cond_t* condition) {
  runtime::clear(condition, sizeof *condition);
}
void ringside_explored__ZNSt18condition_variableD1Ev(pthread_cond_t* condition) {
  runtime::clear(condition, sizeof *condition);
}
void ringside_explored__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(pthread_cond_t* condition,
                                                                                 pthread_mutex_t** lock) {
  ringside_explored_pthread_cond_wait(condition, *lock);
}
void ringside_explored__ZNSt18condition_variable10notify_oneEv(pthread_cond_t* condition) {
  runtime::wake(condition, 1);
}
void ringside_explored__ZNSt18condition_variable10notify_allEv(pthread_cond_t* condition) {
  runtime::wake(condition, UINT32_MAX);
}

int ringside_explored_pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t*, unsigned count) {
  runtime::clear(barrier, sizeof *barrier);
  reinterpret_cast<runtime::Barrier*>(barrier)->needed = count;
  return 0;
}
int ringside_explored_pthread_barrier_destroy(pthread_barrier_t* barrier) {
  runtime::clear(barrier, sizeof *barrier);
  return 0;
}
int ringside_explored_pthread_barrier_wait(pthread_barrier_t* barrier) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return runtime::refuse_outside();
  return runtime::pass(*engine, *reinterpret_cast<runtime::Barrier*>(barrier));
}

// glibc's values: 0 new, 1 under way, 2 done.
int ringside_explored_pthread_once(pthread_once_t* control, void (*routine)()) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return pthread_once(control, routine);
  // std::call_once has put what is to be called into variables of the process's thread, which all threads of the
  // program share: while one waits here, another may put its own there.
  void* const callable = std::__once_callable;
  void (*const call)() = std::__once_call;
  if (runtime::begin_once(*engine, control, sizeof *control, 2, 1)) {
    std::__once_callable = callable;
    std::__once_call = call;
    routine();
    runtime::store(*runtime::enter(__builtin_return_address(0)), control, sizeof *control, 2);
  }
  return 0;
}

// Static local variables. The guard's first byte says that it is done, which compiled code reads itself; the second is
// ours: 0 new, 1 under way, 2 done.
int ringside_explored___cxa_guard_acquire(unsigned char* guard) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return guard[0] == 0 ? 1 : 0;
  return runtime::begin_once(*engine, guard + 1, 1, 2, 1) ? 1 : 0;
}
void ringside_explored___cxa_guard_release(unsigned char* guard) {
  if (auto* const engine = runtime::enter(__builtin_return_address(0))) {
    runtime::store(*engine, guard, 1, 1);
    runtime::store(*engine, guard + 1, 1, 2);
  } else {
    guard[0] = 1;
    guard[1] = 2;
  }
}
void ringside_explored___cxa_guard_abort(unsigned char* guard) {
  if (auto* const engine = runtime::enter(__builtin_return_address(0))) runtime::store(*engine, guard + 1, 1, 0);
}
}
