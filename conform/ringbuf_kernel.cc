// SPDX-License-Identifier: Apache-2.0
//
// The kernel's side of a script on a BPF ring buffer: programs that are loaded once (bpf/conform_ringbuf.bpf.c), a
// fresh ring for each script, and the user's mapping of it for positions and bytes. Programs run on the calling thread
// by BPF_PROG_TEST_RUN, so that an operation has ended, its wake-up included, when the call returns (KERNEL-RINGS 4.3).
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <optional>
#include <utility>

#include "bpf/conform_ringbuf.h"
#include "bpf/conform_ringbuf.skel.h"
#include "conform/readiness_kernel.h"
#include "conform/ring_pool.h"
#include "conform/ringbuf_common.h"
#include "conform/ringbuf_holder.h"
#include "conform/side.h"
#include "conform/verbs.h"
#include "real/nested.h"
#include "real/pinned.h"
#include "real/quiet_libbpf.h"
#include "real/ringbuf.h"

namespace ringside::conform {

namespace {

constexpr ring::RingKind kind = ring::RingKind::ringbuf;
constexpr std::size_t page_shapes = std::size(page_words);
static_assert(CONFORM_RINGBUF_RINGS == RingPool::slots(page_shapes));
static_assert(held_slots == CONFORM_RINGBUF_HELD && most_payload == CONFORM_RINGBUF_MOST_PAYLOAD);

/// The programs, loaded for one mode of rings, and what drives them.
class Rig {
 public:
  static ring::Result<std::shared_ptr<Rig>> load(real::RingbufMode mode, std::uint32_t cpu);

  conform_ringbuf_shared& shared() const { return skeleton_->bss->shared; }
  const conform_ringbuf_bpf& programs() const { return *skeleton_; }
  RingPool& rings() { return *rings_; }
  std::uint32_t cpu() const { return cpu_; }

  /// Runs a program once, here and now.
  ring::Result<void> run(const bpf_program* program) const;
  /// Runs it while the interrupt ticks.
  ring::Result<void> run_interrupted(const bpf_program* program);
  /// Holder `slot`, started when it is first wanted.
  ring::Result<RingbufHolder*> holder(std::size_t slot);

 private:
  struct Destroy {
    void operator()(conform_ringbuf_bpf* skeleton) const { conform_ringbuf_bpf::destroy(skeleton); }
  };

