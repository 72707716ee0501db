// SPDX-License-Identifier: Apache-2.0
//
// The program that ringside_add_explored() makes of explored sources; --help tells what it takes (explore/front.h).
#include <string>
#include <vector>

#include "explore/explored.h"
#include "explore/front.h"

int main(int argc, char** argv) {
  namespace explore = ringside::explore;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return explore::front(argv[0], arguments,
                        {.programs = explore::registered_programs(),
                         .explore = [](const auto&... asked) { return explore::explore(asked...); },
                         .prepare = explore::prepared,
                         .build = explore::own_build()});
}
