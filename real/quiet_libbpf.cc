// SPDX-License-Identifier: Apache-2.0
#include "real/quiet_libbpf.h"

#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace ringside::real {

namespace {

/// The last line that libbpf said on this thread.
thread_local std::string libbpf_said;
/// How many live, all of one thread, and the print function that the first put ours in place of; under their mutex.
int living = 0;
libbpf_print_fn_t print_before;

std::recursive_mutex& mutex() {
  static std::recursive_mutex one;
  return one;
}

int keep_last_line(enum libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  std::array<char, 256> line{};
  // The format is libbpf's own.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::vsnprintf(line.data(), line.size(), format, arguments);
#pragma GCC diagnostic pop
  libbpf_said = line.data();
  while (!libbpf_said.empty() && libbpf_said.back() == '\n') libbpf_said.pop_back();
  return 0;
}

}  // namespace

QuietLibbpf::QuietLibbpf() : lock_(mutex()) {
  libbpf_said.clear();
  if (living++ == 0) print_before = libbpf_set_print(keep_last_line);
}

QuietLibbpf::~QuietLibbpf() {
  if (--living == 0) libbpf_set_print(print_before);
}

tl::unexpected<ring::Error> load_error(std::string_view what, int code, std::string_view needs_kernel) {
  std::string remedy;
  if (code == EPERM) {
    remedy = "run as root or with CAP_BPF and CAP_PERFMON";
  } else if (code == EACCES) {
    // bpf(2) refuses those who lack a privilege with EPERM; this is its verifier.
    remedy = fmt::format("the verifier of this kernel refused them; they are known to load on kernel {}", needs_kernel);
  } else {
    remedy = fmt::format("needs kernel {}; `ringside doctor` tells more", needs_kernel);
  }
  if (!libbpf_said.empty()) remedy += fmt::format(" (libbpf: {})", libbpf_said);
  return ring::errno_error(fmt::format("load BPF programs of {}", what), code, std::move(remedy));
}

}  // namespace ringside::real
