// SPDX-License-Identifier: Apache-2.0
#include "ring/io.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace ringside::ring {

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 65536> part;
  while (true) {
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace ringside::ring
