// SPDX-License-Identifier: Apache-2.0
#include "real/program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

#include "bpf/perf.skel.h"
#include "bpf/ringbuf.skel.h"
#include "bpf/ringbuf_per_cpu.skel.h"
#include "bpf/swap.skel.h"
#include "real/quiet_libbpf.h"
#include "ring/layout.h"

namespace ringside::real {

static_assert(max_sources + 1 == RINGSIDE_SOURCES && prefill_source == max_sources);
static_assert(RINGSIDE_SUBMIT == static_cast<int>(ring::Action::submit) &&
              RINGSIDE_DISCARD == static_cast<int>(ring::Action::discard) &&
              RINGSIDE_OUTPUT == static_cast<int>(ring::Action::output));

static_assert(RINGSIDE_STAMP_NONE == static_cast<int>(ring::Stamp::none) &&
              RINGSIDE_STAMP_BEFORE == static_cast<int>(ring::Stamp::before) &&
              RINGSIDE_STAMP_INSIDE == static_cast<int>(ring::Stamp::inside));

static_assert(sizeof(ringside_swap_words) == sizeof(ringside_swap) &&
              offsetof(ringside_swap_words, samples) == offsetof(ringside_swap, samples));

namespace {

constexpr std::uint32_t buffers_before_slots = 2;  // the script's and the interrupt's, see common.bpf.h

constexpr std::string_view needed_kernel = "5.19 or later with CONFIG_BPF_SYSCALL";

struct Sizes {
  std::uint32_t scratch_bytes;
  std::uint32_t slots;
};

ring::Result<Sizes> sizes_of(const ProducersOptions& options, std::uint64_t ring_bytes) {
  constexpr std::uint64_t least = 72u << 10;
  constexpr std::uint64_t most_by_default = 128u << 10;
  constexpr std::uint64_t most = 64u << 20;
  const std::string attempt = "load BPF programs";
  const std::uint64_t record =
      options.max_record_bytes != 0 ? options.max_record_bytes : std::clamp(ring_bytes, least, most_by_default);
  if (record > most) return ring::error(attempt, fmt::format("max_record_bytes {} is above {}", record, most));
  std::uint64_t slots = options.max_concurrent;
  if (slots == 0) {
    const auto online = online_cpus();
    if (!online) return tl::unexpected(online.error());
    slots = std::min<std::uint64_t>(online->size() + 8, RINGSIDE_SLOTS);
  }
  if (slots > RINGSIDE_SLOTS) {
    return ring::error(attempt, fmt::format("max_concurrent {} is above {}", slots, RINGSIDE_SLOTS));
  }
  // One chunk more than the record, for what a program writes past its end.
  const std::uint64_t scratch = (record / RINGSIDE_CHUNK + 2) * RINGSIDE_CHUNK;
  return Sizes{.scratch_bytes = static_cast<std::uint32_t>(scratch), .slots = static_cast<std::uint32_t>(slots)};
}

/// One loaded skeleton. The two have no common type, but the same names where they have the same things.
template <class Skeleton>
class SkeletonProgram final : public Program {
 public:
  SkeletonProgram(ring::RingKind kind, const Sizes& sizes)
      : Program(kind, sizes.scratch_bytes - RINGSIDE_CHUNK, sizes.slots) {}
  ~SkeletonProgram() override { Skeleton::destroy(skeleton_); }

  ring::Result<void> open(const char* kind) {
    skeleton_ = Skeleton::open();
    if (skeleton_ == nullptr) return load_error(kind, errno, needed_kernel);
    return {};
  }
  Skeleton& skeleton() { return *skeleton_; }

  /// When it is open.
  ring::Result<void> load(const char* kind, int map_fd, const Sizes& sizes, const ProducersOptions& options,
                          std::vector<std::uint32_t> cpus) {
    skeleton_->rodata->scratch_bytes = sizes.scratch_bytes;
    bpf_map__set_value_size(skeleton_->maps.scratch, sizes.scratch_bytes);
    bpf_map__set_max_entries(skeleton_->maps.scratch, sizes.slots + buffers_before_slots);
    if constexpr (requires { skeleton_->rodata->stamp; }) {
      skeleton_->rodata->stamp = static_cast<std::uint32_t>(options.stamp);
      stamp_ = options.stamp;
    }
    if constexpr (requires { skeleton_->progs.flood; }) {
      bpf_program__set_autoload(skeleton_->progs.flood, options.floods);
    }
    if constexpr (requires { skeleton_->progs.hold; }) {
      bpf_program__set_autoload(skeleton_->progs.flood_fixed, options.floods);
      bpf_program__set_autoload(skeleton_->progs.hold, options.holds);
    }
    int code = bpf_map__reuse_fd(skeleton_->maps.ring, map_fd);
    if (code == 0) code = Skeleton::load(skeleton_);
    if (code != 0) return load_error(kind, -code, needed_kernel);
    shared_ = &skeleton_->bss->shared;
    cpus_ = std::move(cpus);
    // Negative for a program that was not loaded.
    descriptors_.script = bpf_program__fd(skeleton_->progs.script);
    if constexpr (requires { skeleton_->progs.nested; }) {
      descriptors_.flood = bpf_program__fd(skeleton_->progs.flood);
      nested_ = skeleton_->progs.nested;
    }
    if constexpr (requires { skeleton_->progs.straggle; }) {
      descriptors_.straggle = bpf_program__fd(skeleton_->progs.straggle);
      swap_ = &skeleton_->bss->swap;
      swap_sources_ = skeleton_->rodata->swap_sources;
    }
    if constexpr (requires { skeleton_->progs.hold; }) {
      descriptors_.flood_fixed = bpf_program__fd(skeleton_->progs.flood_fixed);
      descriptors_.hold = bpf_program__fd(skeleton_->progs.hold);
    }
    return {};
  }

