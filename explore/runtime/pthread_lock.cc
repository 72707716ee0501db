// SPDX-License-Identifier: Apache-2.0
//
// Mutexes, reader-writer locks, spin locks and semaphores of POSIX. Their state lies in the program's own objects, so
// it begins anew with them; all-zero objects, as the static initialisers make them, are free.
#include <errno.h>
#include <fmt/format.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <cstring>

#include "explore/runtime/mutex.h"
#include "explore/runtime/virtual_time.h"
#include "explore/runtime/wait_queue.h"
#include "explore/runtime/world.h"

namespace ringside::explore::runtime {
namespace {

using Enough = std::function<bool(std::uint64_t)>;

template <class T>
std::uint32_t* word_of(T* object) {
  return reinterpret_cast<std::uint32_t*>(object);
}

/// The parts of glibc's mutex that are used here as it uses them.
struct MutexParts {
  std::uint32_t lock;
  std::uint32_t count;
  std::int32_t owner;  ///< number of the thread and 1; only the owner itself finds its own number here
  std::uint32_t users;
  std::int32_t kind;
};
static_assert(sizeof(MutexParts) <= sizeof(pthread_mutex_t));

MutexParts& parts(pthread_mutex_t* mutex) { return *reinterpret_cast<MutexParts*>(mutex); }

std::int32_t me(const Engine& engine) { return static_cast<std::int32_t>(engine.running()) + 1; }

/// The type, without the bits for protocols that make no difference here.
int type_of(const MutexParts& mutex) { return mutex.kind & 3; }

/// What the owner of the mutex gets who locks it again; nothing for all others.
std::optional<int> lock_again(const Engine& engine, MutexParts& mutex) {
  if (mutex.owner != me(engine)) return std::nullopt;
  if (type_of(mutex) == PTHREAD_MUTEX_RECURSIVE) {
    ++mutex.count;
    return 0;
  }
  if (type_of(mutex) == PTHREAD_MUTEX_ERRORCHECK) return EDEADLK;
  return std::nullopt;
}

void own(const Engine& engine, MutexParts& mutex) {
  mutex.owner = me(engine);
  mutex.count = 1;
}

/// Takes the word from 0 to 1 if it is 0.
bool try_take(Engine& engine, std::uint32_t* word) {
  begin_atomic(engine, word, sizeof *word);
  Event asked = event_of(EventKind::exclusive_load, Order::acquire);
  asked.compares = true;
  asked.if_equal = Order::acquire;
  asked.if_unequal = Order::relaxed;
  const auto place = reinterpret_cast<std::uintptr_t>(word);
  const bool free = engine.load(place, sizeof *word, asked, nullptr).value == 0;
  note_effect(engine);
  if (free) engine.store(place, sizeof *word, 1, EventKind::exclusive_store, Order::acquire);
  end_atomic(engine, word, sizeof *word);
  return free;
}

void take(Engine& engine, std::uint32_t* word) {
  static const Enough free = [](std::uint64_t value) { return value == 0; };
  await_update(engine, word, sizeof *word, Order::acquire, &free, [](std::uint64_t) { return std::optional{1}; });
}

void give(Engine& engine, std::uint32_t* word) {
  begin_atomic(engine, word, sizeof *word);
  note_effect(engine);
  engine.store(reinterpret_cast<std::uintptr_t>(word), sizeof *word, 0, EventKind::store, Order::release);
  end_atomic(engine, word, sizeof *word);
}

int lock_until(Engine& engine, pthread_mutex_t* mutex, clockid_t clock, const timespec& deadline) {
  if (!timeout_passes(engine)) {
    wait_timed(engine, true, [&] { lock(engine, mutex); });
    return 0;
  }
  if (const auto again = lock_again(engine, parts(mutex))) return *again;
  if (!try_take(engine, &parts(mutex).lock)) {
    pass_deadline(engine, clock, deadline);
    return ETIMEDOUT;
  }
  own(engine, parts(mutex));
  return 0;
}

template <class T>
void clear(T* object) {
  if (Engine* const engine = enter()) access(*engine, object, sizeof(T), true);
  std::memset(object, 0, sizeof(T));
}

// A reader-writer lock's word: how many read, or that somebody writes.
constexpr std::uint64_t writes_bit = 0x80000000;

void read_lock(Engine& engine, std::uint32_t* word, bool timed) {
  static const Enough readable = [](std::uint64_t value) { return (value & writes_bit) == 0; };
  wait_timed(engine, timed, [&] {
    await_update(engine, word, sizeof *word, Order::acquire, &readable,
                 [](std::uint64_t value) { return std::optional{value + 1}; });
  });
}

void write_lock(Engine& engine, std::uint32_t* word, bool timed) {
  static const Enough free = [](std::uint64_t value) { return value == 0; };
  wait_timed(engine, timed, [&] {
    await_update(engine, word, sizeof *word, Order::acquire, &free,
                 [](std::uint64_t) { return std::optional{writes_bit}; });
  });
}

bool try_read_lock(Engine& engine, std::uint32_t* word) {
  const std::uint64_t seen = await_update(engine, word, sizeof *word, Order::acquire, nullptr, [](std::uint64_t value) {
    return (value & writes_bit) == 0 ? std::optional{value + 1} : std::nullopt;
  });
  return (seen & writes_bit) == 0;
}

bool try_write_lock(Engine& engine, std::uint32_t* word) {
  const std::uint64_t seen = await_update(engine, word, sizeof *word, Order::acquire, nullptr, [](std::uint64_t value) {
    return value == 0 ? std::optional{writes_bit} : std::nullopt;
  });
  return seen == 0;
}

void unlock_either(Engine& engine, std::uint32_t* word) {
  await_update(engine, word, sizeof *word, Order::release, nullptr,
               [](std::uint64_t value) { return std::optional{value == writes_bit ? 0 : value - 1}; });
}

// A semaphore's word: its value.
void down(Engine& engine, std::uint32_t* word, bool timed) {
  static const Enough positive = [](std::uint64_t value) { return value > 0; };
  wait_timed(engine, timed, [&] {
    await_update(engine, word, sizeof *word, Order::acquire, &positive,
                 [](std::uint64_t value) { return std::optional{value - 1}; });
  });
}

bool try_down(Engine& engine, std::uint32_t* word) {
  return await_update(engine, word, sizeof *word, Order::acquire, nullptr,
                      [](std::uint64_t value) { return value > 0 ? std::optional{value - 1} : std::nullopt; }) > 0;
}

int semaphore_result(Engine& engine, bool done, int error) {
  if (done) return 0;
  my_record(engine).error_number = error;
  return -1;
}

}  // namespace

int lock(Engine& engine, pthread_mutex_t* mutex) {
  if (const auto again = lock_again(engine, parts(mutex))) return *again;
  take(engine, &parts(mutex).lock);
  own(engine, parts(mutex));
  return 0;
}

int unlock(Engine& engine, pthread_mutex_t* mutex) {
  MutexParts& held = parts(mutex);
  if (held.owner != me(engine)) {
    if (type_of(held) != PTHREAD_MUTEX_NORMAL) return EPERM;
    engine.fail(FailureKind::failed, fmt::format("thread {} unlocks a mutex that it does not hold", engine.running()));
  }
  if (type_of(held) == PTHREAD_MUTEX_RECURSIVE && --held.count > 0) return 0;
  held.owner = 0;
  held.count = 0;
  give(engine, &held.lock);
  return 0;
}

}  // namespace ringside::explore::runtime

