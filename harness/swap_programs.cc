// SPDX-License-Identifier: Apache-2.0
//
// The orderings here are those of a BPF program: it reads a map's value plainly, and an addition whose result nobody
// asks for orders nothing (relaxed, both). chosen_ and over_ are the harness's own:
//   (P1) relaxed: a program may be missed that has just chosen; none is told that has not.
//   (P3) release behind the addition to samples, acquire in counted(): samples, read behind that, has it.
//   (P2) release when a program is over, pairs with the acquire in in_flight: its output is there.
#include "harness/swap_programs.h"

#include <algorithm>
#include <cassert>

namespace ringside::harness {

std::uint32_t SwapPrograms::choose() {
  const auto side = static_cast<std::uint32_t>(__atomic_load_n(&words_.transfer_count, __ATOMIC_RELAXED) % 2);
  chosen_[side].fetch_add(1, std::memory_order_relaxed);  // (P1)
  return side;
}

void SwapPrograms::count(std::uint32_t side) {
  __atomic_fetch_add(&words_.samples[side], 1, __ATOMIC_RELAXED);
  counted_.fetch_add(1, std::memory_order_release);  // (P3)
}

ring::Operation SwapPrograms::on_side(std::uint32_t side, ring::Operation operation) const {
  operation.cpu = static_cast<std::uint16_t>(operation.cpu + side * cpus_);
  operation.source = static_cast<std::uint16_t>(operation.source + side * sources_);
  return operation;
}

void SwapPrograms::begin(const ring::Operation& operation) {
  assert(can_begin(operation.cpu));
  Program& program = programs_[operation.cpu];
  if (operation.action == ring::Action::settle_submit) {
    assert(program.held);
    program.held = false;
    return;
  }
  assert(program.stage == Stage::none);
  program = {.stage = Stage::begun, .side = 0, .held = operation.action == ring::Action::hold, .operation = operation};
  program.operation.action = ring::Action::output;
}

void SwapPrograms::step(std::uint32_t cpu) {
  Program& program = programs_[cpu];
  const std::uint32_t machine_cpu = cpu + program.side * cpus_;
  switch (program.stage) {
    case Stage::none:
      break;
    case Stage::begun:
      program.side = choose();
      program.stage = Stage::chosen;
      break;
    case Stage::chosen:
      count(program.side);
      program.stage = Stage::counted;
      break;
    case Stage::counted:
      machine_.begin(machine_cpu, sim::Context::task, on_side(program.side, program.operation));
      program.stage = Stage::writing;
      break;
    case Stage::writing:
      machine_.step(machine_cpu);
      if (machine_.runnable(machine_cpu)) break;
      over_[program.side].fetch_add(1, std::memory_order_release);  // (P2)
      program.stage = Stage::none;
      break;
  }
}

bool SwapPrograms::idle() const {
  return std::all_of(programs_.begin(), programs_.end(),
                     [](const Program& program) { return program.stage == Stage::none; });
}

int SwapPrograms::run(const ring::Operation& operation) {
  const std::uint32_t side = choose();
  count(side);
  const int result = machine_.run(on_side(side, operation));
  over_[side].fetch_add(1, std::memory_order_release);  // (P2)
  return result;
}

void SwapPrograms::run_on(std::uint32_t side, const ring::Operation& operation) {
  count(side);
  machine_.run(operation);
}

std::uint64_t SwapPrograms::in_flight(std::uint32_t side) const {
  // First those that chose: who is over when the second load is made may be one that chose after the first.
  const std::uint64_t chosen = chosen_[side].load(std::memory_order_acquire);
  const std::uint64_t over = over_[side].load(std::memory_order_acquire);
  return chosen > over ? chosen - over : 0;
}

}  // namespace ringside::harness
