// SPDX-License-Identifier: Apache-2.0
//
// eventfd and timerfd, and what is done to descriptors of any kind.
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstring>
#include <utility>

#include "explore/runtime/descriptors.h"
#include "explore/runtime/os_result.h"
#include "explore/runtime/virtual_time.h"
#include "explore/runtime/wait_queue.h"

namespace ringside::explore::runtime {

int os_error(Engine* engine, int error) {
  if (engine != nullptr) {
    my_record(*engine).error_number = error;
  } else {
    errno = error;
  }
  return -1;
}

int os_refuse(std::string what) {
  if (Engine::current != nullptr) refuse(*Engine::current, std::move(what));
  errno = ENOSYS;
  return -1;
}

namespace {

using Kind = Descriptor::Kind;

/// Takes what a read of the descriptor's word gets: its value or, counting down, 1. 0: there was nothing, and it does
/// not wait.
std::uint64_t take_count(Engine& engine, Descriptor& descriptor) {
  static const std::function<bool(std::uint64_t)> some = [](std::uint64_t count) { return count > 0; };
  const bool one = descriptor.counts_down;
  const std::uint64_t count =
      await_update(engine, &descriptor.state, sizeof descriptor.state, Order::acq_rel,
                   descriptor.blocking ? &some : nullptr, [one](std::uint64_t value) -> std::optional<std::uint64_t> {
                     if (value == 0) return std::nullopt;
                     return one ? value - 1 : 0;
                   });
  return one ? std::min<std::uint64_t>(count, 1) : count;
}

/// A timer that is read may have expired by then; one that waits for it, has.
void expire_for_reader(Engine& engine, Descriptor& timer) {
  if (timer.kind == Kind::timer && timer.armed && (timer.blocking || timeout_passes(engine))) expire(engine, timer);
}

ssize_t read(Engine& engine, Descriptor& descriptor, void* buffer, std::size_t size) {
  if (descriptor.kind != Kind::event && descriptor.kind != Kind::timer) return os_error(&engine, EINVAL);
  if (size < sizeof(std::uint64_t)) return os_error(&engine, EINVAL);
  expire_for_reader(engine, descriptor);
  const std::uint64_t count = take_count(engine, descriptor);
  if (count == 0) return os_error(&engine, EAGAIN);
  access(engine, buffer, sizeof count, true);
  std::memcpy(buffer, &count, sizeof count);
  return sizeof count;
}

ssize_t write(Engine* engine, Descriptor& descriptor, const void* buffer, std::size_t size) {
  std::uint64_t more = 0;
  if (descriptor.kind != Kind::event || size < sizeof more) return os_error(engine, EINVAL);
  if (engine != nullptr) access(*engine, buffer, sizeof more, false);
  std::memcpy(&more, buffer, sizeof more);
  // What would not fit is for a writer to wait for: nobody counts that far.
  if (more >= UINT32_MAX) return os_refuse("write of more than 2^32 to an eventfd");
  update_word(engine, &descriptor.state, Order::seq_cst,
              [more](std::uint64_t count) { return std::optional{count + more}; });
  tell_watchers(engine, descriptor);
  return sizeof more;
}

/// Of a source, and of a descriptor that the program's answer made up.
std::optional<long> ask(Engine* engine, const Descriptor* descriptor, const char* name, int number, const void* buffer,
                        std::size_t size) {
  if (descriptor != nullptr && descriptor->kind != Kind::source) return std::nullopt;
  const std::array<long, 6> arguments{number, reinterpret_cast<long>(buffer), static_cast<long>(size)};
  return os_ask(engine, {.name = name, .arguments = arguments});
}

std::string not_ours(const char* call, int number) {
  return fmt::format("{} of descriptor {}, which is none of the exploration's: use it in begin, or open_source()", call,
                     number);
}

int set_timer(Engine* engine, int number, int flags, const itimerspec& time) {
  Descriptor* const timer = descriptors().find(number);
  if (timer == nullptr || timer->kind != Kind::timer) return os_error(engine, timer == nullptr ? EBADF : EINVAL);
  const std::uint64_t now = engine != nullptr ? my_record(*engine).clock_ns : 0;
  const std::uint64_t after = nanoseconds_of(time.it_value);
  timer->armed = after != 0;
  timer->interval_ns = nanoseconds_of(time.it_interval);
  timer->expiry_ns = (flags & TFD_TIMER_ABSTIME) != 0 ? now : now + after;
  update_word(engine, &timer->state, Order::acq_rel, [](std::uint64_t) { return std::optional<std::uint64_t>{0}; });
  return 0;
}

}  // namespace
}  // namespace ringside::explore::runtime

