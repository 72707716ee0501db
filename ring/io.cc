// SPDX-License-Identifier: Apache-2.0
#include "ring/io.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>

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

Result<void> replace_file(const std::string& path, std::string_view text) {
  // The process id keeps two that write the same file apart.
  const std::string beside = path + "." + std::to_string(::getpid()) + ".new";
  const std::string attempt = "write " + path;
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return errno_error(attempt, errno);
  int fault = write_all(file, text);
  if (fault == 0 && ::fsync(file) != 0) fault = errno;
  if (::close(file) != 0 && fault == 0) fault = errno;
  if (fault == 0 && ::rename(beside.c_str(), path.c_str()) != 0) fault = errno;
  if (fault == 0) return {};
  ::unlink(beside.c_str());
  return errno_error(attempt, fault);
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
