// SPDX-License-Identifier: Apache-2.0
#include "explore/programs/perf_event.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "explore/programs/kernel_calls.h"
#include "explore/programs/perf_kernel.h"
#include "ring/layout.h"
#include "sim/perf_output.h"
#include "sim/perf_ring.h"
#include "sim/ring_memory.h"

namespace ringside::explore::programs {
namespace {

struct Stage {
  sim::PerfMemory memory = sim::PerfMemory::create(sim::page_size_bytes(), true, sim::UserMapping::kernels).value();
  sim::PerfRingState state;
  sim::PerfEventState event;
  PerfEventPlan plan;
  std::optional<int> source;  ///< the event's descriptor, once it is open
  bool interrupted = false;
  std::uint32_t delivered = 0;  ///< a bit each
  std::uint64_t told_lost = 0;
  std::uint64_t batch = 0;    ///< data_head when the batch began
  std::uint64_t dropped = 0;  ///< for want of room
};

/// The one ring of the process; programs follow one another.
Stage& stage() {
  static Stage the_stage;
  return the_stage;
}

void begin(const PerfEventPlan& plan) {
  Stage& here = stage();
  here.plan = plan;
  here.source.reset();
  here.interrupted = false;
  here.delivered = 0;
  here.told_lost = here.dropped = 0;
  here.event = {.attr = {.wakeup_events = plan.wakes ? 1u : 0u}, .id = 1};
  here.state = sim::start_perf_ring(here.memory.kernel_control_page(), here.memory.kernel_data(),
                                    here.memory.data_size(), here.event.attr, here.event.id, true);
  here.state.head = here.state.wakeup = *here.state.data_head = *here.state.data_tail = plan.start;
  fill_with_old_samples(here.state);
}

void output(std::uint32_t number);

/// A place where the interrupt may come.
void interruptible() {
  Stage& here = stage();
  if (!here.plan.interrupt || here.interrupted || choose(2) == 0) return;
  here.interrupted = true;
  output(here.plan.records - 1);
}

template <class Memory>
void write(const sim::PerfRecord& record) {
  Stage& here = stage();
  sim::PerfOutput<Memory> output(here.state, here.event, record);
  while (output.step() != sim::StepResult::done) {
    if (output.point() != sim::PerfPoint::none) interruptible();
  }
  if (output.result() != 0 && !here.plan.loses) fail("the ring is too small for this program");
  here.dropped += output.result() != 0 ? 1u : 0u;
  if (output.wants_wakeup() && here.source) wake_source(*here.source);
}

void output(std::uint32_t number) {
  Stage& here = stage();
  std::array<std::byte, 4096> raw;
  std::fill_n(raw.begin(), here.plan.size, std::byte{0});
  std::memcpy(raw.data(), &number, sizeof number);
  std::memcpy(&raw[here.plan.size - sizeof number], &number, sizeof number);
  const sim::PerfRecord record{.payload = std::span(raw).first(here.plan.size)};
  if (here.plan.waits_for_space) {
    const std::uint64_t after = here.state.head + sim::record_bytes(here.event, record);
    await(here.state.data_tail, sizeof after, Order::acquire,
          [&](std::uint64_t tail) { return after - tail <= here.state.mask(); });
  }
  here.plan.flag_behind_head ? write<OrderedFlagMemory>(record) : write<KernelMemory>(record);
}

void produce() {
  const PerfEventPlan& plan = stage().plan;
  for (std::uint32_t number = 0; number + (plan.interrupt ? 1 : 0) < plan.records; ++number) output(number);
  if (!plan.interrupt || stage().interrupted) return;
  stage().interrupted = true;  // it did not come before: it comes right behind
  output(plan.records - 1);
}

void account() {
  const Stage& here = stage();
  const std::uint64_t delivered = samples_delivered();
  if (!here.plan.loses && delivered != here.plan.records) fail(DefectKind::lost, "a sample is delivered by nobody");
  const Left left = left_in_ring(here.state);
  if (delivered + left.samples + here.dropped != here.plan.records) {
    fail(DefectKind::lost, "a sample that the ring had room for is neither delivered nor left there");
  }
  const std::uint64_t told = here.told_lost + here.state.lost + left.lost;
  if (told < here.dropped) fail(DefectKind::loss_miscounted, "fewer samples are told as lost than were");
  if (told > here.dropped) fail(DefectKind::loss_miscounted, "more samples are told as lost than were");
}

/// Takes the flag: two polls in a row are told once [4.1].
std::uint32_t readiness() {
  const std::uint64_t flags =
      atomic_update(&stage().state.poll, sizeof stage().state.poll, Order::seq_cst, [](std::uint64_t) { return 0; });
  return static_cast<std::uint32_t>(flags);
}

std::optional<long> open_event(const Call& call) {
  const auto [number, attr, thread, cpu, group, flags] = call.arguments;
  if (static_cast<int>(cpu) != 0) return -ENODEV;
  return open_perf_event();
}

std::optional<long> map_event(const MmapCall& call) {
  const sim::PerfMemory& memory = stage().memory;
  if (call.offset != 0 || call.size != sim::page_size_bytes() + memory.data_size()) return -EINVAL;
  return address_of(memory.kernel_control_page());
}

/// The files that say which CPUs there are: one.
std::optional<long> answer_file(const Call& call) {
  constexpr std::string_view folder = "/sys/devices/system/cpu/";
  constexpr std::string_view cpus = "0\n";
  if (call.name == "open" && std::string_view(reinterpret_cast<const char*>(call.arguments[0])).starts_with(folder)) {
    return open_source({});
  }
  if (call.name != "read" || static_cast<std::size_t>(call.arguments[2]) < cpus.size()) return std::nullopt;
  give(reinterpret_cast<void*>(call.arguments[1]), cpus.data(), cpus.size());
  return cpus.size();
}

std::optional<long> answer(int map, const Call& call) {
  if (const auto info = as_map_info(call, map)) {
    return tell_map_info(*info, {.type = BPF_MAP_TYPE_PERF_EVENT_ARRAY, .max_entries = 1});
  }
  if (const auto bpf = as_bpf(call)) {
    const bool known = bpf->command == BPF_MAP_UPDATE_ELEM || bpf->command == BPF_MAP_DELETE_ELEM;
    return known ? std::optional<long>(0) : std::nullopt;
  }
  if (call.name == "syscall" && call.arguments[0] == SYS_perf_event_open) return open_event(call);
  if (call.name == "munmap") return 0;
  const int event = stage().source.value_or(-1);
  if (const auto mapping = as_mmap(call, event)) return map_event(*mapping);
  if (call.name == "ioctl" && static_cast<int>(call.arguments[0]) == event) {
    const auto request = static_cast<unsigned long>(call.arguments[1]);
    if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE) return 0;
  }
  return answer_file(call);
}

}  // namespace

