// SPDX-License-Identifier: Apache-2.0
//
// Rings of the running kernel for the tests of the libbpf adapters: a map, and a program of a dozen instructions that
// puts one 8-byte record into it each time it is run. No more than an adapter's test needs; real/ has the real thing.
#pragma once

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sched.h>

#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace ringside::consumers::testing {

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// One instruction.
constexpr bpf_insn instruction(int code, int destination, int source, int offset, int immediate) {
  bpf_insn insn{};
  insn.code = static_cast<std::uint8_t>(code);
  insn.dst_reg = static_cast<std::uint8_t>(destination & 15);
  insn.src_reg = static_cast<std::uint8_t>(source & 15);
  insn.off = static_cast<std::int16_t>(offset);
  insn.imm = immediate;
  return insn;
}

/// A raw tracepoint program that puts its first argument, a u64, into a ring and returns what the helper returned.
class Producer {
 public:
  static Producer of_ringbuf(int map_fd, int flags) {
    return Producer({store_argument(0), store_argument(1), load_map(BPF_REG_1, map_fd), load_map_tail(),
                     move(BPF_REG_2, BPF_REG_10), add(BPF_REG_2, -8), set(BPF_REG_3, 8), set(BPF_REG_4, flags),
                     call(BPF_FUNC_ringbuf_output), exit_program()});
  }
  static Producer of_perf(int map_fd) {
    return Producer({store_argument(0), store_argument(1), load_map(BPF_REG_2, map_fd), load_map_tail(),
                     set32(BPF_REG_3, -1), move(BPF_REG_4, BPF_REG_10), add(BPF_REG_4, -8), set(BPF_REG_5, 8),
                     call(BPF_FUNC_perf_event_output), exit_program()});
  }

  /// The program was accepted.
  bool loaded() const { return program_.get() >= 0; }

  /// Puts `value` out on `cpu`, by default the one that this thread is on. Returns the helper's result, or -1000 if the
  /// program did not run.
  int put(std::uint64_t value, int cpu = sched_getcpu()) const {
    bpf_test_run_opts options{};
    options.sz = sizeof(options);
    options.ctx_in = &value;
    options.ctx_size_in = sizeof(value);
    options.flags = BPF_F_TEST_RUN_ON_CPU;
    options.cpu = static_cast<std::uint32_t>(cpu);
    if (bpf_prog_test_run_opts(program_.get(), &options) != 0) return -1000;
    return static_cast<int>(options.retval);
  }

 private:
  explicit Producer(const std::vector<bpf_insn>& code)
      : program_(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "put", "GPL", code.data(), code.size(), nullptr)) {}

  /// r3 = argument 0, then stored below the frame pointer.
  static bpf_insn store_argument(int step) {
    return step == 0 ? instruction(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_3, BPF_REG_1, 0, 0)
                     : instruction(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_3, -8, 0);
  }
  static bpf_insn load_map(int to, int map_fd) {
    return instruction(BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map_fd);
  }
  static bpf_insn load_map_tail() { return instruction(0, 0, 0, 0, 0); }
  static bpf_insn move(int to, int from) { return instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  static bpf_insn add(int to, int value) { return instruction(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value); }
  static bpf_insn set(int to, int value) { return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
  /// 32 bits wide: -1 is BPF_F_CURRENT_CPU.
  static bpf_insn set32(int to, int value) { return instruction(BPF_ALU | BPF_MOV | BPF_K, to, 0, 0, value); }
  static bpf_insn call(int helper) { return instruction(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }
  static bpf_insn exit_program() { return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

  Descriptor program_;
};

/// What this process holds open: descriptors, and mappings of BPF maps and perf events.
struct Holdings {
  std::size_t descriptors = 0;
  std::size_t mappings = 0;
  friend bool operator==(const Holdings&, const Holdings&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const Holdings& holdings) {
  return out << holdings.descriptors << " descriptors, " << holdings.mappings << " mappings";
}

inline Holdings holdings() {
  Holdings found;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++found.descriptors;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("bpf-map") != std::string::npos || line.find("perf_event") != std::string::npos) ++found.mappings;
  }
  return found;
}

}  // namespace ringside::consumers::testing
