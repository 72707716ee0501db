// SPDX-License-Identifier: Apache-2.0
#include "harness/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "ring/defect.h"
#include "ring/io.h"

namespace ringside::harness {

namespace {

using Clock = std::chrono::steady_clock;
using ring::Defect;
using ring::DefectKind;

constexpr int exit_crashed = 111;
constexpr std::chrono::milliseconds tick_every{100};

enum class Part : std::uint8_t { producer_page, consumer_page, data };

std::string_view name_of(Part part) {
  if (part == Part::data) return "the data";
  return part == Part::producer_page ? "the producer page" : "the consumer page";
}

struct Region {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uint32_t ring = 0;
  Part part = Part::data;
};

struct CrashNote {
  int signal = 0;
  std::uintptr_t address = 0;
  bool is_write = false;
};

/// Shared by parent and child.
struct Shared {
  Heartbeat heartbeat;
  CrashNote crash;
  std::uint32_t region_count = 0;
  std::array<Region, 256> regions{};
};

// The child's own; a signal handler can reach nothing else.
Shared* crash_shared = nullptr;

void on_crash(int signal, siginfo_t* info, void* context) {
  CrashNote& note = crash_shared->crash;
  note.signal = signal;
  note.address = reinterpret_cast<std::uintptr_t>(info->si_addr);
#if defined(__x86_64__)
  // Bit 1 of the page fault's error code: the access was a write.
  const auto* machine = static_cast<const ucontext_t*>(context);
  note.is_write = (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
#endif
  _exit(exit_crashed);
}

void catch_crashes(Shared* shared) {
  crash_shared = shared;
  static std::array<char, 65536> stack;
  const stack_t alternate{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

void watch(Shared* shared, const void* begin, std::uint64_t size, std::uint32_t ring, Part part) {
  if (begin == nullptr || shared->region_count == shared->regions.size()) return;
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  shared->regions[shared->region_count++] = {.begin = from, .end = from + size, .ring = ring, .part = part};
}

void watch_rings(Shared* shared, const World& world) {
  shared->region_count = 0;
  for (std::uint32_t index = 0; index < world.ring_count(); ++index) {
    const ringside_ring& ring = world.ring(index);
    watch(shared, ring.producer_page, ring.page_size, index, Part::producer_page);
    if (world.rings().backward != 0) {
      watch(shared, ring.consumer_page, ring.page_size, index, Part::consumer_page);
    }
    const std::uint64_t mapped = ring.kind == RINGSIDE_RINGBUF ? 2 * ring.data_size : ring.data_size;
    watch(shared, ring.data, mapped, index, Part::data);
  }
}

[[noreturn]] void child_main(int result_fd, Shared* shared, pid_t parent,
                             const std::function<RunResult(ChildScope& scope)>& work) {
  setpgid(0, 0);
  // Dies with the parent, also when the parent is killed outright; and at once if it is gone already.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(exit_crashed);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  // What the consumer prints must not come between the lines of a report.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &no_core);
  catch_crashes(shared);
  ChildScope scope{
      .heartbeat = &shared->heartbeat,
      .watch_rings = [shared](const World& world) { watch_rings(shared, world); },
      .watch_user_ring =
          [shared](const ringside_user_ring& ring) {
            shared->region_count = 0;
            watch(shared, ring.consumer_page, ring.page_size, 0, Part::consumer_page);
          },
      .leave = [result_fd](
                   const RunResult& result) { _exit(ring::write_all(result_fd, to_json_line(result)) == 0 ? 0 : 1); }};
  scope.leave(work(scope));
  _exit(1);
}

std::string where(const Shared& shared, const Region** found) {
  const std::uintptr_t address = shared.crash.address;
  for (const Region& region : std::span(shared.regions).first(shared.region_count)) {
    if (address < region.begin || address >= region.end) continue;
    *found = &region;
    return fmt::format("{} of ring {}, offset {}", name_of(region.part), region.ring, address - region.begin);
  }
  return fmt::format("address 0x{:x}", address);
}

Defect crash_defect(const Shared& shared) {
  const CrashNote& note = shared.crash;
  const char* inside = shared.heartbeat.inside.load(std::memory_order_relaxed);
  const Region* region = nullptr;
  const std::string place = where(shared, &region);
  const bool refused = region != nullptr && note.is_write && (note.signal == SIGSEGV || note.signal == SIGBUS);
  if (refused) {
    return {.kind = DefectKind::protocol,
            .ring = region->ring,
            .detail = fmt::format("wrote to read-only memory in {}: {}", inside, place)};
  }
  const bool has_address = note.signal == SIGSEGV || note.signal == SIGBUS;
  return {
      .kind = DefectKind::crash,
      .ring = region != nullptr ? region->ring : 0,
      .detail = fmt::format("SIG{} in {}{}", sigabbrev_np(note.signal), inside,
                            has_address ? fmt::format(", {} {}", note.is_write ? "writing" : "reading", place) : "")};
}

RunResult defective(const RunSpec& spec, Defect defect, std::uint64_t deliveries) {
  RunResult result{.spec = spec, .outcome = Outcome::defects};
  defect.records = deliveries;
  result.verdict.defects.push_back(std::move(defect));
  result.verdict.notes.push_back(
      fmt::format("the ledgers went with the consumer; it had delivered {} records", deliveries));
  return result;
}

RunResult faulty(const RunSpec& spec, std::string reason) {
  return {.spec = spec, .outcome = Outcome::fault, .reason = std::move(reason)};
}

/// What the parent holds of a running child; its destructor leaves nothing behind.
class Child {
 public:
  Child(pid_t pid, int fd) : pid_(pid), fd_(fd) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!reaped_) kill_and_reap();
    close(fd_);
  }

  /// Appends what the child sent. False when it has closed its end.
  bool read_some(std::string& text) const {
    std::array<char, 65536> buffer;
    const ssize_t count = read(fd_, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
  }
  int fd() const { return fd_; }

  int reap() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    kill(-pid_, SIGKILL);  // whatever the consumer started beside itself
    reaped_ = true;
    return status;
  }
  void kill_and_reap() {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);  // in case it had not made its group yet
    reap();
  }

 private:
  pid_t pid_;
  int fd_;
  bool reaped_ = false;
};

RunResult after_end(const RunSpec& spec, const Shared& shared, int status, const std::string& text) {
  const std::uint64_t deliveries = shared.heartbeat.deliveries.load(std::memory_order_relaxed);
  // Without a word, a good exit is the consumer's own: the child's last act is to send its result.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.empty()) {
    auto result = run_result_from_json(text);
    return result ? *result : faulty(spec, ring::to_string(result.error()));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == exit_crashed && shared.crash.signal != 0) {
    return defective(spec, crash_defect(shared), deliveries);
  }
  const char* inside = shared.heartbeat.inside.load(std::memory_order_relaxed);
  const std::string how = WIFSIGNALED(status) ? fmt::format("SIG{}", sigabbrev_np(WTERMSIG(status)))
                                              : fmt::format("exit status {}", WEXITSTATUS(status));
  return defective(spec, {.kind = DefectKind::crash, .detail = fmt::format("{} in {}", how, inside)}, deliveries);
}

/// Whether a heartbeat's place is one of the calls of a contract.
bool consumer_is_inside(std::string_view inside) {
  constexpr std::array<std::string_view, 8> calls{"open",    "drain",  "wait", "release",
                                                  "reserve", "commit", "send", "close"};
  return std::find(calls.begin(), calls.end(), inside) != calls.end();
}

RunResult await_end(Child& child, const RunSpec& spec, const Shared& shared, const ChildOptions& options) {
  std::string text;
  std::uint64_t beats = 0;
  auto last_beat = Clock::now();
  for (;;) {
    pollfd ready{.fd = child.fd(), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(tick_every.count())) > 0 && !child.read_some(text)) break;
    if (options.cancelled && options.cancelled()) {
      child.kill_and_reap();
      return faulty(spec, "interrupted");
    }
    if (options.tick) options.tick(shared.heartbeat.deliveries.load(std::memory_order_relaxed));
    const std::uint64_t beats_now = shared.heartbeat.beats.load(std::memory_order_relaxed);
    const auto now = Clock::now();
    if (beats_now != beats) {
      beats = beats_now;
      last_beat = now;
    } else if (now - last_beat > std::chrono::milliseconds(options.hang_timeout_ms)) {
      const std::string inside = shared.heartbeat.inside.load(std::memory_order_relaxed);
      const std::uint64_t deliveries = shared.heartbeat.deliveries.load(std::memory_order_relaxed);
      child.kill_and_reap();
      if (!consumer_is_inside(inside)) {
        return faulty(
            spec, fmt::format("no progress within {} ms outside the consumer ({})", options.hang_timeout_ms, inside));
      }
      return defective(spec,
                       {.kind = DefectKind::hang,
                        .detail = fmt::format("{} did not return within {} ms", inside, options.hang_timeout_ms)},
                       deliveries);
    }
  }
  return after_end(spec, shared, child.reap(), text);
}

}  // namespace

RunResult run_in_child(const RunSpec& spec, const ChildOptions& options,
                       const std::function<RunResult(ChildScope& scope)>& work) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return faulty(spec, ring::to_string(ring::errno_error("map shared memory", errno).value()));
  auto* shared = new (memory) Shared;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    const int code = errno;
    munmap(memory, sizeof(Shared));
    return faulty(spec, ring::to_string(ring::errno_error("make a pipe", code).value()));
  }
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    child_main(ends[1], shared, parent, work);
  }
  const int code = errno;
  close(ends[1]);
  RunResult result;
  if (pid < 0) {
    close(ends[0]);
    result = faulty(spec, ring::to_string(ring::errno_error("start a child", code).value()));
  } else {
    Child child(pid, ends[0]);
    result = await_end(child, spec, *shared, options);
  }
  munmap(memory, sizeof(Shared));
  return result;
}

}  // namespace ringside::harness
