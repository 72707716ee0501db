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

#include <map>
#include <string>

#include "explore/program.h"
#include "explore/runtime/access_modes.h"
#include "explore/search.h"

namespace ringside::explore {

/// As search(), for threads that run instrumented code. Each execution begins with the static data of that code as it
/// was when the process's first exploration began, and with an empty heap. One thread of a process at a time.
SearchResult explore(const Program& program, const SearchOptions& options = {});

/// Puts a program under a name that `ringside explore` and explore/explored_main.cc find. For static objects.
class Registered {
 public:
  Registered(std::string name, Program program);
};

/// By name. The programs that are registered, once all static objects have been made.
const std::map<std::string, Program>& registered_programs();

/// One line: how many executions, and what failed. Ends without a line feed.
std::string summary_of(const SearchResult& result);

}  // namespace ringside::explore
