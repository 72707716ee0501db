// SPDX-License-Identifier: Apache-2.0
//
// What a machine is made of. Internal to sim/machine.cc and its neighbours.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "sim/machine.h"
#include "sim/perf_production.h"
#include "sim/perf_ring.h"
#include "sim/ringbuf.h"
#include "sim/ringbuf_production.h"
#include "sim/source.h"

namespace ringside::sim {

inline constexpr std::size_t context_count = 4;

/// One operation under way in one context of a CPU.
struct Frame {
  using Production = std::variant<std::monostate, RingbufProduction, PerfProduction>;

  Context context = Context::task;
  ring::Operation operation;
  Production production;
  std::uint32_t nested_left = 0;  ///< records that a hardirq has yet to put out
  std::uint32_t stall_left = 0;   ///< turns that it wastes before it commits
  bool stepped = false;           ///< drafts are written, and records piece by piece
  bool finished = false;          ///< ended, but for its nested records

  template <class Visit>
  auto visit(Visit&& visitor) {
    RingbufProduction* ringbuf = std::get_if<RingbufProduction>(&production);
    return ringbuf != nullptr ? visitor(*ringbuf) : visitor(std::get<PerfProduction>(production));
  }
  bool interrupts_off() const {
    const auto* ringbuf = std::get_if<RingbufProduction>(&production);
    return !finished && ringbuf != nullptr && ringbuf->interrupts_off();
  }
};

/// One CPU. In a threaded run it belongs to its thread.
struct alignas(64) Cpu {
  explicit Cpu(std::uint64_t seed) : random(seed) {}

  std::vector<std::unique_ptr<Frame>> stack;
  std::vector<std::uint32_t> queued_wakeups;  ///< rings whose irq-work waits for interrupts to be on
  Scratch scratch[context_count];
  Random random;  ///< of this CPU's faults
  std::uint64_t operations_begun = 0;
  std::atomic<std::uint64_t> operations_ended{0};  ///< read by others for a threshold only
  int last_result = 0;

  bool interrupts_off() const {
    for (const auto& frame : stack) {
      if (frame->interrupts_off()) return true;
    }
    return false;
  }
  bool wakeup_due() const {
    return !queued_wakeups.empty() && !interrupts_off() && (stack.empty() || stack.back()->context < Context::hardirq);
  }
};

/// Keeps the numbers of the records that an overwrite ring takes from its consumer. Called under the ring's lock; read
/// when nobody produces.
class OverwrittenBooks final : public GiveUpObserver {
 public:
  OverwrittenBooks(const RingbufModel& ring, const SourceJournal& journal, std::uint32_t sources)
      : ring_(ring), journal_(journal), passed_(sources) {}

  void given_up(std::uint64_t position, std::uint32_t header) override;
  const ring::Overwritten& overwritten() const { return overwritten_; }

 private:
  const RingbufModel& ring_;
  const SourceJournal& journal_;
  std::vector<std::uint64_t> passed_;  ///< numbered records of each source that overwrite_pos has passed
  ring::Overwritten overwritten_;
};

struct Machine::State {
  explicit State(const MachineOptions& given)
      : options(given), random(given.seed), wait_random(given.seed ^ 0x5851f42d4c957f2dull) {}

  MachineOptions options;
  RingbufRules rules;
  std::vector<std::unique_ptr<RingbufModel>> ringbufs;  ///< of a ringbuf machine: one, or one a CPU
  std::unique_ptr<OverwrittenBooks> overwritten;        ///< of an overwrite ring
  std::vector<std::unique_ptr<PerfRingModel>> perf;
  std::vector<SourceJournal> journals;  ///< one a ring
  std::vector<std::unique_ptr<Cpu>> cpus;
  std::unique_ptr<SourceState[]> sources;
  VirtualClock clock;
  Random random;  ///< of the choices between steps
  std::atomic<bool> hup_done{false};

  std::mutex wait_mutex;  ///< guards the next two
  std::uint64_t waits_begun = 0;
  Random wait_random;

  Epoll epoll;  // last: its items leave the rings' wait queues before the rings go

  bool of_ringbufs() const { return !ringbufs.empty(); }
  std::uint32_t ring_of(std::uint32_t cpu) const { return ringbufs.size() == 1 ? 0 : cpu; }
  PollSource& poll_source(std::uint32_t ring) {
    return of_ringbufs() ? static_cast<PollSource&>(*ringbufs[ring]) : static_cast<PollSource&>(*perf[ring]);
  }

  bool can_enter(const Cpu& cpu, Context context) const;
  void start(Cpu& cpu, std::uint32_t index, Frame& frame, Context context, const ring::Operation& operation);
  LockAttempt lock_attempt(Cpu& cpu, Context context) const;
  std::optional<std::uint16_t> false_size(const Cpu& cpu) const;
  std::uint32_t output_level(const Cpu& cpu) const;
  void start_nested(Cpu& cpu, std::uint32_t index);
  StepResult step(Cpu& cpu, std::uint32_t index);
  StepResult step_frame(Cpu& cpu, std::uint32_t index);
  StepResult end_frame(Cpu& cpu);
  void settle(Cpu& cpu, std::uint32_t index, Frame& frame);
  void queue_wakeup(Cpu& cpu, std::uint32_t ring);
  void run_wakeups(Cpu& cpu);
  void hang_up_when_due();
  std::uint64_t operations_ended() const;
  int run(Cpu& cpu, std::uint32_t index, Context context, const ring::Operation& operation);
};

}  // namespace ringside::sim
