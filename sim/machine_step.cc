// SPDX-License-Identifier: Apache-2.0
//
// How operations advance on a machine: stepped, with contexts above one another, or from end to end.
#include <algorithm>
#include <cassert>
#include <thread>

#include "sim/machine_state.h"

namespace ringside::sim {

namespace {

// How often a pending hardirq comes at a step, rather than at a later one: one in four spreads a nested record over a
// dozen steps of its outer one.
constexpr std::uint32_t hardirq_odds = 4;

bool is_due(std::uint32_t every, std::uint64_t count) { return every != 0 && count % every == 0; }

/// Nobody can stamp the record of an output while it is BUSY: where records carry one, interrupts submit.
ring::Operation nested_of(const ring::Operation& outer, ring::Stamp stamp) {
  ring::Operation nested;
  nested.action = stamp == ring::Stamp::none ? ring::Action::output : ring::Action::submit;
  nested.flags = outer.flags;
  nested.source = outer.nested_source;
  nested.cpu = outer.cpu;
  nested.size = outer.nested_size;
  return nested;
}

}  // namespace

bool Machine::State::can_enter(const Cpu& cpu, Context context) const {
  if (cpu.stack.empty()) return true;
  return context > cpu.stack.back()->context && (context == Context::nmi || !cpu.interrupts_off());
}

// KERNEL-RINGS 5.5.
LockAttempt Machine::State::lock_attempt(Cpu& cpu, Context context) const {
  const std::uint32_t failures = options.faults.lock_failures_ppm;
  if (failures != 0 && cpu.random.chance(failures, 1'000'000)) return LockAttempt::fail;
  if (context != Context::nmi) return LockAttempt::spin;
  if (rules.nmi_lock == NmiLock::try_once) return LockAttempt::once;
  // A resilient lock finds that its own CPU holds it: nobody will ever let go.
  return cpu.interrupts_off() ? LockAttempt::fail : LockAttempt::spin;
}

std::optional<std::uint16_t> Machine::State::false_size(const Cpu& cpu) const {
  if (!is_due(options.faults.hostile_every, cpu.operations_begun)) return std::nullopt;
  return options.faults.hostile_size == HostileSize::zero ? std::uint16_t{0} : std::uint16_t{65528};
}

std::uint32_t Machine::State::output_level(const Cpu& cpu) const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(cpu.stack, [](const auto& frame) { return !frame->finished; }));
}

// Puts an operation into a frame that is not on the CPU's stack yet.
void Machine::State::start(Cpu& cpu, std::uint32_t index, Frame& frame, Context context,
                           const ring::Operation& operation) {
  assert(operation.source < options.sources);
  assert(operation.nested == 0 || (context < Context::hardirq && operation.nested_source < options.sources &&
                                   operation.nested_source != operation.source));
  SourceState& source = sources[operation.source];
  assert(!source.active && "a source carries out one operation at a time");
  source.active = true;
  source.ledger.ring = ring_of(index);
  ++cpu.operations_begun;

  frame.context = context;
  frame.operation = operation;
  frame.nested_left = operation.nested;
  frame.stall_left = is_due(options.faults.stall_every, cpu.operations_begun) ? options.faults.stall_turns : 0;
  frame.finished = false;
  SourceJournal& journal = journals[ring_of(index)];
  Scratch& scratch = cpu.scratch[static_cast<std::size_t>(context)];
  if (of_ringbufs()) {
    frame.production.emplace<RingbufProduction>(*ringbufs[ring_of(index)], journal, source, operation,
                                                lock_attempt(cpu, context), frame.stepped, scratch,
                                                Stamping{.when = options.stamp, .clock = &clock});
    return;
  }
  PerfSampleValues values;
  values.time_ns = static_cast<std::uint64_t>(clock.now_ns());
  values.cpu = index;
  frame.production.emplace<PerfProduction>(*perf[index], journal, source, operation, output_level(cpu), false_size(cpu),
                                           values, scratch);
}

