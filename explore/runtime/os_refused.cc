// SPDX-License-Identifier: Apache-2.0
//
// Functions that reach outside of an exploration and have no model. The program's own answer comes first
// (answer_calls()); where it has none, they are refused by name within an exploration and elsewhere are what they are.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "explore/runtime/os_result.h"

namespace ringside::explore::runtime {

std::optional<long> os_ask(Engine* engine, const Call& call) {
  if (!world.answer) return std::nullopt;
  const std::optional<long> answer = world.answer(call);
  constexpr long largest_error = 4095;  // what is below is an address
  if (answer && *answer < 0 && *answer >= -largest_error) return os_error(engine, static_cast<int>(-*answer));
  return answer;
}

namespace {

using Words = long (*)(long, long, long, long, long, long);

std::string_view without_number(std::string_view name) {
  return name.substr(0, name.ends_with("64") ? name.size() - 2 : name.size());
}

/// Six words are what any of these functions takes; what it does not take it does not look at.
long refuse_or_call(const char* name, long a, long b, long c, long d, long e, long f) {
  Engine* const engine = enter();
  const Call call{.name = without_number(name), .arguments = {a, b, c, d, e, f}};
  if (const auto answer = os_ask(engine, call)) return *answer;
  if (engine != nullptr) {
    refuse(*engine, fmt::format("{}() is not modelled: call it in begin, or leave it out of what is explored", name));
  }
  void* const original = ::dlsym(RTLD_DEFAULT, name);
  if (original == nullptr) std::abort();  // the program was linked with it
  return reinterpret_cast<Words>(original)(a, b, c, d, e, f);
}

}  // namespace
}  // namespace ringside::explore::runtime

namespace ringside::explore {

void answer_calls(Answer answer) { runtime::world.answer = std::move(answer); }

}  // namespace ringside::explore

// A function for each; a macro, since names cannot be made by templates.
#define RINGSIDE_REFUSED(name)                                                               \
  extern "C" long ringside_explored_##name(long a, long b, long c, long d, long e, long f) { \
    return ringside::explore::runtime::refuse_or_call(#name, a, b, c, d, e, f);              \
  }

RINGSIDE_REFUSED(accept)
RINGSIDE_REFUSED(accept4)
RINGSIDE_REFUSED(bind)
RINGSIDE_REFUSED(connect)
RINGSIDE_REFUSED(creat)
RINGSIDE_REFUSED(dup)
RINGSIDE_REFUSED(dup2)
RINGSIDE_REFUSED(dup3)
RINGSIDE_REFUSED(execv)
RINGSIDE_REFUSED(execve)
RINGSIDE_REFUSED(execvp)
RINGSIDE_REFUSED(fork)
RINGSIDE_REFUSED(fsync)
RINGSIDE_REFUSED(ftruncate)
RINGSIDE_REFUSED(ioctl)
RINGSIDE_REFUSED(kill)
RINGSIDE_REFUSED(listen)
RINGSIDE_REFUSED(lseek)
RINGSIDE_REFUSED(madvise)
RINGSIDE_REFUSED(mmap)
RINGSIDE_REFUSED(mmap64)
RINGSIDE_REFUSED(mprotect)
RINGSIDE_REFUSED(mremap)
RINGSIDE_REFUSED(munmap)
RINGSIDE_REFUSED(open)
RINGSIDE_REFUSED(open64)
RINGSIDE_REFUSED(openat)
RINGSIDE_REFUSED(pause)
RINGSIDE_REFUSED(pipe)
RINGSIDE_REFUSED(pipe2)
RINGSIDE_REFUSED(ppoll)
RINGSIDE_REFUSED(pread)
RINGSIDE_REFUSED(pselect)
RINGSIDE_REFUSED(pthread_cancel)
RINGSIDE_REFUSED(pthread_kill)
RINGSIDE_REFUSED(pthread_sigmask)
RINGSIDE_REFUSED(pwrite)
RINGSIDE_REFUSED(raise)
RINGSIDE_REFUSED(readv)
RINGSIDE_REFUSED(recv)
RINGSIDE_REFUSED(recvfrom)
RINGSIDE_REFUSED(recvmsg)
RINGSIDE_REFUSED(select)
RINGSIDE_REFUSED(send)
RINGSIDE_REFUSED(sendmsg)
RINGSIDE_REFUSED(sendto)
RINGSIDE_REFUSED(sigaction)
RINGSIDE_REFUSED(signal)
RINGSIDE_REFUSED(signalfd)
RINGSIDE_REFUSED(sigwait)
RINGSIDE_REFUSED(socket)
RINGSIDE_REFUSED(system)
RINGSIDE_REFUSED(wait)
RINGSIDE_REFUSED(waitpid)
RINGSIDE_REFUSED(writev)
#undef RINGSIDE_REFUSED