namespace runtime = ringside::explore::runtime;

extern "C" {

int ringside_explored_pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  if (auto* const engine = runtime::enter(__builtin_return_address(0)))
    runtime::access(*engine, mutex, sizeof *mutex, true);
  return pthread_mutex_init(mutex, attributes);
}
int ringside_explored_pthread_mutex_destroy(pthread_mutex_t* mutex) {
  if (auto* const engine = runtime::enter(__builtin_return_address(0)))
    runtime::access(*engine, mutex, sizeof *mutex, true);
  return 0;
}
int ringside_explored_pthread_mutex_lock(pthread_mutex_t* mutex) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  return engine != nullptr ? runtime::lock(*engine, mutex) : pthread_mutex_lock(mutex);
}
int ringside_explored_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  return engine != nullptr ? runtime::unlock(*engine, mutex) : pthread_mutex_unlock(mutex);
}
int ringside_explored_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return pthread_mutex_trylock(mutex);
  if (const auto again = runtime::lock_again(*engine, runtime::parts(mutex))) return *again == EDEADLK ? EBUSY : *again;
  if (!runtime::try_take(*engine, &runtime::parts(mutex).lock)) return EBUSY;
  runtime::own(*engine, runtime::parts(mutex));
  return 0;
}
int ringside_explored_pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* deadline) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  return engine != nullptr ? runtime::lock_until(*engine, mutex, CLOCK_REALTIME, *deadline)
                           : pthread_mutex_timedlock(mutex, deadline);
}
int ringside_explored_pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* deadline) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  return engine != nullptr ? runtime::lock_until(*engine, mutex, clock, *deadline)
                           : pthread_mutex_clocklock(mutex, clock, deadline);
}

