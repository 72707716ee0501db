// SPDX-License-Identifier: Apache-2.0
//
// Explores code as it stands: C and C++ that was built by ringside_add_explored() (cmake/RingsideExplored.cmake), so
// that its accesses of memory, its atomics and its calls that block are steps of the search. docs/explored.md has the
// rules.
//
// A program is a Program (explore/program.h) whose threads call that code. It may be made where a test wants it and
// given to explore(), or be registered under a name:
//
//   static const ringside::explore::Registered passing{"passing", {.begin = reset, .threads = {send, receive}}};
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/program.h"
#include "explore/runtime/access_modes.h"
#include "explore/search.h"

namespace ringside::explore {

/// As search(), for threads that run instrumented code. Each execution begins with the static data of that code as it
/// was when the process's first exploration began, and with an empty heap. One thread of a process at a time.
SearchResult explore(const Program& program, const SearchOptions& options = {});
/// The same by another search than search(), in this process: a walk.
using SearchBy = std::function<SearchResult(const Program&, const SearchOptions&)>;
SearchResult explore(const Program& program, const SearchOptions& options, const SearchBy& search_by);

/// A descriptor that poll and epoll take, for rings and the like whose producer is part of the test. `poll` says which
/// of EPOLLIN and so on hold now, by accesses of explore/program.h. Each thread may open six, begin sixteen; all are
/// closed before the next execution.
int open_source(std::function<std::uint32_t()> poll);
/// Tells every epoll and poll that waits for it to ask again. A sequentially consistent step or more.
void wake_source(int descriptor);

/// Calls `poll`, in a thread of a program, until it returns true. A call that returns false and has changed nothing
/// that others may see, nor a variable of its caller, is as if it had not been made: the thread sleeps until a load of
/// it would read something else, and calls again. So a search has one execution where a loop around `poll` has one for
/// each number of calls in vain.
void retry(const std::function<bool()>& poll);

/// A call of libc's or of the kernel's that has no model: one of those that are refused by name (docs/explored.md), as
/// the sources made it. `mmap64`, `open64` and their like go by the name without the number.
struct Call {
  std::string_view name;
  std::array<long, 6> arguments;  ///< of `syscall`, the number first; what the call does not take is anything
};
/// What the kernel would return, a negative one of errno's values for an error. Nothing: this one has no answer either.
using Answer = std::function<std::optional<long>(const Call&)>;
/// Who answers from now on to the end of the execution, instead of a refusal; for begin's calls, instead of the
/// original. `read` and `write` of a source are asked, too. An answer accesses memory as the kernel's side does: in
/// steps where other threads may see it (explore/program.h).
void answer_calls(Answer answer);

/// The program as search(), replay() and minimise() must be given it; it must outlive what is returned.
Program prepared(const Program& program);

/// Puts a program under a name that `ringside explore` and explore/explored_main.cc find. For static objects.
class Registered {
 public:
  Registered(std::string name, Program program);
};

/// By name. The programs that are registered, once all static objects have been made.
const std::map<std::string, Program>& registered_programs();

/// The functions that the thread was in when the last execution ended, by their return addresses, outermost first.
std::vector<const void*> call_stack(std::size_t thread);

/// One line: how many executions, and what failed. Ends without a line feed.
std::string summary_of(const SearchResult& result);

}  // namespace ringside::explore