  // In the order of their making: what comes later uses what comes before. Shared with the link of the interrupt.
  std::shared_ptr<conform_ringbuf_bpf> skeleton_;
  std::uint32_t cpu_ = 0;
  std::unique_ptr<RingPool> rings_;
  std::optional<real::NestedEvent> interrupt_;
  std::array<std::unique_ptr<RingbufHolder>, CONFORM_RINGBUF_HELD> holders_;
};

ring::Result<std::shared_ptr<Rig>> Rig::load(real::RingbufMode mode, std::uint32_t cpu) {
  constexpr const char* what = "conformance on BPF ring buffers";
  constexpr const char* needs = "5.19 or later with CONFIG_BPF_SYSCALL";
  // What the array of maps takes is told by a first map: its flags, not its size.
  const auto pattern = real::RingbufMap::create(real::page_bytes(), mode);
  if (!pattern) return tl::unexpected(pattern.error());
  auto rig = std::make_shared<Rig>();
  rig->cpu_ = cpu;
  const real::QuietLibbpf quiet;
  rig->skeleton_.reset(conform_ringbuf_bpf::open(), Destroy());
  if (rig->skeleton_ == nullptr) return real::load_error(what, errno, needs);
  int code = bpf_map__set_inner_map_fd(rig->skeleton_->maps.rings, pattern->map_fd());
  if (code == 0) code = conform_ringbuf_bpf::load(rig->skeleton_.get());
  if (code != 0) return real::load_error(what, -code, needs);
  std::vector<RingShape> shapes;
  shapes.reserve(page_shapes);
  for (std::size_t shape = 0; shape < page_shapes; ++shape) {
    shapes.push_back(
        {.bytes = static_cast<std::uint32_t>(real::page_bytes() << shape), .map_flags = real::map_flags_of(mode)});
  }
  rig->rings_ =
      std::make_unique<RingPool>(BPF_MAP_TYPE_RINGBUF, bpf_map__fd(rig->skeleton_->maps.rings), std::move(shapes));
  return rig;
}

ring::Result<void> Rig::run(const bpf_program* program) const {
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  int code = -bpf_prog_test_run_opts(bpf_program__fd(program), &options);
  if (code == 0) code = -static_cast<std::int32_t>(options.retval);
  if (code == 0) return {};
  return ring::errno_error(fmt::format("run BPF program {}", bpf_program__name(program)), code);
}

ring::Result<void> Rig::run_interrupted(const bpf_program* program) {
  if (!interrupt_) {
    auto attached = real::NestedEvent::attach(skeleton_->progs.nested, skeleton_, cpu_);
    if (!attached) return tl::unexpected(attached.error());
    interrupt_.emplace(std::move(*attached));
  }
  return interrupt_->while_ticking([&] { return run(program); });
}

ring::Result<RingbufHolder*> Rig::holder(std::size_t slot) {
  auto& holder = holders_[slot];
  if (!holder) {
    auto started = RingbufHolder::start(bpf_program__fd(skeleton_->progs.hold), static_cast<std::uint32_t>(slot),
                                        shared().holds[slot], cpu_);
    if (!started) return tl::unexpected(started.error());
    holder = std::move(*started);
  }
  return holder.get();
}

class RingbufKernelSide final : public Side {
 public:
  static ring::Result<std::unique_ptr<Side>> create(std::shared_ptr<Rig> rig, const RingbufSetup& setup) {
    auto fresh = rig->rings().take(static_cast<std::size_t>(std::countr_zero(setup.data_size / real::page_bytes())));
    if (!fresh) return tl::unexpected(fresh.error());
    auto ring = real::RingbufMap::of(std::move(fresh->map), setup.data_size);
    if (!ring) return tl::unexpected(ring.error());
    auto readiness = KernelReadiness::create({ring->map_fd()}, EPOLLIN);
    if (!readiness) return tl::unexpected(readiness.error());
    return std::unique_ptr<Side>(
        new RingbufKernelSide(std::move(rig), fresh->slot, std::move(*ring), std::move(*readiness), setup.overwrite));
  }

  ~RingbufKernelSide() override {
    for (std::size_t slot = 0; slot < holds_.size(); ++slot) {
      if (!holds_[slot]) continue;
      // A holder that cannot be told to go on ends with the lab.
      [[maybe_unused]] const auto settled = (*rig_->holder(slot))->settle(true, 0);
    }
  }

  RingbufKernelSide(const RingbufKernelSide&) = delete;
  RingbufKernelSide& operator=(const RingbufKernelSide&) = delete;

  ring::Result<Outcome> apply(const Op& op, std::uint64_t ordinal) override {
    if (is_readiness(op.verb)) return readiness_.apply(kind, op);
    switch (op.verb) {
      case Verb::output:
        return output(op, ordinal);
      case Verb::reserve:
        return reserve(op, ordinal);
      case Verb::dynptr:
        return dynptr(op, ordinal);
      case Verb::hold:
        return hold(op);
      case Verb::settle:
        return settle(op, ordinal);
      case Verb::nested:
        return nested(op, ordinal);
      case Verb::query:
        return query(op);
      case Verb::consumer:
        return move_consumer(pages_, op);
      case Verb::consume:
        return consume(pages_, op);
      default:
        return ring::error("play operation on a BPF ring buffer", "the verb is none of its own");
    }
  }

  ring::Result<Outcome> look() override { return readiness_.look(); }

  ring::Result<void> show(View& view) override {
    auto polled = readiness_.poll(0);
    if (!polled) return tl::unexpected(polled.error());
    show_ringbuf(pages_, polled->details[0], view);
    return {};
  }

  const Facts& facts() const override { return facts_; }

