// SPDX-License-Identifier: Apache-2.0
//
// The programs of an A/B swap in the model (ringside_swap in ring/consumer.h): three steps, each a place where the
// consumer and other CPUs may come between: the look at the transfer count, the addition to the side's samples, the
// output. A CPU has a ring on each side: the machine has a CPU for each of them, and a source has an id on each side,
// so that the records of each id lie in one ring, in order.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "ring/consumer.h"
#include "ring/operation.h"
#include "sim/machine.h"

namespace ringside::harness {

/// Threads: in stepped drive one; in free drive run() on one thread a CPU, and the looks of the session's thread.
class SwapPrograms {
 public:
  /// `machine` has 2 * `cpus` CPUs, side 0's first; the ids of `sources` sources on side 1 come behind those on side 0.
  SwapPrograms(sim::Machine& machine, std::uint32_t cpus, std::uint32_t sources)
      : machine_(machine), cpus_(cpus), sources_(sources), programs_(cpus) {}

  ringside_swap* words() { return &words_; }

  // Stepped drive.

  /// Whether the CPU is free, or its program stands still until it is settled.
  bool can_begin(std::uint32_t cpu) const { return programs_[cpu].stage == Stage::none || stands_still(cpu); }
  /// A program starts on the operation's CPU. One that is to be held stands still when it has chosen its side; settling
  /// lets it go on.
  void begin(const ring::Operation& operation);
  bool runnable(std::uint32_t cpu) const { return programs_[cpu].stage != Stage::none && !stands_still(cpu); }
  /// One step of a CPU that is runnable.
  void step(std::uint32_t cpu);
  bool idle() const;

  /// Free drive: all steps of one program. What the output returned.
  int run(const ring::Operation& operation);
  /// A record of a source that is on one side alone, as its program would count it and put it out.
  void run_on(std::uint32_t side, const ring::Operation& operation);

  /// Programs that have chosen the side and whose output is not over: at least so many, at one moment of the call.
  std::uint64_t in_flight(std::uint32_t side) const;
  /// Programs that have counted themselves: at least so many, when samples is read after this.
  std::uint64_t counted() const { return counted_.load(std::memory_order_acquire); }  // (P3)

 private:
  enum class Stage : std::uint8_t { none, begun, chosen, counted, writing };
  struct Program {
    Stage stage = Stage::none;
    std::uint32_t side = 0;
    bool held = false;
    ring::Operation operation;
  };
  bool stands_still(std::uint32_t cpu) const { return programs_[cpu].held && programs_[cpu].stage == Stage::chosen; }

  std::uint32_t choose();
  void count(std::uint32_t side);
  ring::Operation on_side(std::uint32_t side, ring::Operation operation) const;

  sim::Machine& machine_;
  const std::uint32_t cpus_;
  const std::uint32_t sources_;
  std::vector<Program> programs_;  // by CPU
  ringside_swap words_{};
  std::array<std::atomic<std::uint64_t>, 2> chosen_{};  // by side
  std::array<std::atomic<std::uint64_t>, 2> over_{};
  std::atomic<std::uint64_t> counted_{0};
};

}  // namespace ringside::harness
