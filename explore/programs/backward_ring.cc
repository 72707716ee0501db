// SPDX-License-Identifier: Apache-2.0
//
// What the reader does by system calls is here what those come to. The pause is a word that an output loads once, at
// its beginning (2.4.2). The kernel's load is plain and what it decides, whether data is written, is a control
// dependency, which counts as acquire. Whoever has run on the ring's CPU finds no output of before under way, and all
// later ones find the pause: sequentially consistent accesses of a word that says what is under way.
#include "explore/programs/backward_ring.h"

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "explore/programs/perf_kernel.h"
#include "ring/layout.h"
#include "sim/perf_output.h"
#include "sim/perf_ring.h"
#include "sim/ring_memory.h"

namespace ringside::explore::programs {
namespace {

struct Stage {
  sim::PerfMemory memory = sim::PerfMemory::create(sim::page_size_bytes(), false, sim::UserMapping::kernels).value();
  sim::PerfRingState state;
  sim::PerfEventState event;
  BackwardPlan plan;
  std::uint32_t pause = 0;               ///< 1: paused
  std::uint32_t under_way = 0;           ///< an output is
  std::array<std::uint64_t, 32> ends{};  ///< of the records that were put out: the position behind each
  std::uint32_t put_out = 0;             ///< a bit each
  std::uint32_t due = 0;                 ///< a bit each
  std::uint32_t delivered = 0;           ///< a bit each
  std::uint64_t dropped = 0;             ///< put out into a paused ring
  std::uint64_t told_lost = 0;
};

/// The one ring of the process; programs follow one another.
Stage& stage() {
  static Stage the_stage;
  return the_stage;
}

void begin(const BackwardPlan& plan) {
  Stage& here = stage();
  here.plan = plan;
  here.pause = here.under_way = 0;
  here.put_out = here.due = here.delivered = 0;
  here.dropped = here.told_lost = 0;
  here.event = {.attr = {.write_backward = true}, .id = 1};
  here.state = sim::start_perf_ring(here.memory.kernel_control_page(), here.memory.kernel_data(),
                                    here.memory.data_size(), here.event.attr, here.event.id, false);
  here.state.head = here.state.wakeup = *here.state.data_head = *here.state.data_tail = 0;
  fill_with_old_samples(here.state);
}

void write(std::uint32_t number, std::span<const std::byte> raw) {
  Stage& here = stage();
  const sim::PerfRecord record{.payload = raw};
  sim::PerfOutput<KernelMemory> output(here.state, here.event, record);
  here.state.paused = atomic_load(&here.pause, sizeof here.pause, Order::seq_cst) != 0;
  while (output.step() != sim::StepResult::done) {
  }
  if (output.result() != 0) {
    ++here.dropped;
    return;
  }
  here.ends[number] = output.position() + sim::record_bytes(here.event, record);
  here.put_out |= 1u << number;
}

void output(std::uint32_t number) {
  Stage& here = stage();
  std::array<std::byte, 4096> bytes{};
  std::memcpy(bytes.data(), &number, sizeof number);
  std::memcpy(&bytes[here.plan.size - sizeof number], &number, sizeof number);
  atomic_store(&here.under_way, sizeof here.under_way, 1, Order::seq_cst);
  write(number, std::span(bytes).first(here.plan.size));
  atomic_store(&here.under_way, sizeof here.under_way, 0, Order::seq_cst);
}

void produce() {
  for (std::uint32_t number = 0; number < stage().plan.records; ++number) output(number);
}

void account() {
  const Stage& here = stage();
  if ((here.due & ~here.delivered) != 0) {
    fail(DefectKind::lost, "a sample that lay whole in a paused ring is delivered by nobody");
  }
  if (here.told_lost > here.dropped) fail(DefectKind::loss_miscounted, "more samples are told as lost than were");
}

}  // namespace

PerfEventPages backward_ring_pages() {
  const sim::PerfMemory& memory = stage().memory;
  return {memory.kernel_control_page(), memory.kernel_data(), memory.data_size()};
}

const BackwardPlan& backward_plan() { return stage().plan; }

void pause_backward_ring(bool on) { atomic_store(&stage().pause, sizeof stage().pause, on ? 1 : 0, Order::seq_cst); }

void quiesce_backward_ring() {
  Stage& here = stage();
  await(&here.under_way, sizeof here.under_way, Order::seq_cst, [](std::uint64_t outputs) { return outputs == 0; });
  // The reader's own store.
  if (here.pause == 0) return;
  for (std::uint32_t number = 0; number < here.plan.records; ++number) {
    const bool whole = (here.put_out >> number & 1) != 0 && here.ends[number] - here.state.head <= here.state.size;
    if (whole) here.due |= 1u << number;
  }
}

void deliver_backward(std::uint32_t number) {
  Stage& here = stage();
  if (number >= here.plan.records) fail(DefectKind::phantom, "a sample is delivered that nobody wrote");
  if ((here.delivered >> number & 1) != 0) fail(DefectKind::duplicate, "a sample is delivered twice");
  if (here.delivered >> number != 0) fail(DefectKind::reordered, "a sample is delivered after a later one");
  here.delivered |= 1u << number;
}

void deliver_backward_lost(std::uint64_t count) { stage().told_lost += count; }

Program backward_program(const BackwardPlan& plan, std::function<void()> reader) {
  const sim::PerfMemory& memory = stage().memory;
  std::byte* const control = memory.kernel_control_page();
  return {.begin = [plan] { begin(plan); },
          .threads = {produce, std::move(reader)},
          .end = account,
          .kernel_threads = {0},
          .names = {{control + ring::perf::data_head_offset, 8, "data_head"},
                    {control + ring::perf::data_tail_offset, 8, "data_tail"},
                    {memory.kernel_data(), memory.data_size(), "data"},
                    {&stage().pause, sizeof stage().pause, "paused"},
                    {&stage().under_way, sizeof stage().under_way, "outputs under way"}},
          .thread_names = {"kernel", "reader"}};
}

}  // namespace ringside::explore::programs
