// SPDX-License-Identifier: Apache-2.0
#include "real/capabilities.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "real/producers.h"

namespace ringside::real {

namespace {

constexpr const char* as_root = "run as root: sudo ringside ...";

struct Outcome {
  bool present = false;
  std::string detail;
  std::string remedy;
};

Outcome present(std::string detail) { return {.present = true, .detail = std::move(detail), .remedy = {}}; }

Outcome missing(int code, std::string remedy) {
  return {.present = false, .detail = ring::errno_name(code), .remedy = std::move(remedy)};
}

Outcome of(const ring::Error& error) {
  return {.present = false, .detail = fmt::format("{}: {}", error.attempt, error.reason), .remedy = error.remedy};
}

Outcome kernel_release() {
  utsname names{};
  ::uname(&names);
  return present(fmt::format("{} {} {}", names.sysname, names.release, names.machine));
}

Outcome capability(unsigned number, const char* name) {
  std::ifstream status("/proc/self/status");
  std::uint64_t effective = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("CapEff:", 0) == 0) effective = std::stoull(line.substr(7), nullptr, 16);
  }
  if ((effective >> number & 1) != 0) return present("effective");
  return {.present = false,
          .detail = fmt::format("not in the effective set 0x{:x}", effective),
          .remedy = fmt::format("run as root, or: sudo setcap {}+ep $(command -v ringside)", name)};
}

/// The smallest program there is: return 0.
Outcome bpf_load() {
  const std::array<bpf_insn, 2> instructions{
      bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
      bpf_insn{.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
  const Fd program(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "ringside_probe", "GPL", instructions.data(),
                                 instructions.size(), nullptr));
  if (program) return present("a program was loaded");
  const int code = errno;
  return missing(code, code == ENOSYS ? "boot a kernel with CONFIG_BPF_SYSCALL=y" : as_root);
}

Outcome ringbuf_map() {
  const auto ring = RingbufMap::create(page_bytes());
  return ring ? present("a map was created and mapped") : of(ring.error());
}

Outcome ringbuf_overwrite() {
  const auto ring = RingbufMap::create(page_bytes(), RingbufMode::overwrite);
  if (ring) return present("a map was created and mapped");
  Outcome outcome = of(ring.error());
  outcome.remedy = "boot kernel 6.19 or newer";
  return outcome;
}

Outcome ringbuf_program() {
  const auto ring = RingbufMap::create(page_bytes());
  if (!ring) return of(ring.error());
  const auto producers = Producers::load(*ring, {.max_record_bytes = 64, .max_concurrent = 1});
  return producers ? present("the producers were loaded") : of(producers.error());
}

Outcome open_event(std::uint64_t config, std::uint32_t cpu, const char* what) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = config;
  attr.sample_period = 1'000'000;
  attr.disabled = 1;
  const Fd event(static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (event) return present(fmt::format("{} was opened on CPU {}", what, cpu));
  const int code = errno;
  return missing(code, code == ENOSYS ? "boot a kernel with CONFIG_PERF_EVENTS=y"
                                      : "run as root, or: sudo sysctl kernel.perf_event_paranoid=-1");
}

Outcome event_on_first_cpu(std::uint64_t config, const char* what) {
  const auto cpus = online_cpus();
  if (!cpus) return of(cpus.error());
  return open_event(config, cpus->front(), what);
}

Outcome userfault() {
  const Fd fd(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC)));
  if (fd) return present("kernel-mode faults are allowed");
  const int code = errno;
  if (::access("/dev/userfaultfd", R_OK | W_OK) == 0) return present("/dev/userfaultfd is allowed");
  return missing(code, code == ENOSYS ? "boot a kernel with CONFIG_USERFAULTFD=y"
                                      : "run as root, or: sudo sysctl vm.unprivileged_userfaultfd=1");
}

Outcome btf() {
  if (::access("/sys/kernel/btf/vmlinux", R_OK) == 0) return present("/sys/kernel/btf/vmlinux");
  return missing(errno, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y (Ringside's own programs run without)");
}

Outcome bpffs() {
  struct statfs system{};
  if (::statfs("/sys/fs/bpf", &system) != 0) return missing(errno, "sudo mount -t bpf bpf /sys/fs/bpf");
  if (system.f_type == BPF_FS_MAGIC) return present("/sys/fs/bpf");
  return {.present = false,
          .detail = "/sys/fs/bpf is no bpffs",
          .remedy = "sudo mount -t bpf bpf /sys/fs/bpf (only consumers that take pins need it)"};
}

Outcome memlock() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return present("unlimited");
  return {.present = false,
          .detail = fmt::format("{} KiB", limit.rlim_cur >> 10),
          .remedy = "ulimit -l unlimited (needed before kernel 5.11 only, and by perf rings without CAP_IPC_LOCK)"};
}

Capability named(const char* name, const char* summary, bool required, Outcome outcome) {
  return Capability{.name = name,
                    .summary = summary,
                    .present = outcome.present,
                    .required = required,
                    .detail = std::move(outcome.detail),
                    .remedy = std::move(outcome.remedy)};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Capability& capability) {
  out << capability.name << ": " << (capability.present ? "present" : "missing") << ", " << capability.detail;
  if (!capability.remedy.empty()) out << "; " << capability.remedy;
  return out;
}

std::vector<Capability> capabilities() {
  return {
      named("kernel_release", "the running kernel", false, kernel_release()),
      named("cap_bpf", "to create maps and load programs", false, capability(CAP_BPF, "cap_bpf")),
      named("cap_perfmon", "to trace and to open perf events of a CPU", false, capability(CAP_PERFMON, "cap_perfmon")),
      named("cap_sys_resource", "to raise the lock limit; not needed since kernel 5.11", false,
            capability(CAP_SYS_RESOURCE, "cap_sys_resource")),
      named("cap_ipc_lock", "to map perf rings of any size", false, capability(CAP_IPC_LOCK, "cap_ipc_lock")),
      named("bpf_load", "to load a BPF program", true, bpf_load()),
      named("ringbuf_map", "to create a BPF ring buffer", true, ringbuf_map()),
      named("ringbuf_overwrite", "to create a BPF ring buffer that overwrites its oldest records", false,
            ringbuf_overwrite()),
      named("ringbuf_program", "to load the producers (dynptr and bpf_loop: kernel 5.19)", true, ringbuf_program()),
      named("perf_event_open", "to open a perf ring", true,
            event_on_first_cpu(PERF_COUNT_SW_BPF_OUTPUT, "a BPF output event")),
      named("perf_cpu_clock", "to produce in hardirq context", false,
            event_on_first_cpu(PERF_COUNT_SW_CPU_CLOCK, "a cpu-clock event")),
      named("userfaultfd", "to hold a record BUSY", false, userfault()),
      named("btf", "the kernel's own types", false, btf()),
      named("bpffs", "to hand a ring to another process by a pin", false, bpffs()),
      named("memlock", "to lock the memory of maps (before kernel 5.11) and of perf rings", false, memlock()),
  };
}

const Capability* first_missing(const std::vector<Capability>& capabilities) {
  for (const Capability& capability : capabilities) {
    if (capability.required && !capability.present) return &capability;
  }
  return nullptr;
}

}  // namespace ringside::real
