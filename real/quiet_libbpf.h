// SPDX-License-Identifier: Apache-2.0
//
// libbpf talks to stderr by a function that the whole process shares. While a QuietLibbpf lives it talks to us instead,
// and its last line, which names what failed, goes into the error that load_error makes.
#pragma once

#include <mutex>
#include <string_view>

#include "ring/result.h"

namespace ringside::real {

/// Of one thread at a time: another thread that makes one waits; the same may make one within the other, as who loads
/// two programs, the second for the first, does. Not to be held over anything long.
class QuietLibbpf {
 public:
  QuietLibbpf();
  ~QuietLibbpf();
  QuietLibbpf(const QuietLibbpf&) = delete;
  QuietLibbpf& operator=(const QuietLibbpf&) = delete;

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

/// `load BPF programs of <what>: <errno>`, with the privilege that lacks, or what the kernel must have (`5.19 or later
/// with CONFIG_BPF_SYSCALL`), and what libbpf said last on this thread.
tl::unexpected<ring::Error> load_error(std::string_view what, int code, std::string_view needs_kernel);

}  // namespace ringside::real
