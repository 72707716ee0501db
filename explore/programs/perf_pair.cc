// SPDX-License-Identifier: Apache-2.0
//
// The clock is a word that each stamp moves on: two samples never have the same time, and what was done before a stamp
// is seen by whoever knows of a later one.
#include "explore/programs/perf_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "explore/programs/perf_kernel.h"
#include "ring/layout.h"
#include "sim/perf_output.h"
#include "sim/perf_ring.h"
#include "sim/ring_memory.h"

namespace ringside::explore::programs {
namespace {

constexpr std::uint32_t most_records = 16;

struct Cpu {
  sim::PerfMemory memory = sim::PerfMemory::create(sim::page_size_bytes(), true, sim::UserMapping::kernels).value();
  sim::PerfRingState state;
  sim::PerfEventState event;
  std::optional<int> source;
  std::uint32_t under_way = 0;                       ///< an output is
  std::array<std::uint64_t, most_records> stamps{};  ///< for the judge
  std::uint32_t next = 0;                            ///< the record that must be delivered next
  std::uint64_t batch = 0;                           ///< data_head when the batch began
};

struct Stage {
  std::array<Cpu, 2> cpus;
  PerfPairPlan plan;
  std::uint64_t clock = 0;
  std::uint64_t newest = 0;  ///< stamp of what was delivered
  std::int64_t now_ns = 0;
};

/// The one pair of the process; programs follow one another.
Stage& stage() {
  static Stage the_stage;
  return the_stage;
}

void begin_cpu(Cpu& cpu, bool stamped) {
  cpu.source.reset();
  cpu.under_way = cpu.next = 0;
  cpu.event = {.attr = {.sample_type = sim::sample_raw | (stamped ? sim::sample_time : 0)}, .id = 1};
  cpu.state = sim::start_perf_ring(cpu.memory.kernel_control_page(), cpu.memory.kernel_data(), cpu.memory.data_size(),
                                   cpu.event.attr, cpu.event.id, true);
  cpu.state.head = cpu.state.wakeup = *cpu.state.data_head = *cpu.state.data_tail = 0;
  fill_with_old_samples(cpu.state);
}

void begin(const PerfPairPlan& plan) {
  Stage& here = stage();
  here.plan = plan;
  here.clock = here.newest = 0;
  here.now_ns = 0;
  for (Cpu& cpu : here.cpus) begin_cpu(cpu, plan.stamped);
}

std::uint64_t stamp() {
  return 1 + atomic_update(&stage().clock, sizeof stage().clock, Order::seq_cst,
                           [](std::uint64_t time) { return time + 1; });
}

void write(Cpu& cpu, std::uint32_t number, std::uint64_t time_ns) {
  std::array<std::byte, pair_raw_bytes> raw;
  std::memcpy(raw.data(), &number, sizeof number);
  const sim::PerfRecord record{.payload = raw, .values = {.time_ns = time_ns}};
  sim::PerfOutput<OrderedFlagMemory> output(cpu.state, cpu.event, record);
  while (output.step() != sim::StepResult::done) {
  }
  if (output.result() != 0) fail("the ring is too small for this program");
  if (output.wants_wakeup() && cpu.source) wake_source(*cpu.source);
}

void output(std::uint32_t number) {
  Cpu& cpu = stage().cpus[number / most_records];
  if (!stage().plan.stamped) return write(cpu, number, 0);
  atomic_store(&cpu.under_way, sizeof cpu.under_way, 1, Order::seq_cst);
  const std::uint64_t time_ns = stamp();
  cpu.stamps[number % most_records] = time_ns;
  write(cpu, number, time_ns);
  atomic_store(&cpu.under_way, sizeof cpu.under_way, 0, Order::seq_cst);
}

void produce(std::uint32_t cpu) {
  for (std::uint32_t record = 0; record < stage().plan.records; ++record) output(cpu * most_records + record);
}

/// Takes the flag: two polls in a row are told once [4.1].
std::uint32_t readiness(Cpu& cpu) {
  return static_cast<std::uint32_t>(
      atomic_update(&cpu.state.poll, sizeof cpu.state.poll, Order::seq_cst, [](std::uint64_t) { return 0; }));
}

void account() {
  const Stage& here = stage();
  for (const Cpu& cpu : here.cpus) {
    if (here.plan.in_full && cpu.next != here.plan.records) {
      fail(DefectKind::lost, "a sample is delivered by nobody");
    }
    if (cpu.next + left_in_ring(cpu.state).samples != here.plan.records) {
      fail(DefectKind::lost, "a sample is neither delivered nor left in its ring");
    }
  }
}

void describe(Program& program, std::size_t number) {
  Cpu& cpu = stage().cpus[number];
  const auto named = [number](const char* what) { return fmt::format("CPU {}'s {}", number, what); };
  std::byte* const control = cpu.memory.kernel_control_page();
  program.rings.push_back({.name = named("ring"),
                           .consumed = control + ring::perf::data_tail_offset,
                           .produced = control + ring::perf::data_head_offset,
                           .data = cpu.memory.kernel_data(),
                           .size_bytes = cpu.memory.data_size()});
  program.names.push_back({control + ring::perf::data_head_offset, 8, named("data_head")});
  program.names.push_back({control + ring::perf::data_tail_offset, 8, named("data_tail")});
  program.names.push_back({cpu.memory.kernel_data(), cpu.memory.data_size(), named("data")});
  program.names.push_back({&cpu.state.poll, sizeof cpu.state.poll, named("poll flag")});
  program.names.push_back({&cpu.under_way, sizeof cpu.under_way, named("output under way")});
}

bool unread() {
  return std::any_of(stage().cpus.begin(), stage().cpus.end(),
                     [](const Cpu& cpu) { return *cpu.state.data_head != *cpu.state.data_tail; });
}

}  // namespace

std::array<PerfEventPages, 2> perf_pair_pages() {
  std::array<PerfEventPages, 2> pages;
  for (std::size_t number = 0; number < pages.size(); ++number) {
    const sim::PerfMemory& memory = stage().cpus[number].memory;
    pages[number] = {memory.kernel_control_page(), memory.kernel_data(), memory.data_size()};
  }
  return pages;
}

const PerfPairPlan& perf_pair_plan() { return stage().plan; }

std::array<int, 2> open_perf_pair() {
  std::array<int, 2> sources;
  for (std::size_t number = 0; number < sources.size(); ++number) {
    Cpu& cpu = stage().cpus[number];
    cpu.source = sources[number] = open_source([&cpu] { return readiness(cpu); });
  }
  return sources;
}

void deliver_of_pair(std::uint64_t number) {
  if (number / most_records >= 2 || number % most_records >= stage().plan.records) {
    fail(DefectKind::phantom, "a sample is delivered that nobody wrote");
  }
  Cpu& cpu = stage().cpus[number / most_records];
  if (number % most_records < cpu.next) fail(DefectKind::duplicate, "a sample is delivered twice");
  if (number % most_records > cpu.next) fail(DefectKind::reordered, "a sample is delivered before an earlier one");
  ++cpu.next;
}

void check_time_of_pair(std::uint64_t number, std::uint64_t time_ns) {
  Stage& here = stage();
  const std::uint64_t taken_ns = here.cpus[number / most_records % 2].stamps[number % most_records];
  if (time_ns != taken_ns) fail(DefectKind::torn, "a sample is delivered with a time that is not its own");
  if (time_ns < here.newest) fail(DefectKind::reordered, "a sample is delivered after a younger one");
  here.newest = time_ns;
}

void begin_batch_of_pair() {
  for (Cpu& cpu : stage().cpus) cpu.batch = ExploredMemory::load_relaxed(cpu.state.data_head);
}

void end_batch_of_pair() {
  // The reader's own positions, which nobody else stores.
  for (const Cpu& cpu : stage().cpus) {
    if (*cpu.state.data_tail < cpu.batch) {
      fail(DefectKind::batch_incomplete, "a batch ends without a sample from before it");
    }
  }
}

void yield_to_pair() {
  Stage& here = stage();
  if (!here.plan.stamped) return;
  for (Cpu& cpu : here.cpus) {
    await(&cpu.under_way, sizeof cpu.under_way, Order::seq_cst, [](std::uint64_t outputs) { return outputs == 0; });
  }
  here.now_ns += pair_yield_ns;
}

std::int64_t pair_now_ns() { return stage().now_ns; }

Program perf_pair_program(const PerfPairPlan& plan, std::function<void()> reader) {
  Program program;
  program.begin = [plan] { begin(plan); };
  program.threads = {[] { produce(0); }, [] { produce(1); }, std::move(reader)};
  program.end = account;
  program.unread = unread;
  program.kernel_threads = {0, 1};
  program.thread_names = {"CPU 0", "CPU 1", "reader"};
  for (std::size_t number = 0; number < 2; ++number) describe(program, number);
  program.names.push_back({&stage().clock, sizeof stage().clock, "clock"});
  return program;
}

}  // namespace ringside::explore::programs
