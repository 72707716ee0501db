// SPDX-License-Identifier: Apache-2.0
//
// The kernel's side of a script on a user ring buffer: libbpf's user_ring_buffer produces, and the programs of
// bpf/conform_user.bpf.c drain. They are loaded once and find the script's ring in an ARRAY_OF_MAPS.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bpf/conform_user.h"
#include "bpf/conform_user.skel.h"
#include "conform/readiness_kernel.h"
#include "conform/ring_pool.h"
#include "conform/side.h"
#include "conform/user_ringbuf_common.h"
#include "real/nested.h"
#include "real/pinned.h"
#include "real/quiet_libbpf.h"

namespace ringside::conform {

namespace {

constexpr ring::RingKind kind = ring::RingKind::user_ringbuf;

std::uint64_t argument(const Op& op, Arg arg) { return static_cast<std::uint64_t>(value_of(kind, op, arg)); }

struct FreeProducer {
  void operator()(user_ring_buffer* producer) const { user_ring_buffer__free(producer); }
};
using Producer = std::unique_ptr<user_ring_buffer, FreeProducer>;

/// What all sides of a lab use.
struct Programs {
  std::shared_ptr<conform_user_bpf> loaded;
  real::NestedEvent interrupt;
  std::uint32_t cpu;

  conform_user_shared& shared() const { return loaded->bss->shared; }
};

class UserRingbufKernelSide final : public Side {
 public:
  /// The ring's mappings and libbpf's producer. Errors: what the kernel refuses.
  static ring::Result<std::unique_ptr<Side>> make(Programs& programs, RingPool::Ring ring, std::uint64_t size) {
    const std::size_t page = real::page_bytes();
    const int fd = ring.map.get();
    auto consumer = real::Mapping::of_file(fd, page, PROT_READ, 0, "consumer page of user ring buffer");
    if (!consumer) return tl::make_unexpected(consumer.error());
    auto producer = real::Mapping::of_file(fd, page + 2 * static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, page,
                                           "producer page and data of user ring buffer");
    if (!producer) return tl::make_unexpected(producer.error());
    auto readiness = KernelReadiness::create({fd}, EPOLLOUT);
    if (!readiness) return tl::make_unexpected(readiness.error());
    Producer libbpf(user_ring_buffer__new(fd, nullptr));
    if (libbpf == nullptr) return ring::errno_error("open user ring buffer with libbpf", errno);
    return std::unique_ptr<Side>(new UserRingbufKernelSide(programs, std::move(ring), size, std::move(*consumer),
                                                           std::move(*producer), std::move(*readiness),
                                                           std::move(libbpf)));
  }

  ring::Result<Outcome> apply(const Op& op, std::uint64_t ordinal) override {
    if (is_readiness(op.verb)) return readiness_.apply(kind, op);
    switch (op.verb) {
      case Verb::user_reserve:
        return held_.reserve(pages_, op, ordinal, [this](std::uint32_t size, std::byte*& payload) {
          payload = static_cast<std::byte*>(user_ring_buffer__reserve(producer_.get(), size));
          return payload != nullptr ? 0 : -errno;
        });
      case Verb::user_settle:
        return held_.settle(op, [this](std::byte* payload, bool discarded) {
          discarded ? user_ring_buffer__discard(producer_.get(), payload)
                    : user_ring_buffer__submit(producer_.get(), payload);
        });
      case Verb::user_header:
        return store_header(pages_, op);
      case Verb::user_producer:
        return move_producer(pages_, op);
      case Verb::drain:
        return drain(op);
      case Verb::drain_nested:
        return drain_nested(op);
      default:
        return ring::error("play operation on a user ring buffer", "the verb is none of its own");
    }
  }

  ring::Result<Outcome> look() override { return readiness_.look(); }

  ring::Result<void> show(View& view) override {
    pollfd item{.fd = ring_.map.get(), .events = static_cast<short>(~0), .revents = 0};
    if (::poll(&item, 1, 0) < 0) return ring::errno_error("poll user ring buffer", errno);
    show_user_ringbuf(pages_, static_cast<std::uint16_t>(item.revents), view);
    return {};
  }

  const Facts& facts() const override { return facts_; }

 private:
  UserRingbufKernelSide(Programs& programs, RingPool::Ring ring, std::uint64_t size, real::Mapping consumer,
                        real::Mapping producer, KernelReadiness readiness, Producer libbpf)
      : programs_(&programs),
        ring_(std::move(ring)),
        consumer_page_(std::move(consumer)),
        producer_pages_(std::move(producer)),
        readiness_(std::move(readiness)),
        producer_(std::move(libbpf)) {
    pages_ = {.consumer = consumer_page_.data(),
              .producer = producer_pages_.data(),
              .data = producer_pages_.data() + real::page_bytes(),
              .size = size,
              .page_size = static_cast<std::uint32_t>(real::page_bytes())};
  }