// The books of an operation that has ended, and the wake-up that it wants.
void Machine::State::settle(Cpu& cpu, std::uint32_t index, Frame& frame) {
  cpu.last_result = frame.visit([](auto& production) { return production.result(); });
  if (frame.visit([](auto& production) { return production.wants_wakeup(); })) queue_wakeup(cpu, ring_of(index));
  sources[frame.operation.source].active = false;
  // Relaxed, and no atomic addition: only this CPU's thread writes it.
  cpu.operations_ended.store(cpu.operations_ended.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (options.faults.hup_ring) hang_up_when_due();
}

void Machine::State::queue_wakeup(Cpu& cpu, std::uint32_t ring) {
  if (of_ringbufs() ? ringbufs[ring]->queue_wakeup() : perf[ring]->queue_wakeup()) cpu.queued_wakeups.push_back(ring);
}

void Machine::State::run_wakeups(Cpu& cpu) {
  for (const std::uint32_t ring : cpu.queued_wakeups) {
    if (of_ringbufs()) {
      ringbufs[ring]->run_wakeup();
    } else {
      perf[ring]->run_wakeup();
    }
  }
  cpu.queued_wakeups.clear();
}

void Machine::State::hang_up_when_due() {
  if (operations_ended() < options.faults.hup_after) return;
  // Relaxed: only the first to come here goes on; nothing else hangs on it.
  if (hup_done.exchange(true, std::memory_order_relaxed)) return;
  if (of_ringbufs()) {
    ringbufs[*options.faults.hup_ring]->hang_up();
  } else {
    perf[*options.faults.hup_ring]->hang_up();
  }
}

std::uint64_t Machine::State::operations_ended() const {
  std::uint64_t ended = 0;
  for (const auto& cpu : cpus) ended += cpu->operations_ended.load(std::memory_order_relaxed);
  return ended;
}

// Stepped.

void Machine::State::start_nested(Cpu& cpu, std::uint32_t index) {
  Frame& outer = *cpu.stack.back();
  --outer.nested_left;
  auto frame = std::make_unique<Frame>();
  frame->stepped = true;
  start(cpu, index, *frame, Context::hardirq, nested_of(outer.operation, options.stamp));
  cpu.stack.push_back(std::move(frame));
}

StepResult Machine::State::step(Cpu& cpu, std::uint32_t index) {
  clock.advance(options.step_ns);
  if (cpu.wakeup_due()) {
    run_wakeups(cpu);
    return StepResult::done;
  }
  Frame& top = *cpu.stack.back();
  if (top.nested_left > 0 && can_enter(cpu, Context::hardirq)) {
    const bool last_chance = top.finished || top.visit([](auto& production) { return production.about_to_publish(); });
    if (last_chance || random.chance(1, hardirq_odds)) start_nested(cpu, index);
  }
  return step_frame(cpu, index);
}

StepResult Machine::State::step_frame(Cpu& cpu, std::uint32_t index) {
  Frame& top = *cpu.stack.back();
  if (top.stall_left > 0 && top.visit([](auto& production) { return production.may_stall(); })) {
    --top.stall_left;
    return StepResult::more;
  }
  const StepResult taken = top.visit([](auto& production) { return production.step(); });
  if (taken != StepResult::done) return taken;
  top.finished = true;
  settle(cpu, index, top);
  return end_frame(cpu);
}

// Takes ended operations off the stack; one that still owes nested records stays until they have ended.
StepResult Machine::State::end_frame(Cpu& cpu) {
  while (!cpu.stack.empty() && cpu.stack.back()->finished && cpu.stack.back()->nested_left == 0) cpu.stack.pop_back();
  return StepResult::done;
}

bool Machine::can_enter(std::uint32_t cpu, Context context) const {
  return state_->can_enter(*state_->cpus[cpu], context);
}

bool Machine::begin(std::uint32_t cpu, Context context, const ring::Operation& operation) {
  Cpu& on = *state_->cpus[cpu];
  if (!state_->can_enter(on, context)) return false;
  auto frame = std::make_unique<Frame>();
  frame->stepped = true;
  state_->start(on, cpu, *frame, context, operation);
  on.stack.push_back(std::move(frame));
  return true;
}

bool Machine::runnable(std::uint32_t cpu) const {
  const Cpu& on = *state_->cpus[cpu];
  return !on.stack.empty() || !on.queued_wakeups.empty();
}

StepResult Machine::step(std::uint32_t cpu) {
  assert(runnable(cpu));
  return state_->step(*state_->cpus[cpu], cpu);
}

bool Machine::step_any() {
  std::uint32_t count = 0;
  for (std::uint32_t cpu = 0; cpu < cpu_count(); ++cpu) count += runnable(cpu) ? 1u : 0u;
  if (count == 0) return false;
  std::uint32_t chosen = state_->random.below(count);
  for (std::uint32_t cpu = 0; cpu < cpu_count(); ++cpu) {
    if (!runnable(cpu) || chosen-- > 0) continue;
    step(cpu);
    break;
  }
  return true;
}

bool Machine::idle() const {
  return std::ranges::all_of(state_->cpus,
                             [](const auto& cpu) { return cpu->stack.empty() && cpu->queued_wakeups.empty(); });
}

Random& Machine::random() { return state_->random; }

// From end to end.

int Machine::State::run(Cpu& cpu, std::uint32_t index, Context context, const ring::Operation& operation) {
  Frame frame;
  start(cpu, index, frame, context, operation);
  const auto stall = [&] {
    for (; frame.stall_left > 0; --frame.stall_left) std::this_thread::yield();
  };
  const auto interrupted = [&] {
    for (; frame.nested_left > 0; --frame.nested_left) {
      run(cpu, index, Context::hardirq, nested_of(operation, options.stamp));
      run_wakeups(cpu);  // only a task or softirq has nested records: interrupts are on again
    }
    stall();
  };
  frame.visit([&](auto& production) {
    if (frame.nested_left > 0 || frame.stall_left > 0) {
      while (!production.about_to_publish() && production.step() != StepResult::done) {
        if (options.stamp == ring::Stamp::before && production.may_stall()) stall();
      }
      interrupted();
      if (!production.about_to_publish()) return;
    }
    production.run();
  });
  settle(cpu, index, frame);
  if (context < Context::hardirq) run_wakeups(cpu);
  return cpu.last_result;
}

int Machine::run(const ring::Operation& operation, Context context) {
  Cpu& cpu = *state_->cpus[operation.cpu];
  assert(cpu.stack.empty());
  return state_->run(cpu, operation.cpu, context, operation);
}

}  // namespace ringside::sim
