// SPDX-License-Identifier: Apache-2.0
//
// The kernel's side of a script on perf rings: two PERF_COUNT_SW_BPF_OUTPUT events of the calling thread, fed by
// programs that are loaded once, and the kernel's own numbers of events and rings, read through its BTF.
//
// An output within another one needs no luck: a breakpoint on a word of the kernel's ring, or on data_head, traps right
// behind the store that takes the outer output to the point asked for, and the program on the breakpoint puts out the
// inner record there.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bpf/conform_perf.h"
#include "bpf/conform_perf.skel.h"
#include "conform/perf_common.h"
#include "conform/readiness_kernel.h"
#include "conform/side.h"
#include "conform/verbs.h"
#include "real/handle.h"
#include "real/pinned.h"
#include "real/quiet_libbpf.h"
#include "ring/layout.h"
#include "sim/perf_state.h"

namespace ringside::conform {

namespace {

constexpr ring::RingKind kind = ring::RingKind::perf;
constexpr std::string_view needed_kernel = "6.0 or later with CONFIG_DEBUG_INFO_BTF and hardware breakpoints";

static_assert(CONFORM_PERF_EVENTS == perf_events && CONFORM_PERF_MOST_PAYLOAD == most_payload);
static_assert(CONFORM_PERF_SLOT_OTHER == static_cast<int>(PerfSlot::other) &&
              CONFORM_PERF_SLOT_EMPTY == static_cast<int>(PerfSlot::empty) &&
              CONFORM_PERF_SLOTS == static_cast<int>(PerfSlot::outside));

std::uint64_t clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

perf_event_attr kernel_attr(const sim::PerfAttr& from) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_BPF_OUTPUT;
  attr.sample_type = from.sample_type;
  attr.read_format = PERF_FORMAT_LOST;
  attr.sample_id_all = from.sample_id_all ? 1 : 0;
  attr.write_backward = from.write_backward ? 1 : 0;
  attr.comm = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = from.watermark ? 1 : 0;
  if (from.watermark) {
    attr.wakeup_watermark = from.wakeup_watermark;
  } else {
    attr.wakeup_events = from.wakeup_events;
  }
  return attr;
}

/// The programs, and what they share with all scripts of the lab.
class Programs {
 public:
  Programs() = default;
  ~Programs() { conform_perf_bpf::destroy(skeleton_); }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  ring::Result<void> load() {
    {
      const real::QuietLibbpf quiet;
      skeleton_ = conform_perf_bpf::open();
      if (skeleton_ == nullptr) return real::load_error("perf ring scripts", errno, needed_kernel);
      if (const int code = conform_perf_bpf::load(skeleton_); code != 0) {
        return real::load_error("perf ring scripts", -code, needed_kernel);
      }
    }
    auto payload = real::Mapping::of_file(bpf_map__fd(skeleton_->maps.payloads), CONFORM_PERF_MOST_PAYLOAD,
                                          PROT_READ | PROT_WRITE, 0, "payload of scripts");
    if (!payload) return tl::unexpected(payload.error());
    payload_ = std::move(*payload);
    perf_event_attr attr{};
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    auto other = real::open_event(attr, 0, -1, "perf event that takes no output");
    if (!other) return tl::unexpected(other.error());
    other_ = std::move(*other);
    return put(CONFORM_PERF_SLOT_OTHER, other_.get());
  }

  ring::Result<void> put(std::uint32_t slot, int event) {
    if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.events), &slot, &event, BPF_ANY) != 0) {
      return ring::errno_error(fmt::format("store perf event in slot {}", slot), errno);
    }
    return {};
  }
  void clear(std::uint32_t slot) { bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.events), &slot); }

  std::span<std::byte> payload(std::size_t size) { return {payload_.data(), size}; }
  conform_perf_shared& shared() { return skeleton_->bss->shared; }
  int nested_program() const { return bpf_program__fd(skeleton_->progs.nested); }

  ring::Result<std::int64_t> output(std::uint64_t flags, std::uint64_t size) {
    return run(skeleton_->progs.output, {flags, size});
  }
  ring::Result<std::int64_t> output_nested(std::uint64_t flags, std::uint64_t size) {
    return run(skeleton_->progs.output_nested, {flags, size});
  }
  ring::Result<std::int64_t> look() { return run(skeleton_->progs.look, {0, 0}); }

 private:
  static ring::Result<std::int64_t> run(const bpf_program* program, std::array<std::uint64_t, 2> arguments) {
    bpf_test_run_opts options{};
    options.sz = sizeof(options);
    options.ctx_in = arguments.data();
    options.ctx_size_in = sizeof(arguments);
    if (const int code = bpf_prog_test_run_opts(bpf_program__fd(program), &options); code != 0) {
      return ring::errno_error("run BPF program of perf ring scripts", -code);
    }
    return static_cast<std::int32_t>(options.retval);
  }

  conform_perf_bpf* skeleton_ = nullptr;
  real::Mapping payload_;
  real::Fd other_;
};

