// SPDX-License-Identifier: Apache-2.0
#include "real/wakeup_fence.h"

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <cerrno>
#include <mutex>
#include <string_view>
#include <utility>

#include "bpf/wakeup_fence.skel.h"
#include "real/epoll_set.h"
#include "real/inspect.h"
#include "real/program.h"
#include "real/quiet_libbpf.h"
#include "real/ringbuf.h"

namespace ringside::real {

namespace {

// The version says so on every such kernel; /sys/kernel/realtime is on some of them only.
bool is_preempt_rt() {
  utsname names{};
  ::uname(&names);
  const std::string_view version = names.version;
  return version.find("PREEMPT_RT") != version.npos || version.find("PREEMPT RT") != version.npos;
}

}  // namespace

struct WakeupFence::Loaded {
  Loaded(RingbufMap map, EpollSet set) : ring(std::move(map)), arrivals(std::move(set)) {}
  ~Loaded() { wakeup_fence_bpf::destroy(skeleton); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  ring::Result<void> load() {
    constexpr std::string_view what = "a fence for wake-ups";
    constexpr std::string_view needed = "5.10 or later with CONFIG_BPF_SYSCALL";
    const QuietLibbpf quiet;
    skeleton = wakeup_fence_bpf::open();
    if (skeleton == nullptr) return load_error(what, errno, needed);
    int code = bpf_map__reuse_fd(skeleton->maps.ring, ring.map_fd());
    if (code == 0) code = wakeup_fence_bpf::load(skeleton);
    if (code != 0) return load_error(what, -code, needed);
    return {};
  }

  /// Queues one wake-up on that CPU and waits until it arrives. The set is edge-triggered and the ring was empty: only
  /// the wake-up itself makes it ready.
  ring::Result<void> mark(std::uint32_t cpu) {
    constexpr std::int64_t most_ns = 10'000'000'000;
    consume_all(ring.ring());
    const auto marked = run_once(bpf_program__fd(skeleton->progs.mark), 0, cpu);
    if (!marked) return tl::unexpected(marked.error());
    const std::string attempt = fmt::format("wait for the wake-ups of CPU {}", cpu);
    if (*marked != 0) return ring::errno_error(attempt, -*marked);
    ringside_ready ready{};
    int arrived = 0;
    do {
      arrived = arrivals.wait(&ready, 1, most_ns);
    } while (arrived == -EINTR);
    if (arrived < 0) return ring::errno_error(attempt, -arrived);
    if (arrived == 0) {
      return ring::errno_error(attempt, ETIMEDOUT,
                               fmt::format("see what keeps the kernel's thread irq_work/{} from running", cpu));
    }
    return {};
  }

  std::mutex one_at_a_time;
  RingbufMap ring;
  EpollSet arrivals;
  wakeup_fence_bpf* skeleton = nullptr;
};

WakeupFence::WakeupFence(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
WakeupFence::WakeupFence() = default;
WakeupFence::~WakeupFence() = default;
WakeupFence::WakeupFence(WakeupFence&&) noexcept = default;
WakeupFence& WakeupFence::operator=(WakeupFence&&) noexcept = default;

ring::Result<WakeupFence> WakeupFence::create() {
  if (!is_preempt_rt()) return WakeupFence();
  auto ring = RingbufMap::create(page_bytes());
  if (!ring) return tl::unexpected(ring.error());
  auto arrivals = EpollSet::create({&ring->ring(), 1}, RINGSIDE_EDGE);
  if (!arrivals) return tl::unexpected(arrivals.error());
  auto loaded = std::make_unique<Loaded>(std::move(*ring), std::move(*arrivals));
  if (auto done = loaded->load(); !done) return tl::unexpected(done.error());
  return WakeupFence(std::move(loaded));
}

ring::Result<void> WakeupFence::pass(std::uint32_t cpu) const {
  if (!loaded_) return {};
  const std::lock_guard lock(loaded_->one_at_a_time);
  auto passed = loaded_->mark(cpu);
  if (passed) passed = loaded_->mark(cpu);
  return passed;
}

}  // namespace ringside::real