int open_perf_map() {
  const int map = open_source({});
  answer_calls([map](const Call& call) { return answer(map, call); });
  return map;
}

PerfEventPages perf_event_pages() {
  const sim::PerfMemory& memory = stage().memory;
  return {memory.kernel_control_page(), memory.kernel_data(), memory.data_size()};
}

const PerfEventPlan& perf_event_plan() { return stage().plan; }

int open_perf_event() {
  stage().source = open_source(readiness);
  return *stage().source;
}

void deliver_sample(std::uint32_t word) {
  Stage& here = stage();
  if (word >= here.plan.records) fail(DefectKind::phantom, "a sample is delivered that nobody wrote");
  if ((here.delivered >> word & 1) != 0) fail(DefectKind::duplicate, "a sample is delivered twice");
  // One of an interrupt may lie anywhere.
  const bool late = !here.plan.interrupt && here.delivered >> word != 0;
  if (late) fail(DefectKind::reordered, "a sample is delivered after a later one");
  here.delivered |= 1u << word;
}

void deliver_lost(std::uint64_t count) { stage().told_lost += count; }

void begin_batch() { stage().batch = ExploredMemory::load_relaxed(stage().state.data_head); }

void end_batch_of_before() {
  // The reader's own position, which nobody else stores.
  if (*stage().state.data_tail < stage().batch)
    fail(DefectKind::batch_incomplete, "a batch ends without a sample from before it");
}

void end_batch_of_all() {
  const std::uint64_t head = ExploredMemory::load_relaxed(stage().state.data_head);
  if (head != *stage().state.data_tail)
    fail(DefectKind::batch_incomplete, "a batch ends beside a sample though it is to leave none");
}

std::uint32_t samples_delivered() { return static_cast<std::uint32_t>(std::popcount(stage().delivered)); }

void wait_samples() {
  // The reader's own position, which nobody else stores.
  const std::uint64_t tail = *stage().state.data_tail;
  await(stage().state.data_head, sizeof tail, Order::relaxed, [tail](std::uint64_t head) { return head != tail; });
}

Program perf_event_program(const PerfEventPlan& plan, std::function<void()> reader) {
  const sim::PerfMemory& memory = stage().memory;
  std::byte* const control = memory.kernel_control_page();
  return {.begin = [plan] { begin(plan); },
          .threads = {produce, std::move(reader)},
          .end = account,
          .unread = [] { return *stage().state.data_head != *stage().state.data_tail; },
          .kernel_threads = {0},
          .rings = {{.name = "the ring",
                     .consumed = control + ring::perf::data_tail_offset,
                     .produced = control + ring::perf::data_head_offset,
                     .data = memory.kernel_data(),
                     .size_bytes = memory.data_size()}},
          .names = {{control + ring::perf::data_head_offset, 8, "data_head"},
                    {control + ring::perf::data_tail_offset, 8, "data_tail"},
                    {memory.kernel_data(), memory.data_size(), "data"},
                    {&stage().state.poll, sizeof stage().state.poll, "poll flag"}},
          .thread_names = {"kernel", "reader"}};
}

}  // namespace ringside::explore::programs
