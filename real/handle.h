// SPDX-License-Identifier: Apache-2.0
//
// What the running kernel lends us, as values that give it back: descriptors and mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "ring/result.h"

struct perf_event_attr;

namespace ringside::real {

/// One owned file descriptor. Movable; closed at the end of its life.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// perf_event_open(2) of an event on its own, closed on exec. `pid` 0: the calling thread, -1: any; `cpu` -1: any. A
/// kernel that refuses attr.read_format (before 6.0 there is no lost count) gets the same without it. `what` names the
/// event in an error, which is EPERM or EACCES without privilege, ENODEV for a CPU that is not online, or what the
/// kernel refuses of attr.
ring::Result<Fd> open_event(const perf_event_attr& attr, std::int32_t pid, std::int32_t cpu, std::string_view what);

/// One owned memory mapping. Movable; unmapped at the end of its life.
class Mapping {
 public:
  Mapping() = default;
  ~Mapping() { reset(); }
  Mapping(Mapping&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;

  /// Maps `size` bytes of `fd` from `offset` on, shared. `protection` as for mmap. `what` names it in an error.
  static ring::Result<Mapping> of_file(int fd, std::size_t size, int protection, std::size_t offset, const char* what);
  /// Maps `size` bytes of private memory that no page backs yet.
  static ring::Result<Mapping> anonymous(std::size_t size, const char* what);

  std::byte* data() const { return static_cast<std::byte*>(address_); }
  std::size_t size() const { return size_; }
  void reset();

 private:
  Mapping(void* address, std::size_t size) : address_(address), size_(size) {}

  void* address_ = nullptr;
  std::size_t size_ = 0;
};

/// The page size of this machine in bytes.
std::size_t page_bytes();

}  // namespace ringside::real