  ring::Result<void> run(const Op& op, std::uint32_t stop, bool nested) {
    conform_user_shared& shared = programs_->shared();
    shared.ring = ring_.slot;
    shared.flags = argument(op, Arg::flags);
    shared.stop = stop;
    shared.nested = nested ? 1 : 0;
    bpf_test_run_opts options{};
    options.sz = sizeof(options);
    int code = -bpf_prog_test_run_opts(bpf_program__fd(programs_->loaded->progs.drain), &options);
    if (code == 0) code = -static_cast<std::int32_t>(options.retval);
    if (code != 0) return ring::errno_error("run the program that drains", code);
    return {};
  }

  Outcome drained() const {
    const conform_user_shared& shared = programs_->shared();
    DrainNotes notes{.samples = shared.samples, .hash = shared.hash, .bytes = shared.bytes, .lengths = {}};
    std::copy(std::begin(shared.lengths), std::end(shared.lengths), notes.lengths.begin());
    return {.result = shared.result, .details = notes.details()};
  }

  ring::Result<Outcome> drain(const Op& op) {
    if (auto ran = run(op, static_cast<std::uint32_t>(argument(op, Arg::stop)), false); !ran) {
      return tl::make_unexpected(ran.error());
    }
    return drained();
  }

  ring::Result<Outcome> drain_nested(const Op& op) {
    conform_user_shared& shared = programs_->shared();
    shared.inner = argument(op, Arg::inner);
    shared.inner_result = 0;
    shared.cpu = programs_->cpu;
    const auto ran = programs_->interrupt.while_ticking([&] { return run(op, 0, true); });
    if (!ran) return tl::make_unexpected(ran.error());
    Outcome outcome = drained();
    if (shared.samples > 0 && shared.done == 0) {
      return ring::errno_error("wait for an interrupt within a drain", ETIMEDOUT,
                               "try again on a machine with less load");
    }
    outcome.details.push_back(shared.done);
    outcome.details.push_back(static_cast<std::uint64_t>(shared.inner_result));
    return outcome;
  }

  Programs* programs_;
  RingPool::Ring ring_;
  real::Mapping consumer_page_;
  real::Mapping producer_pages_;
  UserRingbufPages pages_;
  KernelReadiness readiness_;
  Producer producer_;
  HeldSamples held_;
  Facts facts_;
};

class UserRingbufLab final : public Lab {
 public:
  UserRingbufLab(Programs programs, RingPool pool) : programs_(std::move(programs)), pool_(std::move(pool)) {}

  ring::Result<std::unique_ptr<Side>> side(const Script& script) override {
    auto ring = pool_.take(static_cast<std::size_t>(value_of(kind, script.setup, Arg::pages)));
    if (!ring) return tl::make_unexpected(ring.error());
    const auto page = static_cast<std::uint32_t>(real::page_bytes());
    return UserRingbufKernelSide::make(programs_, std::move(*ring), user_data_bytes(script, page));
  }

 private:
  Programs programs_;
  RingPool pool_;
};

ring::Result<std::shared_ptr<conform_user_bpf>> load(std::uint32_t slots) {
  constexpr std::string_view what = "conform on user ring buffers";
  constexpr std::string_view needed = "6.1 or later with CONFIG_BPF_SYSCALL";
  const real::QuietLibbpf quiet;
  std::shared_ptr<conform_user_bpf> skeleton(conform_user_bpf::open(), conform_user_bpf::destroy);
  if (skeleton == nullptr) return real::load_error(what, errno, needed);
  bpf_map__set_max_entries(skeleton->maps.rings, slots);
  if (const int code = conform_user_bpf::load(skeleton.get()); code != 0) return real::load_error(what, -code, needed);
  return skeleton;
}

}  // namespace

ring::Result<std::unique_ptr<Lab>> make_user_ringbuf_lab(std::uint32_t cpu) {
  if (auto pinned = real::pin_to(cpu); !pinned) return tl::make_unexpected(pinned.error());
  std::vector<RingShape> shapes;
  for (std::size_t shape = 0; shape < std::size(page_words); ++shape) {
    shapes.push_back({.bytes = static_cast<std::uint32_t>(real::page_bytes()) << shape, .map_flags = 0});
  }
  auto skeleton = load(RingPool::slots(shapes.size()));
  if (!skeleton) return tl::make_unexpected(skeleton.error());
  auto interrupt = real::NestedEvent::attach((*skeleton)->progs.interrupt, *skeleton, cpu);
  if (!interrupt) return tl::make_unexpected(interrupt.error());
  RingPool pool(BPF_MAP_TYPE_USER_RINGBUF, bpf_map__fd((*skeleton)->maps.rings), std::move(shapes));
  return std::make_unique<UserRingbufLab>(Programs{*skeleton, std::move(*interrupt), cpu}, std::move(pool));
}

}  // namespace ringside::conform