  ring::Result<void> make_fence() {
    auto fence = WakeupFence::create();
    if (!fence) return tl::unexpected(fence.error());
    wakeups_ = std::move(*fence);
    return {};
  }

 private:
  Skeleton* skeleton_ = nullptr;
};

template <class Skeleton>
ring::Result<std::shared_ptr<Program>> load_as(ring::RingKind kind, int map_fd, const ProducersOptions& options,
                                               std::uint64_t ring_bytes, std::vector<std::uint32_t> cpus) {
  const auto sizes = sizes_of(options, ring_bytes);
  if (!sizes) return tl::unexpected(sizes.error());
  auto program = std::make_shared<SkeletonProgram<Skeleton>>(kind, *sizes);
  const QuietLibbpf quiet;
  auto loaded = program->open(kind == ring::RingKind::ringbuf ? "a ring buffer" : "perf rings");
  if (loaded)
    loaded = program->load(kind == ring::RingKind::ringbuf ? "a ring buffer" : "perf rings", map_fd, *sizes, options,
                           std::move(cpus));
  if (loaded) loaded = program->make_fence();
  if (!loaded) return tl::unexpected(loaded.error());
  return program;
}

}  // namespace

ring::Result<std::shared_ptr<Program>> Program::load(const RingbufMap& ring, const ProducersOptions& options) {
  return load_as<ringbuf_bpf>(ring::RingKind::ringbuf, ring.map_fd(), options, ring.size_bytes(), {});
}

ring::Result<std::shared_ptr<Program>> Program::load(const CpuRingbufs& rings, const ProducersOptions& options) {
  return load_as<ringbuf_per_cpu_bpf>(ring::RingKind::ringbuf, rings.map_fd(), options, rings.size_bytes(),
                                      {rings.cpus().begin(), rings.cpus().end()});
}

ring::Result<std::shared_ptr<Program>> Program::load(const PerfRings& rings, const ProducersOptions& options) {
  return load_as<perf_bpf>(ring::RingKind::perf, rings.map_fd(), options, 0,
                           {rings.cpus().begin(), rings.cpus().end()});
}

ring::Result<std::shared_ptr<Program>> Program::load_swap(const PerfRings& side_0, const PerfRings& side_1,
                                                          std::uint32_t sources, const ProducersOptions& options) {
  constexpr const char* kind = "an A/B swap of perf rings";
  const auto cpus = side_0.cpus();
  if (2 * (sources + cpus.size()) > max_sources || *std::max_element(cpus.begin(), cpus.end()) >= RINGSIDE_CPUS / 2) {
    return ring::error(fmt::format("load BPF programs for {}", kind),
                       fmt::format("{} sources on {} CPUs are too many", sources, cpus.size()));
  }
  const auto sizes = sizes_of(options, 0);
  if (!sizes) return tl::unexpected(sizes.error());
  auto program = std::make_shared<SkeletonProgram<swap_bpf>>(ring::RingKind::perf, *sizes);
  const QuietLibbpf quiet;
  if (auto opened = program->open(kind); !opened) return tl::unexpected(opened.error());
  program->skeleton().rodata->swap_sources = sources;
  program->skeleton().rodata->swap_rings = static_cast<std::uint32_t>(cpus.size());
  if (const int code = bpf_map__reuse_fd(program->skeleton().maps.other_ring, side_1.map_fd()); code != 0) {
    return load_error(kind, -code, needed_kernel);
  }
  auto loaded = program->load(kind, side_0.map_fd(), *sizes, options, {cpus.begin(), cpus.end()});
  if (loaded) loaded = program->make_fence();
  if (!loaded) return tl::unexpected(loaded.error());
  return program;
}

ring::Result<std::uint32_t> Program::take_slot() {
  const std::lock_guard lock(slots_mutex_);
  const auto free = std::find(slot_taken_.begin(), slot_taken_.end(), false);
  if (free == slot_taken_.end()) {
    return ring::error("start producer", fmt::format("all {} slots are in use", slot_taken_.size()),
                       "raise ProducersOptions::max_concurrent");
  }
  *free = true;
  const auto slot = static_cast<std::uint32_t>(free - slot_taken_.begin());
  shared_->slots[slot] = ringside_slot{};
  return slot;
}

void Program::give_slot(std::uint32_t slot) {
  const std::lock_guard lock(slots_mutex_);
  assert(slot_taken_.at(slot));
  slot_taken_[slot] = false;
}

ring::Result<SlotLease> SlotLease::take(std::shared_ptr<Program> program) {
  auto slot = program->take_slot();
  if (!slot) return tl::unexpected(slot.error());
  return SlotLease(std::move(program), *slot);
}

SlotLease::~SlotLease() {
  if (program_) program_->give_slot(index_);
}

ring::Result<std::int32_t> run_once(int program_fd, std::uint64_t argument, std::uint32_t cpu) {
  std::array<std::uint64_t, 1> context{argument};
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  options.ctx_in = context.data();
  options.ctx_size_in = sizeof(context);
  // Without the flag the program of a thread whose CPU has gone would fill the ring of another.
  options.flags = BPF_F_TEST_RUN_ON_CPU;
  options.cpu = cpu;
  if (const int code = bpf_prog_test_run_opts(program_fd, &options); code != 0) {
    const char* const remedy = code == -EPERM   ? "run as root or with CAP_BPF"
                               : code == -ENXIO ? "the CPU went offline; bring it back"
                                                : "";
    return ring::errno_error(fmt::format("run BPF program on CPU {}", cpu), -code, remedy);
  }
  return static_cast<std::int32_t>(options.retval);
}

}  // namespace ringside::real
