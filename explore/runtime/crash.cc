// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/crash.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstdint>

#include "explore/runtime/access_modes.h"
#include "explore/runtime/world.h"

namespace ringside::explore::runtime {
namespace {

constexpr std::size_t handler_stack_bytes = std::size_t{256} << 10;

const char* name_of_signal(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGBUS:
      return "bus error";
    case SIGFPE:
      return "arithmetic error";
    default:
      return "illegal instruction";
  }
}

/// Leaves the explored thread for good: the search goes on, on its own stack. The fault was at an instruction of the
/// thread, so nothing of the search's own is left half done.
void handle(int signal, siginfo_t* info, void*) {
  Engine* const engine = exploring();
  if (engine == nullptr) {
    // Not ours: the instruction is tried again, and does what it did before there was a handler.
    ::signal(signal, SIG_DFL);
    return;
  }
  if (engine->guards_running_stack(info->si_addr)) {
    engine->fail(FailureKind::stack_overflow,
                 fmt::format("thread {} ran over the end of its stack; SearchOptions::stack_bytes sets its size",
                             engine->running()));
  }
  engine->fail(FailureKind::crash,
               fmt::format("thread {}: {} at address {:#x}", engine->running(), name_of_signal(signal),
                           reinterpret_cast<std::uintptr_t>(info->si_addr)));
}

/// Comes twice in the longest silence. At the second time without an access in between the thread is in a loop of its
/// own; the search would not be that long at one step.
void handle_silence(int, siginfo_t*, void*) {
  Engine* const engine = exploring();
  if (engine == nullptr) return;
  const std::uint64_t now = world.hooks + (std::uint64_t{world.executions} << 32);
  if (now != world.hooks_at_tick) {
    world.hooks_at_tick = now;
    world.silent_ticks = 0;
    return;
  }
  if (++world.silent_ticks < 2) return;
  engine->fail(FailureKind::too_long,
               fmt::format("thread {} has computed for {} ms without an access; does it ever end?", engine->running(),
                           longest_silence_ms()));
}

void start_timer(itimerval* before) {
  const auto half_us = static_cast<long>(longest_silence_ms()) * 500;
  const timeval half{.tv_sec = half_us / 1'000'000, .tv_usec = half_us % 1'000'000};
  const itimerval timer{.it_interval = half, .it_value = half};
  ::setitimer(ITIMER_VIRTUAL, &timer, before);
}

bool handles = false;  ///< a handler lives

/// A copy of the process begins without a timer.
void start_timer_of_copy() {
  if (handles) start_timer(nullptr);
}

}  // namespace

CrashHandler::CrashHandler() : stack_(std::make_unique<char[]>(handler_stack_bytes)) {
  const stack_t stack{.ss_sp = stack_.get(), .ss_flags = 0, .ss_size = handler_stack_bytes};
  ::sigaltstack(&stack, &stack_before_);
  struct sigaction action{};
  action.sa_sigaction = handle;
  // The handler is left without returning, so the signal must not be blocked in it.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &before_[i]);
  action.sa_sigaction = handle_silence;
  action.sa_flags |= SA_RESTART;
  ::sigaction(SIGVTALRM, &action, &alarm_before_);
  static const int in_copies = ::pthread_atfork(nullptr, nullptr, start_timer_of_copy);
  static_cast<void>(in_copies);
  handles = true;
  start_timer(&timer_before_);
}

CrashHandler::~CrashHandler() {
  handles = false;
  ::setitimer(ITIMER_VIRTUAL, &timer_before_, nullptr);
  ::sigaction(SIGVTALRM, &alarm_before_, nullptr);
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  ::sigaltstack(&stack_before_, nullptr);
}

}  // namespace ringside::explore::runtime