 private:
  RingbufKernelSide(std::shared_ptr<Rig> rig, std::uint32_t index, real::RingbufMap map, KernelReadiness readiness,
                    bool overwrite)
      : rig_(std::move(rig)), index_(index), ring_(std::move(map)), readiness_(std::move(readiness)) {
    const ringside_ring& ring = ring_.ring();
    pages_ = {.consumer = static_cast<std::byte*>(ring.consumer_page),
              .producer = static_cast<const std::byte*>(ring.producer_page),
              .data = static_cast<const std::byte*>(ring.data),
              .size = ring.data_size,
              .page_size = ring.page_size,
              .overwrite = overwrite};
    facts_.cpu = rig_->cpu();
  }

  static std::uint64_t argument(const Op& op, Arg arg) { return static_cast<std::uint64_t>(value_of(kind, op, arg)); }
  static std::uint32_t argument32(const Op& op, Arg arg) { return static_cast<std::uint32_t>(argument(op, arg)); }
  static std::span<std::byte> bytes_of(std::uint8_t* place, std::uint64_t size) {
    return {reinterpret_cast<std::byte*>(place), static_cast<std::size_t>(size)};
  }

  // Fills the payload that a program reads. A record that no ring of this size takes is never read: its bytes are any.
  void write_payload(std::uint64_t size, std::uint64_t ordinal) const {
    if (size <= pages_.size) fill_payload(bytes_of(rig_->shared().payload, size), ordinal);
  }

  // Runs a program on the order, and tells what the helper returned.
  ring::Result<Outcome> run(const bpf_program* program, const conform_ringbuf_order& order) const {
    rig_->shared().order = order;
    if (auto ran = rig_->run(program); !ran) return tl::unexpected(ran.error());
    return Outcome{.result = rig_->shared().order.result, .details = {}};
  }

  ring::Result<Outcome> output(const Op& op, std::uint64_t ordinal) const {
    conform_ringbuf_order order{};
    order.ring = index_;
    order.size = argument32(op, Arg::size);
    order.flags = argument(op, Arg::flags);
    write_payload(order.size, ordinal);
    return run(rig_->programs().progs.output, order);
  }

  ring::Result<Outcome> query(const Op& op) const {
    conform_ringbuf_order order{};
    order.ring = index_;
    order.what = argument32(op, Arg::what);
    return run(rig_->programs().progs.query, order);
  }

  ring::Result<Outcome> reserve(const Op& op, std::uint64_t ordinal) const {
    return run(rig_->programs().progs.reserve, reservation(op, constant_size_of(op), ordinal));
  }
  ring::Result<Outcome> dynptr(const Op& op, std::uint64_t ordinal) const {
    return run(rig_->programs().progs.dynptr, reservation(op, argument(op, Arg::size), ordinal));
  }
  conform_ringbuf_order reservation(const Op& op, std::uint64_t size, std::uint64_t ordinal) const {
    conform_ringbuf_order order{};
    order.ring = index_;
    order.size = static_cast<std::uint32_t>(size);
    order.reserve_flags = argument(op, Arg::reserve_flags);
    order.flags = argument(op, Arg::flags);
    order.written = static_cast<std::uint32_t>(bytes_written(op, size));
    order.discard = argument32(op, Arg::fate);
    write_payload(order.written, ordinal);
    return order;
  }

  ring::Result<Outcome> hold(const Op& op) {
    const std::size_t slot = argument(op, Arg::slot);
    if (holds_[slot]) return Outcome{.result = nothing_done, .details = {}};
    auto holder = rig_->holder(slot);
    if (!holder) return tl::unexpected(holder.error());
    const auto result = (*holder)->hold(index_, argument32(op, Arg::size));
    if (!result) return tl::unexpected(result.error());
    if (*result == 0) holds_[slot] = argument(op, Arg::size);
    return Outcome{.result = *result, .details = {}};
  }

