// SPDX-License-Identifier: Apache-2.0
#include "harness/text_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <optional>

#include "harness/text_layout.h"

namespace ringside::harness {

namespace {

/// What keeps a path from being read as text, told before it is opened: a FIFO blocks and a device may not end.
std::optional<std::string> unreadable_kind(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return std::nullopt;
  if (S_ISDIR(status.st_mode)) return "it is a directory";
  if (S_ISFIFO(status.st_mode)) return "it is a FIFO";
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) return "it is a device";
  return "it is no regular file";
}

}  // namespace

ring::Result<std::string> read_text_file(const std::string& path, const std::string& what, const std::string& remedy) {
  constexpr std::size_t most_bytes = 1u << 20;
  const std::string attempt = fmt::format("read {} \"{}\"", what, one_line(path));
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return ring::errno_error(attempt, errno, remedy);
  if (const auto kind = unreadable_kind(status)) return ring::error(attempt, *kind, remedy);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  // One byte more than may be: st_size says nothing of files that the kernel makes up.
  std::string text(most_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) return ring::errno_error(attempt, errno == 0 ? EIO : errno, remedy);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty()) return ring::error(attempt, "it is empty", remedy);
  if (text.size() > most_bytes) return ring::error(attempt, "it is larger than 1 MiB", remedy);
  return text;
}

}  // namespace ringside::harness