int ringside_explored_pthread_rwlock_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t*) {
  runtime::clear(lock);
  return 0;
}
int ringside_explored_pthread_rwlock_destroy(pthread_rwlock_t* lock) {
  runtime::clear(lock);
  return 0;
}
int ringside_explored_pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return pthread_rwlock_rdlock(lock);
  runtime::read_lock(*engine, runtime::word_of(lock), false);
  return 0;
}
int ringside_explored_pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return pthread_rwlock_wrlock(lock);
  runtime::write_lock(*engine, runtime::word_of(lock), false);
  return 0;
}
int ringside_explored_pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return pthread_rwlock_tryrdlock(lock);
  return runtime::try_read_lock(*engine, runtime::word_of(lock)) ? 0 : EBUSY;
}
int ringside_explored_pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return pthread_rwlock_trywrlock(lock);
  return runtime::try_write_lock(*engine, runtime::word_of(lock)) ? 0 : EBUSY;
}
int ringside_explored_pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* deadline) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return pthread_rwlock_clockrdlock(lock, clock, deadline);
  if (!runtime::timeout_passes(*engine)) {
    runtime::read_lock(*engine, runtime::word_of(lock), true);
    return 0;
  }
  if (runtime::try_read_lock(*engine, runtime::word_of(lock))) return 0;
  runtime::pass_deadline(*engine, clock, *deadline);
  return ETIMEDOUT;
}
int ringside_explored_pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* deadline) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return pthread_rwlock_clockwrlock(lock, clock, deadline);
  if (!runtime::timeout_passes(*engine)) {
    runtime::write_lock(*engine, runtime::word_of(lock), true);
    return 0;
  }
  if (runtime::try_write_lock(*engine, runtime::word_of(lock))) return 0;
  runtime::pass_deadline(*engine, clock, *deadline);
  return ETIMEDOUT;
}
int ringside_explored_pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* deadline) {
  return ringside_explored_pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, deadline);
}
int ringside_explored_pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* deadline) {
  return ringside_explored_pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, deadline);
}
int ringside_explored_pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return pthread_rwlock_unlock(lock);
  runtime::unlock_either(*engine, runtime::word_of(lock));
  return 0;
}

// glibc's free spin lock is not all-zero; these have a state of their own, outside of executions, too.
int ringside_explored_pthread_spin_init(pthread_spinlock_t* lock, int) {
  if (auto* const engine = runtime::enter(__builtin_return_address(0)))
    runtime::access(*engine, const_cast<int*>(lock), sizeof *lock, true);
  *lock = 0;
  return 0;
}
int ringside_explored_pthread_spin_destroy(pthread_spinlock_t* lock) {
  return ringside_explored_pthread_spin_init(lock, 0);
}
int ringside_explored_pthread_spin_lock(pthread_spinlock_t* lock) {
  if (auto* const engine = runtime::enter(__builtin_return_address(0))) {
    runtime::take(*engine, runtime::word_of(const_cast<int*>(lock)));
  } else {
    *lock = 1;
  }
  return 0;
}
int ringside_explored_pthread_spin_trylock(pthread_spinlock_t* lock) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine != nullptr) return runtime::try_take(*engine, runtime::word_of(const_cast<int*>(lock))) ? 0 : EBUSY;
  *lock = 1;
  return 0;
}
int ringside_explored_pthread_spin_unlock(pthread_spinlock_t* lock) {
  if (auto* const engine = runtime::enter(__builtin_return_address(0))) {
    runtime::give(*engine, runtime::word_of(const_cast<int*>(lock)));
  } else {
    *lock = 0;
  }
  return 0;
}

int ringside_explored_sem_init(sem_t* semaphore, int, unsigned value) {
  runtime::clear(semaphore);
  *runtime::word_of(semaphore) = value;
  return 0;
}
int ringside_explored_sem_destroy(sem_t* semaphore) {
  runtime::clear(semaphore);
  return 0;
}
int ringside_explored_sem_wait(sem_t* semaphore) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return sem_wait(semaphore);
  runtime::down(*engine, runtime::word_of(semaphore), false);
  return 0;
}
int ringside_explored_sem_trywait(sem_t* semaphore) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return sem_trywait(semaphore);
  return runtime::semaphore_result(*engine, runtime::try_down(*engine, runtime::word_of(semaphore)), EAGAIN);
}
int ringside_explored_sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return sem_clockwait(semaphore, clock, deadline);
  if (!runtime::timeout_passes(*engine)) {
    runtime::down(*engine, runtime::word_of(semaphore), true);
    return 0;
  }
  const bool done = runtime::try_down(*engine, runtime::word_of(semaphore));
  if (!done) runtime::pass_deadline(*engine, clock, *deadline);
  return runtime::semaphore_result(*engine, done, ETIMEDOUT);
}
int ringside_explored_sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  return ringside_explored_sem_clockwait(semaphore, CLOCK_REALTIME, deadline);
}
int ringside_explored_sem_post(sem_t* semaphore) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return sem_post(semaphore);
  runtime::await_update(*engine, semaphore, sizeof(std::uint32_t), ringside::explore::Order::release, nullptr,
                        [](std::uint64_t value) { return std::optional{value + 1}; });
  return 0;
}
int ringside_explored_sem_getvalue(sem_t* semaphore, int* value) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return sem_getvalue(semaphore, value);
  runtime::await_update(*engine, semaphore, sizeof(std::uint32_t), ringside::explore::Order::relaxed, nullptr,
                        [value](std::uint64_t now) {
                          *value = static_cast<int>(now);
                          return std::optional<std::uint64_t>{};
                        });
  return 0;
}
}
