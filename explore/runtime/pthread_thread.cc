// SPDX-License-Identifier: Apache-2.0
//
// Threads that the explored code creates, of POSIX and of libstdc++, and how a thread or the program ends.
#include <errno.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>

#include "explore/runtime/world.h"

namespace ringside::explore::runtime {
namespace {

// A thread's handle is its number and this: not 0, which is nobody's to std::thread.
constexpr pthread_t first_handle = 0x1000;

pthread_t handle_of(std::size_t thread) { return first_handle + thread; }

/// The engine, for who creates threads or waits for them.
Engine& enter_for_threads() {
  if (Engine* const engine = enter()) return *engine;
  if (Engine::current != nullptr) {
    refuse(*Engine::current, "threads in begin or end: create them in a thread of the program");
  }
  std::fputs("ringside: explored code creates threads outside of an exploration, which its runtime has not\n", stderr);
  std::abort();
}

std::size_t create(Engine& engine, const std::function<void*()>& body) {
  // From now on it may have been given the address of what is on its creator's stack.
  world.stacks_shared = true;
  note_effect(engine);
  return engine.spawn([body, now = my_record(engine).clock_ns] {
    my_record(*Engine::current).clock_ns = now;
    run([&body] {
      void* const result = body();
      my_record(*Engine::current).result = result;
    });
  });
}

/// Waits for its end, which the joining thread then knows; false for a handle of no thread.
bool join(Engine& engine, pthread_t handle) {
  const std::size_t thread = handle - first_handle;
  if (thread >= most_threads || !engine.was_spawned(thread)) return false;
  note_effect(engine);
  engine.join(thread);
  my_record(engine).clock_ns = std::max(my_record(engine).clock_ns, world.threads[thread].clock_ns);
  return true;
}

[[noreturn]] void end_program(std::string how) {
  if (Engine::current != nullptr) Engine::current->fail(FailureKind::failed, std::move(how));
  std::fprintf(stderr, "ringside: outside of an exploration: %s\n", how.c_str());
  std::abort();
}

}  // namespace
}  // namespace ringside::explore::runtime

namespace runtime = ringside::explore::runtime;

extern "C" {

int ringside_explored_pthread_create(pthread_t* handle, const pthread_attr_t*, void* (*start)(void*), void* argument) {
  auto& engine = runtime::enter_for_threads();
  runtime::access(engine, handle, sizeof *handle, true);
  *handle = runtime::handle_of(runtime::create(engine, [=] { return start(argument); }));
  return 0;
}
int ringside_explored_pthread_join(pthread_t handle, void** result) {
  auto& engine = runtime::enter_for_threads();
  if (!runtime::join(engine, handle)) return ESRCH;
  if (result != nullptr) {
    runtime::access(engine, result, sizeof *result, true);
    *result = runtime::world.threads[handle - runtime::first_handle].result;
  }
  return 0;
}
int ringside_explored_pthread_detach(pthread_t) { return 0; }
pthread_t ringside_explored_pthread_self() {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  return engine != nullptr ? runtime::handle_of(engine->running()) : pthread_self();
}
int ringside_explored_pthread_equal(pthread_t a, pthread_t b) { return a == b ? 1 : 0; }
void ringside_explored_pthread_exit(void* result) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) pthread_exit(result);
  runtime::my_record(*engine).result = result;
  engine->end_thread();
}
int ringside_explored_pthread_setname_np(pthread_t, const char*) { return 0; }
int ringside_explored_pthread_setaffinity_np(pthread_t, std::size_t, const void*) { return 0; }

// std::thread: _M_start_thread(unique_ptr<_State>, void (*)()), join, detach, hardware_concurrency. The object is its
// handle, and 0 when it is nobody's.
void ringside_explored__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    pthread_t* thread, std::unique_ptr<std::thread::_State>* state, void (*)()) {
  auto& engine = runtime::enter_for_threads();
  std::thread::_State* const body = state->release();
  const auto run = [body] {
    body->_M_run();
    delete body;
    return static_cast<void*>(nullptr);
  };
  *thread = runtime::handle_of(runtime::create(engine, run));
}
void ringside_explored__ZNSt6thread4joinEv(pthread_t* thread) {
  auto& engine = runtime::enter_for_threads();
  if (!runtime::join(engine, *thread)) runtime::end_program("join of a std::thread that runs nothing");
  *thread = 0;
}
void ringside_explored__ZNSt6thread6detachEv(pthread_t* thread) { *thread = 0; }
unsigned ringside_explored__ZNSt6thread20hardware_concurrencyEv() { return 2; }

void ringside_explored__ZSt9terminatev() { runtime::end_program("std::terminate was called"); }
void ringside_explored_abort() { runtime::end_program("abort was called"); }
void ringside_explored_exit(int status) { runtime::end_program(fmt::format("exit({}) was called", status)); }
void ringside_explored__exit(int status) { runtime::end_program(fmt::format("_exit({}) was called", status)); }
void ringside_explored___assert_fail(const char* assertion, const char* file, unsigned line, const char* function) {
  runtime::end_program(fmt::format("{}:{}: {}: assertion '{}' does not hold", file, line, function, assertion));
}

// Threads share the process's errno, being fibers of one thread of it.
int* ringside_explored___errno_location() {
  auto* const engine = runtime::exploring();
  return engine != nullptr ? &runtime::my_record(*engine).error_number : &errno;
}

// False: with it shared_ptr counts without atomics.
char ringside_explored___libc_single_threaded = 0;
}
