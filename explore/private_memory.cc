// SPDX-License-Identifier: Apache-2.0
#include "explore/private_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "explore/take_text.h"

namespace ringside::explore {
namespace {

/// Device and inode.
using FileId = std::pair<std::uint64_t, std::uint64_t>;

struct Mapping {
  std::uintptr_t begin = 0;
  std::size_t size_bytes = 0;
  std::uint64_t offset = 0;  ///< in the file
  int protection = PROT_NONE;
};

/// A line of /proc/self/maps: `7f00-7f10 rw-s 00001000 00:01 2054 /memfd:ring (deleted)`. False if it is no mapping of
/// shared nameless memory.
bool read_line(std::string_view line, FileId& file, Mapping& mapping) {
  std::uintptr_t end = 0;
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!is_number(take_until(line, '-'), mapping.begin, 16) || !is_number(take_until(line, ' '), end, 16)) return false;
  const std::string_view rights = take_until(line, ' ');
  if (rights.size() != 4 || rights[3] != 's') return false;
  if (!is_number(take_until(line, ' '), mapping.offset, 16) || !is_number(take_until(line, ':'), major, 16) ||
      !is_number(take_until(line, ' '), minor, 16) || !is_number(take_until(line, ' '), file.second)) {
    return false;
  }
  file.first = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  mapping.size_bytes = end - mapping.begin;
  mapping.protection =
      (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) | (rights[2] == 'x' ? PROT_EXEC : 0);
  const std::string_view name = line.substr(std::min(line.find('/'), line.size()));
  return name.starts_with("/memfd:") || name.starts_with("/dev/zero (deleted)");
}

/// A copy of what the mappings hold, which takes their place; its descriptor.
ring::Result<int> copy_of(const std::vector<Mapping>& mappings) {
  std::uint64_t size = 0;
  for (const Mapping& mapping : mappings) size = std::max(size, mapping.offset + mapping.size_bytes);
  const int copy = ::memfd_create("ringside-copy", MFD_CLOEXEC);
  if (copy < 0) return ring::errno_error("make memory for a copy", errno);
  bool good = ::ftruncate(copy, static_cast<off_t>(size)) == 0;
  for (const Mapping& mapping : mappings) {
    if (!good || (mapping.protection & PROT_READ) == 0) continue;
    const auto* const bytes = reinterpret_cast<const void*>(mapping.begin);
    const ssize_t written = ::pwrite(copy, bytes, mapping.size_bytes, static_cast<off_t>(mapping.offset));
    // What lies beyond the end of its file cannot be read, and nobody else reads it either.
    good = written >= 0 || errno == EFAULT;
  }
  for (const Mapping& mapping : mappings) {
    auto* const place = reinterpret_cast<void*>(mapping.begin);
    good = good && ::mmap(place, mapping.size_bytes, mapping.protection, MAP_SHARED | MAP_FIXED, copy,
                          static_cast<off_t>(mapping.offset)) == place;
  }
  if (good) return copy;
  const int fault = errno;
  ::close(copy);
  return ring::errno_error("copy shared memory", fault);
}

/// Whatever opens the file by a descriptor from now on gets the copy.
void take_over_descriptors(const std::map<FileId, int>& copies) {
  std::error_code error;
  std::vector<int> descriptors;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    int descriptor = 0;
    if (is_number(entry.path().filename().string(), descriptor)) descriptors.push_back(descriptor);
  }
  for (const int descriptor : descriptors) {
    struct stat known{};
    if (::fstat(descriptor, &known) != 0) continue;
    const auto copy = copies.find({known.st_dev, known.st_ino});
    if (copy != copies.end()) ::dup3(copy->second, descriptor, O_CLOEXEC);
  }
}

}  // namespace

ring::Result<void> make_shared_memory_private() {
  std::map<FileId, std::vector<Mapping>> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    FileId file;
    Mapping mapping;
    if (read_line(line, file, mapping)) files[file].push_back(mapping);
  }
  std::map<FileId, int> copies;
  for (const auto& [file, mappings] : files) {
    const auto copy = copy_of(mappings);
    if (!copy) return tl::unexpected(copy.error());
    copies.emplace(file, *copy);
  }
  take_over_descriptors(copies);
  for (const auto& [file, copy] : copies) ::close(copy);
  return {};
}

}  // namespace ringside::explore
