// SPDX-License-Identifier: Apache-2.0
#include "real/handle.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace ringside::real {

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    reset();
    address_ = std::exchange(other.address_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void Mapping::reset() {
  if (address_ != nullptr) ::munmap(address_, size_);
  address_ = nullptr;
  size_ = 0;
}

ring::Result<Mapping> Mapping::of_file(int fd, std::size_t size, int protection, std::size_t offset, const char* what) {
  void* const address = ::mmap(nullptr, size, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (address == MAP_FAILED) {
    const int code = errno;
    return ring::errno_error(fmt::format("map {} bytes of {}", size, what), code,
                             code == EPERM ? "raise RLIMIT_MEMLOCK or run with CAP_IPC_LOCK" : "");
  }
  return Mapping(address, size);
}

ring::Result<Mapping> Mapping::anonymous(std::size_t size, const char* what) {
  void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return ring::errno_error(fmt::format("map {} bytes of {}", size, what), errno);
  return Mapping(address, size);
}

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace ringside::real
