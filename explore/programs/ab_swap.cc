// SPDX-License-Identifier: Apache-2.0
#include "explore/programs/ab_swap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "explore/programs/perf_kernel.h"
#include "sim/perf_output.h"
#include "sim/perf_ring.h"
#include "sim/ring_memory.h"

namespace ringside::explore::programs {
namespace {

struct Side {
  sim::PerfMemory memory = sim::PerfMemory::create(sim::page_size_bytes(), true, sim::UserMapping::kernels).value();
  sim::PerfRingState state;
  sim::PerfEventState event;
  std::uint64_t chosen = 0;     ///< by so many programs; for the judge, who looks in steps
  std::uint64_t accounted = 0;  ///< delivered or told as lost
};

struct Stage {
  ringside_swap words{};
  std::uint32_t running = 0;  ///< programs, where they tell
  std::array<Side, 2> sides;
  SwapPlan plan;
  std::array<std::uint8_t, 32> side_of{};  ///< by attempt
  std::uint32_t delivered = 0;             ///< a bit each
  std::uint64_t told_lost = 0;
  std::uint64_t dropped = 0;  ///< found their ring full
};

/// The one swap of the process; programs follow one another.
Stage& stage() {
  static Stage the_stage;
  return the_stage;
}

void begin_side(Side& side) {
  side.event = {.attr = {.wakeup_events = 0}, .id = 1};
  side.state = sim::start_perf_ring(side.memory.kernel_control_page(), side.memory.kernel_data(),
                                    side.memory.data_size(), side.event.attr, side.event.id, true);
  side.state.head = side.state.wakeup = *side.state.data_head = *side.state.data_tail = 0;
  side.chosen = side.accounted = 0;
  fill_with_old_samples(side.state);
}

void begin(const SwapPlan& plan) {
  Stage& here = stage();
  here.words = {};
  here.running = 0;
  for (Side& side : here.sides) begin_side(side);
  here.plan = plan;
  here.delivered = 0;
  here.told_lost = here.dropped = 0;
}

void add_one(std::uint64_t* place) {
  atomic_update(place, sizeof *place, Order::relaxed, [](std::uint64_t value) { return value + 1; });
}

void output(Side& side, std::uint32_t number) {
  std::array<std::byte, 4096> raw;
  const std::uint32_t size = stage().plan.size;
  std::fill_n(raw.begin(), size, std::byte{0});
  std::memcpy(raw.data(), &number, sizeof number);
  std::memcpy(&raw[size - sizeof number], &number, sizeof number);
  const sim::PerfRecord record{.payload = std::span(raw).first(size)};
  sim::PerfOutput<KernelMemory> output(side.state, side.event, record);
  while (output.step() != sim::StepResult::done) {
  }
  if (output.result() != 0) ++stage().dropped;
}

/// Three steps with nothing that holds them together: the side's name, the count, the output.
void attempt(std::uint32_t number) {
  Stage& here = stage();
  if (here.plan.tell_when_over) {
    ExploredMemory::store_relaxed(&here.running, 1u);
    // (1) Full, pairs with (2): either who waits sees that we run, or we see the count that he has stored.
    atomic_fence(Order::seq_cst);
  }
  // Relaxed: a program reads a map's value plainly. Nor does an addition whose result nobody asks for order anything.
  const std::uint64_t side = ExploredMemory::load_relaxed(&here.words.transfer_count) % 2;
  here.side_of[number] = static_cast<std::uint8_t>(side);
  add_one(&here.sides[side].chosen);
  add_one(&here.words.samples[side]);
  output(here.sides[side], number);
  // (3) Release, pairs with the acquire of (2): what it has put out is there for who has waited.
  if (here.plan.tell_when_over) ExploredMemory::store_release(&here.running, 0u);
}

void produce() {
  for (std::uint32_t number = 0; number < stage().plan.attempts; ++number) attempt(number);
}

/// The side that the reader froze last; nobody but it stores the count.
Side& frozen_side() { return stage().sides[(stage().words.transfer_count - 1) % 2]; }

void account() {
  const Stage& here = stage();
  const std::uint64_t read = static_cast<std::uint64_t>(std::popcount(here.delivered));
  std::uint64_t left = 0;
  std::uint64_t untold = 0;
  for (const Side& side : here.sides) {
    const Left in_ring = left_in_ring(side.state);
    left += in_ring.samples;
    untold += side.state.lost + in_ring.lost;
  }
  if (read + left + here.dropped != here.plan.attempts) {
    fail(DefectKind::lost, "an attempt that its ring had room for is neither delivered nor left there");
  }
  if (here.told_lost + untold != here.dropped) {
    fail(DefectKind::loss_miscounted, "not as many attempts are told as lost as were");
  }
  const std::uint64_t on_their_way = here.words.samples[0] + here.words.samples[1];
  if (read + here.told_lost + on_their_way != here.plan.attempts) {
    fail(DefectKind::loss_miscounted, "an attempt is neither delivered nor told as lost, and no counter has it");
  }
}

PerfEventPages pages_of(const Side& side) {
  return {side.memory.kernel_control_page(), side.memory.kernel_data(), side.memory.data_size()};
}

Ring ring_of(const Side& side, const char* name) {
  std::byte* const control = side.memory.kernel_control_page();
  return {.name = name,
          .consumed = control + ring::perf::data_tail_offset,
          .produced = control + ring::perf::data_head_offset,
          .data = side.memory.kernel_data(),
          .size_bytes = side.memory.data_size()};
}

void name_side(std::vector<Name>& names, const Side& side, const std::string& letter) {
  const Ring ring = ring_of(side, "");
  names.push_back({ring.produced, 8, "data_head of " + letter});
  names.push_back({ring.consumed, 8, "data_tail of " + letter});
  names.push_back({ring.data, ring.size_bytes, "data of " + letter});
  names.push_back({&side.chosen, sizeof side.chosen, "programs that chose " + letter});
}

}  // namespace

SwapPages swap_pages() {
  return {.words = &stage().words, .sides = {pages_of(stage().sides[0]), pages_of(stage().sides[1])}};
}

const SwapPlan& swap_plan() { return stage().plan; }

void wait_for_programs() {
  atomic_fence(Order::seq_cst);  // (2), with (1); the load acquires (3)
  await(&stage().running, sizeof stage().running, Order::acquire, [](std::uint64_t running) { return running == 0; });
}

void deliver_attempt(std::uint32_t number) {
  Stage& here = stage();
  if (number >= here.plan.attempts) fail(DefectKind::phantom, "a sample is delivered that nobody put out");
  if ((here.delivered >> number & 1) != 0) fail(DefectKind::duplicate, "a sample is delivered twice");
  here.delivered |= 1u << number;
  ++here.sides[here.side_of[number]].accounted;
}

void deliver_lost_attempts(std::uint64_t count) {
  stage().told_lost += count;
  frozen_side().accounted += count;
}

void end_batch_of_side() {
  const Side& side = frozen_side();
  const std::uint64_t chosen = ExploredMemory::load_relaxed(&side.chosen);
  if (chosen == side.accounted) return;
  fail(DefectKind::batch_incomplete, "a side is called complete, and a program that chose it has yet to write there");
}

Program swap_program(const SwapPlan& plan, std::function<void()> reader) {
  const Stage& here = stage();
  std::vector<Name> names{{&here.words.transfer_count, 8, "transfer_count"},
                          {&here.words.samples[0], 8, "samples of A"},
                          {&here.words.samples[1], 8, "samples of B"},
                          {&here.running, sizeof here.running, "programs that run"}};
  name_side(names, here.sides[0], "A");
  name_side(names, here.sides[1], "B");
  return {.begin = [plan] { begin(plan); },
          .threads = {produce, std::move(reader)},
          .end = account,
          .kernel_threads = {0},
          .rings = {ring_of(here.sides[0], "side A"), ring_of(here.sides[1], "side B")},
          .names = std::move(names),
          .thread_names = {"program", "reader"}};
}

}  // namespace ringside::explore::programs
