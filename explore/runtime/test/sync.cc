// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/test/sync.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "explore/explored.h"

int sync_results[4];
int sync_sum;
int sync_failed;

namespace {

pthread_mutex_t mutex_a = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t mutex_b = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin_lock;
pthread_barrier_t barrier;
sem_t semaphore;
bool flag;
std::atomic<bool> atomic_flag;

std::mutex std_mutex;
std::timed_mutex timed_mutex;
std::condition_variable std_condition;

std::atomic<int> spin_flag;
std::atomic<int> other_flag;
volatile int volatile_flag;
std::atomic<int> left;
std::atomic<int> right;

std::atomic<int*> block;

void demand(bool holds) {
  if (!holds) sync_failed = 1;
}

void* add_in_thread(void*) {
  ++sync_sum;
  return &sync_sum;
}

}  // namespace

void add_unlocked() { ++sync_sum; }

void add_with_pthread_mutex() {
  demand(pthread_mutex_lock(&mutex_a) == 0);
  ++sync_sum;
  demand(pthread_mutex_unlock(&mutex_a) == 0);
}

void add_with_std_mutex() {
  const std::lock_guard lock(std_mutex);
  ++sync_sum;
}

void add_with_try_lock() {
  const std::unique_lock lock(std_mutex, std::try_to_lock);
  if (lock) ++sync_sum;
}

void add_with_timed_mutex() {
  const std::unique_lock lock(timed_mutex, std::chrono::milliseconds(1));
  if (lock) ++sync_sum;
}

void add_with_spin_lock() {
  pthread_spin_lock(&spin_lock);
  ++sync_sum;
  pthread_spin_unlock(&spin_lock);
}

void begin_semaphore() { sem_init(&semaphore, 0, 1); }
void add_with_semaphore() {
  sem_wait(&semaphore);
  ++sync_sum;
  sem_post(&semaphore);
}

void lock_recursively() {
  std::recursive_mutex mutex;
  mutex.lock();
  demand(mutex.try_lock());
  mutex.lock();
  for (int i = 0; i < 3; ++i) mutex.unlock();
  demand(mutex.try_lock());
  mutex.unlock();
}

void lock_checked() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &attributes);
  demand(pthread_mutex_unlock(&mutex) == EPERM);
  demand(pthread_mutex_lock(&mutex) == 0);
  demand(pthread_mutex_lock(&mutex) == EDEADLK);
  demand(pthread_mutex_unlock(&mutex) == 0);
  pthread_mutex_destroy(&mutex);
}

void unlock_without_lock() { pthread_mutex_unlock(&mutex_a); }

void lock_a_then_b() {
  pthread_mutex_lock(&mutex_a);
  pthread_mutex_lock(&mutex_b);
  pthread_mutex_unlock(&mutex_b);
  pthread_mutex_unlock(&mutex_a);
}
void lock_b_then_a() {
  pthread_mutex_lock(&mutex_b);
  pthread_mutex_lock(&mutex_a);
  pthread_mutex_unlock(&mutex_a);
  pthread_mutex_unlock(&mutex_b);
}

void read_with_rwlock() {
  pthread_rwlock_rdlock(&rwlock);
  demand(sync_sum == 0 || sync_sum == 2);
  pthread_rwlock_unlock(&rwlock);
}
void write_with_rwlock() {
  pthread_rwlock_wrlock(&rwlock);
  ++sync_sum;
  ++sync_sum;
  pthread_rwlock_unlock(&rwlock);
}
void write_under_read_lock() {
  pthread_rwlock_rdlock(&rwlock);
  ++sync_sum;
  pthread_rwlock_unlock(&rwlock);
}

void wait_for_flag() {
  pthread_mutex_lock(&mutex_a);
  while (!flag) pthread_cond_wait(&condition, &mutex_a);
  pthread_mutex_unlock(&mutex_a);
}
void set_flag_and_signal() {
  pthread_mutex_lock(&mutex_a);
  flag = true;
  pthread_mutex_unlock(&mutex_a);
  pthread_cond_signal(&condition);
}
void set_flag_and_broadcast() {
  pthread_mutex_lock(&mutex_a);
  flag = true;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex_a);
}
void wait_for_std_flag() {
  std::unique_lock lock(std_mutex);
  std_condition.wait(lock, [] { return flag; });
}
void set_std_flag() {
  {
    const std::lock_guard lock(std_mutex);
    flag = true;
  }
  std_condition.notify_one();
}
void wait_looking_too_early() {
  if (atomic_flag) return;
  pthread_mutex_lock(&mutex_a);
  pthread_cond_wait(&condition, &mutex_a);
  pthread_mutex_unlock(&mutex_a);
}
void set_flag_unlocked() {
  atomic_flag = true;
  pthread_cond_signal(&condition);
}
void wait_without_flag() {
  pthread_mutex_lock(&mutex_a);
  pthread_cond_wait(&condition, &mutex_a);
  pthread_mutex_unlock(&mutex_a);
}
void signal_only() { pthread_cond_signal(&condition); }
void wait_for_flag_a_moment() {
  std::unique_lock lock(std_mutex);
  sync_results[0] = std_condition.wait_for(lock, std::chrono::milliseconds(1), [] { return flag; }) ? 1 : 2;
}
void wait_for_flag_by_moments() {
  std::unique_lock lock(std_mutex);
  while (!flag) std_condition.wait_for(lock, std::chrono::milliseconds(1));
}
void set_flag_silently() {
  const std::lock_guard lock(std_mutex);
  flag = true;
}

