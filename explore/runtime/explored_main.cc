// SPDX-License-Identifier: Apache-2.0
//
// The program that ringside_add_explored() makes of explored sources:
//   PROGRAM [--list] [NAME...]     explores the named programs, or all that are registered
// Exit status: 0 all clean, 1 something failed, 2 wrong usage.
#include <cstdio>
#include <string>
#include <vector>

#include "explore/explored.h"

namespace {

namespace explore = ringside::explore;

int explore_all(const std::vector<std::string>& names) {
  int status = 0;
  for (const std::string& name : names) {
    const auto found = explore::registered_programs().find(name);
    if (found == explore::registered_programs().end()) {
      std::fprintf(stderr, "no program is registered as '%s'; --list names them\n", name.c_str());
      return 2;
    }
    const explore::SearchResult result = explore::explore(found->second);
    std::printf("%s: %s\n", name.c_str(), explore::summary_of(result).c_str());
    if (result.failure) status = 1;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  const bool list = names.size() == 1 && names.front() == "--list";
  if (list) names.clear();
  if (names.empty()) {
    for (const auto& [name, program] : explore::registered_programs()) names.push_back(name);
  }
  if (names.empty()) {
    std::fprintf(stderr, "no program is registered; see explore/explored.h\n");
    return 2;
  }
  if (!list) return explore_all(names);
  for (const std::string& name : names) std::printf("%s\n", name.c_str());
  return 0;
}
