// SPDX-License-Identifier: Apache-2.0
#include "explore/programs/stamped_rings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "explore/explored_memory.h"
#include "ring/layout.h"
#include "sim/ring_memory.h"
#include "sim/ringbuf_commit.h"
#include "sim/ringbuf_reserve.h"

namespace ringside::explore::programs {
namespace {

namespace rb = ring::ringbuf;

/// Nobody sleeps, so nothing hangs on whether the consumer has caught up.
struct SilentMemory : ExploredMemory {
  static bool points_at(const std::uint64_t*, std::uint64_t, std::uint64_t) { return false; }
};

struct Cpu {
  sim::RingbufMemory memory = sim::RingbufMemory::create(sim::page_size_bytes(), sim::UserMapping::kernels).value();
  sim::RingbufState state;
  std::vector<std::uint64_t> stamps;  ///< of its records; for the judge
  std::uint64_t next = 0;             ///< the record that must be handed on next
};

/// The one pair of the process; programs follow one another.
struct Stage {
  std::array<Cpu, 2> cpus;
  StampedPlan plan;
  std::uint64_t clock = 0;
  std::uint64_t newest = 0;  ///< stamp of what was handed on
};

Stage& stage() {
  static Stage the_stage;
  return the_stage;
}

void begin_cpu(Cpu& cpu, std::uint32_t records) {
  cpu.state = {.consumer_pos = reinterpret_cast<std::uint64_t*>(cpu.memory.kernel_consumer_page()),
               .producer_pos = reinterpret_cast<std::uint64_t*>(cpu.memory.kernel_producer_page()),
               .pending_pos = reinterpret_cast<std::uint64_t*>(cpu.memory.kernel_producer_page()) + 1,
               .overwrite_pos = reinterpret_cast<std::uint64_t*>(cpu.memory.kernel_producer_page()) + 2,
               .data = cpu.memory.kernel_data(),
               .size = cpu.memory.data_size(),
               .page_size = sim::page_size_bytes(),
               .rules = sim::ringbuf_rules(sim::default_kernel_version)};
  *cpu.state.consumer_pos = *cpu.state.producer_pos = *cpu.state.pending_pos = 0;
  // Whoever looks too early finds committed records of an earlier lap everywhere.
  const std::uint64_t old = stamped_size;
  for (std::uint64_t at = 0; at < cpu.state.size; at += sizeof old) std::memcpy(cpu.state.data + at, &old, sizeof old);
  cpu.stamps.assign(records, 0);
  cpu.next = 0;
}

void begin(const StampedPlan& plan) {
  Stage& here = stage();
  here.plan = plan;
  here.clock = 1;
  here.newest = 0;
  for (Cpu& cpu : here.cpus) begin_cpu(cpu, plan.records);
}

std::uint64_t read_clock() { return ExploredMemory::load_relaxed(&stage().clock); }

void tick() {
  for (std::uint32_t done = 0; done < stage().plan.ticks; ++done) {
    ExploredMemory::store_relaxed(&stage().clock, std::uint64_t{2} + done);
  }
}

std::uint64_t number_of(std::size_t cpu, std::uint64_t record) { return 1000 * (cpu + 1) + record; }

void output(std::size_t number, std::uint32_t record) {
  const StampedPlan& plan = stage().plan;
  Cpu& cpu = stage().cpus[number];
  std::uint64_t stamp = plan.stamp == ring::Stamp::before ? read_clock() : 0;
  sim::RingbufReserve<ExploredMemory> reserve(cpu.state, stamped_size);
  reserve.run();
  if (reserve.failure() != sim::ReserveFailure::none) fail("the ring is too small for this program");
  if (plan.stamp == ring::Stamp::inside) {
    // (1) Full, pairs with the reader's between its two looks.
    if (plan.barrier) atomic_fence(Order::seq_cst);
    stamp = read_clock();
  }
  cpu.stamps[record] = stamp;
  const std::uint64_t words[2] = {stamp, number_of(number, record)};
  std::array<std::byte, sizeof words> bytes;
  std::memcpy(bytes.data(), words, sizeof words);
  ExploredMemory::write_bytes(cpu.state.payload(reserve.position()), bytes.data(), bytes.size());
  sim::RingbufCommit<SilentMemory>(cpu.state, reserve.position(), sim::Fate::submit, 0).run();
}

void produce(std::size_t cpu) {
  for (std::uint32_t record = 0; record < stage().plan.records; ++record) output(cpu, record);
}

void end() {
  const Stage& here = stage();
  for (const Cpu& cpu : here.cpus) {
    if (*cpu.state.consumer_pos != cpu.next * rb::span_of(stamped_size)) {
      fail(DefectKind::lost, "space is handed back of a record that was not handed on");
    }
    for (std::uint64_t record = cpu.next; record < cpu.stamps.size(); ++record) {
      if (cpu.stamps[record] < here.newest) {
        fail(DefectKind::reordered, "a record was handed on before an older one of the other CPU");
      }
    }
  }
}

void name_cpu(std::vector<Name>& names, const Cpu& cpu, std::size_t number) {
  const auto named = [number](const char* what) { return fmt::format("CPU {}'s {}", number, what); };
  const std::byte* const producer_page = cpu.memory.kernel_producer_page();
  names.push_back({cpu.memory.kernel_consumer_page(), 8, named("consumer_pos")});
  names.push_back({producer_page, 8, named("producer_pos")});
  names.push_back({producer_page + 8, 8, named("pending_pos")});
  names.push_back({cpu.memory.kernel_data(), cpu.memory.data_size(), named("data")});
  names.push_back({&cpu.state.lock, sizeof cpu.state.lock, named("lock")});
}

void describe(Program& program) {
  const Stage& here = stage();
  for (std::size_t number = 0; number < here.cpus.size(); ++number) {
    const sim::RingbufMemory& memory = here.cpus[number].memory;
    std::byte* const data = memory.kernel_data();
    program.aliases.push_back({.begin = data + memory.data_size(), .size_bytes = memory.data_size(), .same_as = data});
    program.rings.push_back({.name = fmt::format("CPU {}'s ring", number),
                             .consumed = memory.kernel_consumer_page(),
                             .produced = memory.kernel_producer_page(),
                             .data = data,
                             .size_bytes = memory.data_size()});
    name_cpu(program.names, here.cpus[number], number);
  }
  program.names.push_back({&here.clock, sizeof here.clock, "clock"});
}

}  // namespace

std::array<RingView, 2> stamped_rings() {
  std::array<RingView, 2> views;
  for (std::size_t number = 0; number < views.size(); ++number) {
    const sim::RingbufState& state = stage().cpus[number].state;
    views[number] = {state.consumer_pos, state.producer_pos, state.data, state.mask()};
  }
  return views;
}

void deliver_stamped(std::uint64_t number, std::uint64_t stamp) {
  Stage& here = stage();
  const std::uint64_t cpu = number / 1000 - 1;
  const std::uint64_t record = number % 1000;
  if (cpu >= here.cpus.size() || record >= here.plan.records) {
    fail(DefectKind::phantom, "a record that nobody wrote is delivered");
  }
  Cpu& from = here.cpus[cpu];
  if (record != from.next) fail(DefectKind::lost, "a record is delivered out of its ring's order");
  if (stamp != from.stamps[record]) fail(DefectKind::torn, "a record is delivered with a stamp that is not its own");
  ++from.next;
  if (stamp < here.newest) fail(DefectKind::reordered, "a record is delivered after a younger one");
  here.newest = stamp;
}

Program stamped_program(const StampedPlan& plan, std::function<void()> reader) {
  Program program;
  program.begin = [plan] { begin(plan); };
  for (std::size_t cpu = 0; cpu < 2; ++cpu) {
    program.threads.emplace_back([cpu] { produce(cpu); });
    program.thread_names.push_back(fmt::format("CPU {}", cpu));
  }
  program.threads.emplace_back(tick);
  program.thread_names.emplace_back("clock");
  program.threads.push_back(std::move(reader));
  program.thread_names.emplace_back("consumer");
  program.kernel_threads = {0, 1, 2};
  program.end = end;
  describe(program);
  return program;
}

}  // namespace ringside::explore::programs
