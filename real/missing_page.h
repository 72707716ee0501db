// SPDX-License-Identifier: Apache-2.0
//
// A page of memory that is missing until it is supplied: whoever reads it sleeps in a page fault, a BPF program in a
// copy from user memory included. That is how a record stays BUSY without costing CPU time, and the fault, not the
// clock, tells when it is. Needs userfaultfd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "real/handle.h"
#include "ring/result.h"

namespace ringside::real {

/// Movable. Not thread-safe, but that others may sleep on the page.
class MissingPage {
 public:
  /// Errors: EPERM where neither the system call nor /dev/userfaultfd is allowed.
  static ring::Result<MissingPage> create();

  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(page_.data()); }
  /// Readable while a thread sleeps on the page.
  int fd() const { return fd_.get(); }

  /// Ends the sleep of whoever reads the page: it reads `value`. Errors: EEXIST when the page is there already.
  ring::Result<void> supply(std::uint32_t value);
  /// Makes a page that was supplied missing again. When nobody reads it.
  ring::Result<void> take_back();
  /// The last resort: whoever sleeps on the page reads zeros, now and later.
  void abandon() { fd_.reset(); }

 private:
  MissingPage() = default;

  Mapping page_;
  std::vector<std::byte> content_;
  Fd fd_;
};

}  // namespace ringside::real
