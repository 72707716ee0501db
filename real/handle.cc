// SPDX-License-Identifier: Apache-2.0
#include "real/handle.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace ringside::real {

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

ring::Result<Fd> open_event(const perf_event_attr& attr, std::int32_t pid, std::int32_t cpu, std::string_view what) {
  perf_event_attr asked = attr;
  asked.size = sizeof(asked);
  const auto open = [&] {
    return static_cast<int>(::syscall(SYS_perf_event_open, &asked, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
  };
  Fd event(open());
  if (!event && errno == EINVAL && asked.read_format != 0) {
    asked.read_format = 0;
    event = Fd(open());
  }
  if (event) return event;
  const int code = errno;
  const char* remedy = "";
  if (code == EPERM || code == EACCES) {
    // The unprivileged may watch what a thread of theirs does in user mode, if the system lets them.
    remedy = asked.exclude_kernel != 0 ? "run as root, or: sudo sysctl kernel.perf_event_paranoid=2"
                                       : "run as root or with CAP_PERFMON";
  } else if (code == ENODEV) {
    remedy = "name a CPU that is online";
  } else if (code == ENOSYS) {
    remedy = "needs a kernel with CONFIG_PERF_EVENTS";
  }
  return ring::errno_error(fmt::format("open {}", what), code, remedy);
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
