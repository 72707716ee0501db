// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/virtual_time.h"

#include <errno.h>
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

#include "explore/runtime/world.h"

namespace ringside::explore::runtime {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
/// What clocks show when an execution begins: a while after booting, and the 1st of January 2026.
constexpr std::uint64_t booted_s = 1000;
constexpr std::uint64_t date_s = 1'767'225'600;

std::uint64_t begin_of(clockid_t clock) {
  return (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? date_s : booted_s) * second_ns;
}

timespec timespec_of(std::uint64_t nanoseconds) {
  return {.tv_sec = static_cast<time_t>(nanoseconds / second_ns),
          .tv_nsec = static_cast<long>(nanoseconds % second_ns)};
}

std::uint64_t read_clock(Engine& engine, clockid_t clock) { return begin_of(clock) + look_at_clock(engine); }

}  // namespace

std::uint64_t nanoseconds_of(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * second_ns + static_cast<std::uint64_t>(time.tv_nsec);
}

clockid_t clock_of(const timespec& deadline) {
  return nanoseconds_of(deadline) >= date_s * second_ns ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

std::uint64_t look_at_clock(Engine& engine) {
  constexpr std::uint64_t look_ns = 100;
  constexpr std::uint32_t patience = 16;  // looks before time runs faster, by the factor of two each
  ThreadRecord& thread = my_record(engine);
  note_effect(engine);
  const std::uint32_t doublings = thread.clock_reads < patience ? 0 : std::min(thread.clock_reads - patience, 32u);
  ++thread.clock_reads;
  thread.clock_ns += look_ns << doublings;
  return thread.clock_ns;
}

void pass_time(Engine& engine, std::uint64_t nanoseconds) {
  ThreadRecord& thread = my_record(engine);
  thread.clock_ns += nanoseconds;
  thread.clock_reads = 0;
}

void pass_deadline(Engine& engine, clockid_t clock, const timespec& deadline) {
  ThreadRecord& thread = my_record(engine);
  const std::uint64_t begin = begin_of(clock);
  const std::uint64_t then = nanoseconds_of(deadline);
  thread.clock_ns = std::max(thread.clock_ns, then > begin ? then - begin : 0);
  thread.clock_reads = 0;
}

}  // namespace ringside::explore::runtime

namespace runtime = ringside::explore::runtime;

extern "C" {

int ringside_explored_clock_gettime(clockid_t clock, timespec* time) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return clock_gettime(clock, time);
  runtime::access(*engine, time, sizeof *time, true);
  *time = runtime::timespec_of(runtime::read_clock(*engine, clock));
  return 0;
}
int ringside_explored_gettimeofday(timeval* time, void* zone) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return gettimeofday(time, zone);
  const timespec now = runtime::timespec_of(runtime::read_clock(*engine, CLOCK_REALTIME));
  runtime::access(*engine, time, sizeof *time, true);
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}
time_t ringside_explored_time(time_t* result) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return time(result);
  const time_t now = runtime::timespec_of(runtime::read_clock(*engine, CLOCK_REALTIME)).tv_sec;
  if (result != nullptr) *result = now;
  return now;
}
// std::chrono::steady_clock::now() and system_clock::now(): nanoseconds.
std::int64_t ringside_explored__ZNSt6chrono3_V212steady_clock3nowEv() {
  timespec now{};
  ringside_explored_clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(runtime::nanoseconds_of(now));
}
std::int64_t ringside_explored__ZNSt6chrono3_V212system_clock3nowEv() {
  timespec now{};
  ringside_explored_clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(runtime::nanoseconds_of(now));
}

// Sleeping lets time pass and orders nothing.
int ringside_explored_nanosleep(const timespec* duration, timespec* rest) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return nanosleep(duration, rest);
  runtime::pass_time(*engine, runtime::nanoseconds_of(*duration));
  return 0;
}
int ringside_explored_clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* rest) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return clock_nanosleep(clock, flags, time, rest);
  if ((flags & TIMER_ABSTIME) != 0) {
    runtime::pass_deadline(*engine, clock, *time);
  } else {
    runtime::pass_time(*engine, runtime::nanoseconds_of(*time));
  }
  return 0;
}
int ringside_explored_usleep(useconds_t microseconds) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return usleep(microseconds);
  runtime::pass_time(*engine, std::uint64_t{microseconds} * 1000);
  return 0;
}
unsigned ringside_explored_sleep(unsigned seconds) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return sleep(seconds);
  runtime::pass_time(*engine, seconds * runtime::second_ns);
  return 0;
}
int ringside_explored_sched_yield() {
  return runtime::enter(__builtin_return_address(0)) != nullptr ? 0 : sched_yield();
}
}
