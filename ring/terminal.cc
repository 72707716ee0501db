// SPDX-License-Identifier: Apache-2.0
#include "ring/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string_view>

namespace ringside::ring {

bool is_drawn_on(int descriptor) {
  const char* const terminal = std::getenv("TERM");
  return isatty(descriptor) != 0 && terminal != nullptr && std::string_view{terminal} != "dumb";
}

bool shows_colour(int descriptor) {
  const char* const no_colour = std::getenv("NO_COLOR");
  return is_drawn_on(descriptor) && (no_colour == nullptr || *no_colour == '\0');
}

std::size_t columns_of(int descriptor, std::size_t elsewhere) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : elsewhere;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace ringside::ring