void begin_barrier() { pthread_barrier_init(&barrier, nullptr, 3); }
void pass_barrier() {
  left.fetch_add(1, std::memory_order_relaxed);
  pthread_barrier_wait(&barrier);
  demand(left.load(std::memory_order_relaxed) == 3);
}

void create_and_join() {
  ++sync_sum;
  pthread_t thread;
  demand(pthread_create(&thread, nullptr, add_in_thread, nullptr) == 0);
  void* result = nullptr;
  demand(pthread_join(thread, &result) == 0);
  demand(result == &sync_sum);
  std::thread([] { ++sync_sum; }).join();
  demand(sync_sum == 3);
}
void create_and_race() {
  pthread_t thread;
  pthread_create(&thread, nullptr, add_in_thread, nullptr);
  ++sync_sum;
  pthread_join(thread, nullptr);
}
void store_buffering_in_std_threads() {
  std::thread a([] {
    left.store(1, std::memory_order_relaxed);
    sync_results[0] = right.load(std::memory_order_relaxed);
  });
  std::thread b([] {
    right.store(1, std::memory_order_relaxed);
    sync_results[1] = left.load(std::memory_order_relaxed);
  });
  a.join();
  b.join();
}
void pass_local_by_reference() {
  int local = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&local] { ++local; });
  for (std::thread& thread : threads) thread.join();
}
void leave_by_exit() {
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        pthread_exit(&sync_sum);
        return nullptr;
      },
      nullptr);
  void* result = nullptr;
  pthread_join(thread, &result);
  demand(result == &sync_sum);
}
void forget_to_join() {
  std::thread thread([] {});
}

void use_once() {
  static std::once_flag once;
  std::call_once(once, [] { ++sync_sum; });
  demand(sync_sum == 1);
}
void use_static_local() {
  static const std::vector<int> numbers{++sync_sum, 2, 3};
  demand(numbers.size() == 3 && numbers[0] == 1);
}

void set_spin_flag() { spin_flag.store(1, std::memory_order_release); }
void spin_for_flag() {
  while (spin_flag.load(std::memory_order_acquire) == 0) sched_yield();
}
void sleep_for_flag() {
  while (spin_flag.load(std::memory_order_acquire) == 0) usleep(1000);
}
void spin_for_two_flags() {
  while (spin_flag.load(std::memory_order_acquire) == 0 || other_flag.load(std::memory_order_acquire) == 0) {
  }
}
void spin_with_compare_exchange() {
  int one = 1;
  while (!spin_flag.compare_exchange_weak(one, 2, std::memory_order_acquire)) one = 1;
}
void spin_a_few_times() {
  for (int i = 0; i < 3; ++i) {
    if (spin_flag.load(std::memory_order_acquire) != 0) return;
  }
  sync_results[0] = 1;
}
void count_spin_flag() {
  for (int number = 1; number <= 3; ++number) spin_flag.store(number, std::memory_order_release);
}
void retry_for_three() {
  ringside::explore::retry([] { return spin_flag.load(std::memory_order_acquire) == 3; });
}
void retry_for_one() {
  ringside::explore::retry([] { return spin_flag.load(std::memory_order_acquire) == 1; });
}
void retry_and_count_on_the_stack() {
  int tries = 0;
  ringside::explore::retry([&tries] { return spin_flag.load(std::memory_order_acquire) != 0 || ++tries == 3; });
  sync_results[0] = tries;
}
void retry_and_count_in_memory() {
  ringside::explore::retry([] { return spin_flag.load(std::memory_order_acquire) != 0 || ++sync_results[0] == 3; });
}
void tell_twice() {
  sync_sum = static_cast<int>(1 + ringside::explore::choose(2));
  for (int i = 0; i < 2; ++i) spin_flag.store(1, std::memory_order_release);
}
void retry_until_sum_is_two() {
  ringside::explore::retry([] { return spin_flag.load(std::memory_order_acquire) != 0 && sync_sum == 2; });
}
void spin_on_volatile() {
  while (volatile_flag == 0) {
  }
}
void set_volatile_flag() { volatile_flag = 1; }

void throw_out() { throw std::runtime_error("thrown on purpose"); }
void fail_assertion() { assert(sync_sum == 7); }

void allocate_for_ever() {
  while (true) {
    void* volatile never_freed = std::malloc(1000);
    demand(never_freed != nullptr);
  }
}
void use_after_free() {
  auto* const number = new int(7);
  block.store(number, std::memory_order_relaxed);
  delete number;
  *block.load(std::memory_order_relaxed) = 8;
}
void free_twice() {
  void* const memory = std::malloc(100);
  block.store(static_cast<int*>(memory), std::memory_order_relaxed);
  std::free(memory);
  std::free(block.load(std::memory_order_relaxed));
}
void pass_block() { block.store(new int(7), std::memory_order_release); }
void take_block() {
  const std::unique_ptr<int> mine(block.exchange(nullptr, std::memory_order_acquire));
  if (mine != nullptr) demand(*mine == 7);
}
void take_block_late() {
  const int* const shared = block.load(std::memory_order_acquire);
  if (shared != nullptr) demand(*shared == 7);
}
void free_block_early() {
  auto* const number = new int(7);
  block.store(number, std::memory_order_release);
  delete number;
}
void use_strings() {
  std::string text;
  for (int i = 0; i < 40; ++i) text += std::to_string(i);
  const auto shared = std::make_shared<std::string>(text);
  const std::shared_ptr<std::string> again = shared;
  demand(*again == text && again.use_count() == 2);
  char* const grown = static_cast<char*>(std::realloc(std::calloc(10, 1), 100));
  demand(grown[9] == 0);
  std::free(grown);
}
