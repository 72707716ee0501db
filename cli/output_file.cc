// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "ring/io.h"

namespace ringside::cli {
namespace {

namespace fs = std::filesystem;

std::string attempt_on(const std::string& path) { return fmt::format("write report \"{}\"", path); }

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// A link is followed: the file that it names is replaced, not the link.
std::string resolved(const std::string& path) {
  std::error_code failure;
  const fs::path real = fs::canonical(path, failure);
  return failure ? path : real.string();
}

ring::Result<void> write_directly(const std::string& path, std::string_view text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return ring::errno_error(attempt_on(path), errno);
  int failure = ring::write_all(descriptor, text);
  if (close(descriptor) != 0 && failure == 0) failure = errno;  // a full disk may show at the end only
  if (failure != 0) return ring::errno_error(attempt_on(path), failure);
  return {};
}

}  // namespace

ring::Result<OutputFile> OutputFile::prepare(const std::string& path) {
  if (path.empty()) return OutputFile("", false);
  struct stat status{};
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return ring::error(attempt_on(path), "it is a directory", "name a file in it");
    if (!S_ISREG(status.st_mode)) return OutputFile(path, false);
  }
  const std::string target = resolved(path);
  const std::string trial = fmt::format("{}.{}.new", target, getpid());
  const int descriptor = open(trial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int failure = errno;
    return ring::errno_error(attempt_on(path), failure,
                             failure == ENOENT ? fmt::format("make the directory \"{}\" first", folder_of(path))
                                               : "choose a place that you may write to");
  }
  close(descriptor);
  unlink(trial.c_str());
  return OutputFile(target, true);
}

ring::Result<void> OutputFile::write(std::string_view text) const {
  if (is_standard_output()) {
    if (const int failure = ring::write_all(STDOUT_FILENO, text); failure != 0) {
      return ring::errno_error("write report to standard output", failure);
    }
    return {};
  }
  if (!renames_) return write_directly(path_, text);
  const ring::Result<void> replaced = ring::replace_file(path_, text);
  if (!replaced) return ring::errno_error(attempt_on(path_), replaced.error().code);
  return {};
}

}  // namespace ringside::cli