  ring::Result<Outcome> settle(const Op& op, std::uint64_t ordinal) {
    const std::size_t slot = argument(op, Arg::slot);
    if (!holds_[slot]) return Outcome{.result = nothing_done, .details = {}};
    auto holder = rig_->holder(slot);
    if (!holder) return tl::unexpected(holder.error());
    const std::uint64_t size = holds_[slot].value_or(0);
    holds_[slot].reset();
    write_payload(size, ordinal);
    const auto settled = (*holder)->settle(value_of(kind, op, Arg::fate) != 0, argument(op, Arg::flags));
    if (!settled) return tl::unexpected(settled.error());
    return Outcome{};
  }

  ring::Result<Outcome> nested(const Op& op, std::uint64_t ordinal) const {
    conform_ringbuf_shared& shared = rig_->shared();
    conform_ringbuf_order order{};
    order.ring = index_;
    order.size = argument32(op, Arg::size);
    order.flags = argument(op, Arg::flags);
    order.written = order.size;
    order.inner = argument32(op, Arg::inner);
    order.count = argument32(op, Arg::count);
    assert(order.count <= CONFORM_RINGBUF_MOST_NESTED && order.inner <= CONFORM_RINGBUF_MOST_INNER);
    write_payload(order.size, ordinal);
    for (std::uint32_t i = 0; i < order.count; ++i) {
      fill_payload(bytes_of(shared.inner_payload[i], order.inner), nested_ordinal(ordinal, i));
    }
    shared.order = order;
    if (auto ran = rig_->run_interrupted(rig_->programs().progs.outer); !ran) return tl::unexpected(ran.error());
    Outcome outcome{.result = shared.order.result, .details = {}};
    if (outcome.result != 0) return outcome;
    for (std::uint32_t i = 0; i < order.count; ++i) {
      outcome.details.push_back(static_cast<std::uint64_t>(shared.nested_results[i]));
    }
    return outcome;
  }

  std::shared_ptr<Rig> rig_;
  std::uint32_t index_;  // of the ring, where the programs find it
  real::RingbufMap ring_;
  KernelReadiness readiness_;
  RingbufPages pages_;
  Facts facts_;
  std::array<std::optional<std::uint64_t>, CONFORM_RINGBUF_HELD> holds_;  // the size of what each holder holds for us
};

class RingbufLab final : public Lab {
 public:
  explicit RingbufLab(std::uint32_t cpu) : cpu_(cpu) {}

  ring::Result<std::shared_ptr<Rig>> rig(real::RingbufMode mode) {
    auto& rig = rigs_[static_cast<std::size_t>(mode)];
    if (!rig) {
      auto loaded = Rig::load(mode, cpu_);
      if (!loaded) return tl::unexpected(loaded.error());
      rig = std::move(*loaded);
    }
    return rig;
  }

  ring::Result<std::unique_ptr<Side>> side(const Script& script) override {
    const RingbufSetup setup = ringbuf_setup(script, static_cast<std::uint32_t>(real::page_bytes()));
    auto loaded = rig(setup.overwrite ? real::RingbufMode::overwrite : real::RingbufMode::refuse);
    if (!loaded) {
      const ring::Error& error = loaded.error();
      if (setup.overwrite && error.code == EINVAL) {
        return ring::errno_error("make overwrite ring of a script", EINVAL, "needs kernel 6.19");
      }
      return tl::unexpected(error);
    }
    return RingbufKernelSide::create(std::move(*loaded), setup);
  }

 private:
  std::uint32_t cpu_;
  std::array<std::shared_ptr<Rig>, 2> rigs_;  // by mode, loaded when it is first wanted
};

}  // namespace

ring::Result<std::unique_ptr<Lab>> make_ringbuf_lab(std::uint32_t cpu) {
  if (auto pinned = real::pin_to(cpu); !pinned) return tl::unexpected(pinned.error());
  auto lab = std::make_unique<RingbufLab>(cpu);
  // What is missing on this machine is to be told now, not at the first script.
  if (auto loaded = lab->rig(real::RingbufMode::refuse); !loaded) return tl::unexpected(loaded.error());
  return lab;
}

}  // namespace ringside::conform