/// One event of a script.
struct Event {
  real::Fd fd;
  struct Map {
    real::Mapping mapping;
    bool writable = false;
  };
  std::vector<Map> maps;
  bool backward = false;
  /// Whose ring it writes to; nothing without one.
  std::optional<std::size_t> ring_of;
};

class PerfKernelSide final : public Side {
 public:
  PerfKernelSide(Programs& programs, std::uint32_t cpu) : programs_(&programs) {
    facts_.pid = static_cast<std::uint32_t>(::getpid());
    facts_.tid = static_cast<std::uint32_t>(::gettid());
    facts_.cpu = cpu;
    ::prctl(PR_GET_NAME, name_before_.data());
  }
  // The slots hold the events, too, and let go of them some milliseconds later only: until then the thread carries them
  // along, and what is disabled weighs nothing.
  ~PerfKernelSide() override {
    for (std::size_t i = 0; i < perf_events; ++i) {
      if (events_[i].fd) ask(i, PERF_EVENT_IOC_DISABLE, 0);
      programs_->clear(static_cast<std::uint32_t>(i));
    }
    ::prctl(PR_SET_NAME, name_before_.data());
  }

  ring::Result<void> set_up(const PerfSetup& setup) {
    for (std::size_t i = 0; i < perf_events; ++i) {
      auto fd = real::open_event(kernel_attr(setup.attrs[i]), 0, -1, "perf event of a script");
      if (!fd) return tl::unexpected(fd.error());
      Event& event = events_[i];
      event.fd = std::move(*fd);
      event.backward = setup.attrs[i].write_backward;
      if (::ioctl(event.fd.get(), PERF_EVENT_IOC_ID, &facts_.event_id[i]) != 0) {
        return ring::errno_error("ask perf event of a script for its id", errno);
      }
      if (auto put = programs_->put(static_cast<std::uint32_t>(i), event.fd.get()); !put) return put;
    }
    if (const int code = map(0, setup.pages, !setup.readonly); code != 0) {
      return ring::errno_error(fmt::format("map perf ring of {} pages", setup.pages), -code,
                               code == -EPERM ? "raise RLIMIT_MEMLOCK or run with CAP_IPC_LOCK" : "");
    }
    auto readiness = KernelReadiness::create({events_[0].fd.get(), events_[1].fd.get()}, EPOLLIN);
    if (!readiness) return tl::unexpected(readiness.error());
    readiness_ = std::make_unique<KernelReadiness>(std::move(*readiness));
    tell_data();
    return {};
  }

  ring::Result<Outcome> apply(const Op& op, std::uint64_t ordinal) override {
    facts_.clock_before_ns = clock_ns();
    auto outcome = is_readiness(op.verb) ? readiness_->apply(kind, op) : carry_out(op, ordinal);
    facts_.clock_after_ns = clock_ns();
    tell_data();
    return outcome;
  }

  ring::Result<Outcome> look() override { return look_at_sets_first(*readiness_); }

  ring::Result<void> show(View& view) override {
    if (auto looked = programs_->look(); !looked) return tl::unexpected(looked.error());
    std::array<PerfShown, perf_events> shown;
    for (std::size_t i = 0; i < perf_events; ++i) {
      shown[i] = shown_of(programs_->shared().state[i]);
      shown[i].mappings = events_[i].maps.size();
      shown[i].pages = pages(i);
      std::array<std::uint64_t, 2> counts{};  // value, lost
      if (::read(events_[i].fd.get(), counts.data(), sizeof(counts)) != sizeof(counts)) {
        return ring::errno_error("read counts of perf event of a script", errno, "needs kernel 6.0 or later");
      }
      shown[i].count = counts[0];
      shown[i].lost_read = counts[1];
    }
    show_perf(shown, 0, view);
    return {};
  }

  const Facts& facts() const override { return facts_; }

 private:
  static std::size_t index_of(const Op& op) { return static_cast<std::size_t>(value_of(kind, op, Arg::event)); }

  ring::Result<Outcome> carry_out(const Op& op, std::uint64_t ordinal) {
    switch (op.verb) {
      case Verb::perf_output:
        return output(op, ordinal);
      case Verb::perf_nested:
        return nested(op, ordinal);
      case Verb::comm:
        return Outcome{.result = ::prctl(PR_SET_NAME, comm_of(op, ordinal).data()), .details = {}};
      case Verb::tail:
        return move_tail(pages(index_of(op)), op);
      case Verb::head:
        return scribble_head(pages(index_of(op)), op);
      case Verb::perf_consume:
        return consume_perf(pages(index_of(op)), op);
      case Verb::map:
        return map(op);
      case Verb::unmap:
        return unmap(op);
      case Verb::redirect:
        return redirect(op);
      default:
        return control(op);
    }
  }