namespace runtime = ringside::explore::runtime;

extern "C" {

int ringside_explored_eventfd(unsigned value, int flags) {
  runtime::enter(__builtin_return_address(0));
  const int number = runtime::descriptors().open(runtime::Descriptor::Kind::event, (flags & EFD_NONBLOCK) == 0);
  if (auto* const event = runtime::descriptors().find(number)) {
    event->state = value;
    event->counts_down = (flags & EFD_SEMAPHORE) != 0;
  }
  return number;
}
int ringside_explored_timerfd_create(int, int flags) {
  runtime::enter(__builtin_return_address(0));
  return runtime::descriptors().open(runtime::Descriptor::Kind::timer, (flags & TFD_NONBLOCK) == 0);
}
int ringside_explored_timerfd_settime(int number, int flags, const itimerspec* time, itimerspec* before) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (before != nullptr) *before = {};
  return runtime::set_timer(engine, number, flags, *time);
}

ssize_t ringside_explored_read(int number, void* buffer, std::size_t size) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  auto* const descriptor = runtime::descriptors().find(number);
  if (const auto answer = runtime::ask(engine, descriptor, "read", number, buffer, size)) return *answer;
  if (engine != nullptr && descriptor != nullptr) return runtime::read(*engine, *descriptor, buffer, size);
  if (engine != nullptr || descriptor != nullptr) return runtime::os_refuse(runtime::not_ours("read", number));
  return read(number, buffer, size);
}
ssize_t ringside_explored_write(int number, const void* buffer, std::size_t size) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  auto* const descriptor = runtime::descriptors().find(number);
  if (const auto answer = runtime::ask(engine, descriptor, "write", number, buffer, size)) return *answer;
  if (descriptor != nullptr) return runtime::write(engine, *descriptor, buffer, size);
  // Words for whoever watches the exploration.
  const bool told = number == STDOUT_FILENO || number == STDERR_FILENO;
  if (engine != nullptr && !told) return runtime::os_refuse(runtime::not_ours("write", number));
  return write(number, buffer, size);
}
int ringside_explored_eventfd_read(int number, eventfd_t* value) {
  return ringside_explored_read(number, value, sizeof *value) == sizeof *value ? 0 : -1;
}
int ringside_explored_eventfd_write(int number, eventfd_t value) {
  return ringside_explored_write(number, &value, sizeof value) == sizeof value ? 0 : -1;
}
int ringside_explored_close(int number) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (runtime::descriptors().find(number) != nullptr) {
    runtime::descriptors().close(number);
    return 0;
  }
  if (engine != nullptr && runtime::Descriptors::is_ours(number)) return runtime::os_error(engine, EBADF);
  return engine != nullptr ? runtime::os_refuse(runtime::not_ours("close", number)) : close(number);
}
int ringside_explored_fcntl(int number, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  auto* const engine = runtime::enter(__builtin_return_address(0));
  auto* const descriptor = runtime::descriptors().find(number);
  if (descriptor == nullptr) {
    return engine != nullptr ? runtime::os_refuse(runtime::not_ours("fcntl", number))
                             : fcntl(number, command, argument);
  }
  if (command == F_SETFL) descriptor->blocking = (argument & O_NONBLOCK) == 0;
  if (command == F_GETFL) return O_RDWR | (descriptor->blocking ? 0 : O_NONBLOCK);
  return 0;
}
}