  static Outcome told(ring::Result<std::int64_t> result) { return {.result = *result, .details = {}}; }

  ring::Result<Outcome> output(const Op& op, std::uint64_t ordinal) {
    const auto size = static_cast<std::size_t>(value_of(kind, op, Arg::size));
    fill_payload(programs_->payload(size), ordinal);
    return programs_->output(output_flags(op), size).map(told);
  }

  // The word that is stored to right before the point, and how many of the outer output's stores to it there are until
  // then.
  struct Watch {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t stores = 1;
  };
  static Watch watch_of(sim::PerfPoint point, const conform_perf_event& state) {
    switch (point) {
      case sim::PerfPoint::entered:
        return {.address = state.nest_address, .bytes = HW_BREAKPOINT_LEN_4, .stores = 1};
      case sim::PerfPoint::left:
        return {.address = state.nest_address, .bytes = HW_BREAKPOINT_LEN_4, .stores = 2};
      case sim::PerfPoint::published:
        return {.address = state.control_page + ring::perf::data_head_offset, .bytes = HW_BREAKPOINT_LEN_8};
      default:
        return {.address = state.head_address, .bytes = HW_BREAKPOINT_LEN_8};
    }
  }

  ring::Result<real::Fd> break_at(const Watch& watch) {
    perf_event_attr attr{};
    attr.type = PERF_TYPE_BREAKPOINT;
    attr.bp_type = HW_BREAKPOINT_W;
    attr.bp_addr = watch.address;
    attr.bp_len = watch.bytes;
    attr.sample_period = 1;
    attr.disabled = 1;
    auto fd = real::open_event(attr, 0, -1, "breakpoint in a perf ring");
    if (!fd) return fd;
    if (::ioctl(fd->get(), PERF_EVENT_IOC_SET_BPF, programs_->nested_program()) != 0 ||
        ::ioctl(fd->get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return ring::errno_error("attach program to breakpoint in a perf ring", errno);
    }
    return fd;
  }

  ring::Result<Outcome> nested(const Op& op, std::uint64_t ordinal) {
    conform_perf_shared& shared = programs_->shared();
    const std::size_t index = index_of(op);
    const auto size = static_cast<std::size_t>(value_of(kind, op, Arg::size));
    fill_payload(programs_->payload(size), ordinal);
    if (auto looked = programs_->look(); !looked) return tl::unexpected(looked.error());
    const conform_perf_event& state = shared.state[index];
    if (state.ring == 0) {
      // Nothing to be within of.
      return programs_->output(index, size).map([](std::int64_t result) {
        return Outcome{.result = result, .details = {0, 0}};
      });
    }
    const auto point = static_cast<sim::PerfPoint>(value_of(kind, op, Arg::at) + 1);
    const Watch watch = watch_of(point, state);
    auto breakpoint = break_at(watch);
    if (!breakpoint) return tl::unexpected(breakpoint.error());
    shared.nested_slot = static_cast<std::uint32_t>(index);
    shared.nested_size = static_cast<std::uint32_t>(value_of(kind, op, Arg::inner));
    shared.nested_result = 0;
    fill_payload(std::as_writable_bytes(std::span(shared.nested_payload)).first(shared.nested_size),
                 inner_ordinal(ordinal));
    shared.nested_armed = watch.stores;
    const auto result = programs_->output_nested(index, size);
    const bool took_place = shared.nested_armed == 0;
    shared.nested_armed = 0;
    if (!result) return tl::unexpected(result.error());
    const std::int64_t inner = shared.nested_result;
    return Outcome{.result = *result, .details = {took_place, static_cast<std::uint64_t>(inner)}};
  }

  int map(std::size_t index, std::uint64_t data_pages, bool writable) {
    Event& event = events_[index];
    const std::size_t size = (1 + static_cast<std::size_t>(data_pages)) * real::page_bytes();
    auto mapping = real::Mapping::of_file(event.fd.get(), size, writable ? PROT_READ | PROT_WRITE : PROT_READ, 0,
                                          "perf ring of a script");
    if (!mapping) return -mapping.error().code;
    event.maps.push_back({.mapping = std::move(*mapping), .writable = writable});
    if (!event.ring_of) event.ring_of = index;
    return 0;
  }

  Outcome map(const Op& op) {
    const std::size_t index = index_of(op);
    if (events_[index].maps.size() == most_mappings) return {.result = perf_nothing_done, .details = {}};
    return {.result = map(index, pages_of(op), value_of(kind, op, Arg::readonly) == 0), .details = {}};
  }

  Outcome unmap(const Op& op) {
    const std::size_t index = index_of(op);
    Event& event = events_[index];
    if (event.maps.empty()) return {.result = perf_nothing_done, .details = {}};
    event.maps.pop_back();
    if (!event.maps.empty()) return {};
    const auto ring_of = std::exchange(event.ring_of, std::nullopt);
    if (mapped(ring_of) != nullptr) return {};
    // That was the ring's last mapping: it ends, for all of its events.
    for (Event& each : events_) {
      if (each.ring_of == ring_of) each.ring_of.reset();
    }
    return {};
  }

  int ask(std::size_t index, unsigned long request, unsigned long argument) {
    return ::ioctl(events_[index].fd.get(), request, argument) == 0 ? 0 : -errno;
  }

  Outcome redirect(const Op& op) {
    const std::size_t index = index_of(op);
    const auto to = static_cast<std::size_t>(value_of(kind, op, Arg::to));
    const int result = ask(index, PERF_EVENT_IOC_SET_OUTPUT, static_cast<unsigned long>(events_[to].fd.get()));
    if (result == 0) events_[index].ring_of = events_[to].ring_of;
    return {.result = result, .details = {}};
  }

  Outcome control(const Op& op) {
    const std::size_t index = index_of(op);
    switch (op.verb) {
      case Verb::pause:
        return {.result = ask(index, PERF_EVENT_IOC_PAUSE_OUTPUT, value_of(kind, op, Arg::on) != 0), .details = {}};
      case Verb::enable: {
        const bool on = value_of(kind, op, Arg::on) != 0;
        return {.result = ask(index, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0), .details = {}};
      }
      case Verb::reset:
        return {.result = ask(index, PERF_EVENT_IOC_RESET, 0), .details = {}};
      default:
        break;
    }
    assert(op.verb == Verb::detach);
    // An unsigned long: a -1 of 32 bits is a bad descriptor [2.11].
    const int result = ask(index, PERF_EVENT_IOC_SET_OUTPUT, ~0ul);
    if (result == 0) events_[index].ring_of.reset();
    return {.result = result, .details = {}};
  }

  // The mapping through which the script stores: one that can be written to, if there is one.
  PerfPages pages(std::size_t index) const { return pages(events_[index]); }
  static PerfPages pages(const Event& event) {
    if (event.maps.empty()) return {};
    const Event::Map* best = event.maps.data();
    for (const Event::Map& each : event.maps) {
      if (each.writable && !best->writable) best = &each;
    }
    const std::size_t page = real::page_bytes();
    return {.control = best->mapping.data(),
            .data = {best->mapping.data() + page, best->mapping.size() - page},
            .writable = best->writable,
            .backward = event.backward};
  }

  // An event that has that ring mapped.
  const Event* mapped(const std::optional<std::size_t>& ring_of) const {
    if (!ring_of) return nullptr;
    for (const Event& each : events_) {
      if (each.ring_of == ring_of && !each.maps.empty()) return &each;
    }
    return nullptr;
  }

  void tell_data() {
    for (std::size_t i = 0; i < perf_events; ++i) {
      const Event* const with_ring = mapped(events_[i].ring_of);
      facts_.data[i] = with_ring != nullptr ? pages(*with_ring).data : std::span<const std::byte>();
    }
  }

  static PerfShown shown_of(const conform_perf_event& state) {
    return {.lost_samples = state.lost_samples,
            .has_ring = state.ring != 0,
            .head = state.head,
            .events = state.events,
            .wakeup = state.wakeup,
            .lost = state.lost,
            .watermark = state.watermark,
            .nest = state.nest,
            .poll = state.poll,
            .paused = state.paused,
            .overwrite = state.overwrite,
            .data_pages = state.pages,
            .pages = {}};
  }

  Programs* programs_;
  std::array<char, 16> name_before_{};
  Facts facts_;
  std::array<Event, perf_events> events_;
  std::unique_ptr<KernelReadiness> readiness_;
};

class PerfLab final : public Lab {
 public:
  explicit PerfLab(std::uint32_t cpu) : cpu_(cpu) {}

  ring::Result<void> load() {
    if (auto pinned = real::pin_to(cpu_); !pinned) return pinned;
    return programs_.load();
  }

  ring::Result<std::unique_ptr<Side>> side(const Script& script) override {
    assert(script.kind == kind);
    auto side = std::make_unique<PerfKernelSide>(programs_, cpu_);
    if (auto set_up = side->set_up(perf_setup(script)); !set_up) return tl::unexpected(set_up.error());
    return side;
  }

 private:
  std::uint32_t cpu_;
  Programs programs_;
};

}  // namespace

ring::Result<std::unique_ptr<Lab>> make_perf_lab(std::uint32_t cpu) {
  auto lab = std::make_unique<PerfLab>(cpu);
  if (auto loaded = lab->load(); !loaded) return tl::unexpected(loaded.error());
  return lab;
}

}  // namespace ringside::conform
