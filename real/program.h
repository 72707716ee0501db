// SPDX-License-Identifier: Apache-2.0
//
// The loaded BPF object of one map: its programs' descriptors and the block of memory they share with us. Internal to
// real/; what drives the programs is in real/producers.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "bpf/shared.h"
#include "bpf/swap.h"
#include "real/producers.h"
#include "real/wakeup_fence.h"
#include "ring/judge.h"
#include "ring/result.h"

struct bpf_program;

namespace ringside::real {

class Program {
 public:
  static ring::Result<std::shared_ptr<Program>> load(const RingbufMap& ring, const ProducersOptions& options);
  static ring::Result<std::shared_ptr<Program>> load(const CpuRingbufs& rings, const ProducersOptions& options);
  static ring::Result<std::shared_ptr<Program>> load(const PerfRings& rings, const ProducersOptions& options);
  /// Of an A/B swap, for `sources` sources. The rings of both are of the same CPUs.
  static ring::Result<std::shared_ptr<Program>> load_swap(const PerfRings& side_0, const PerfRings& side_1,
                                                          std::uint32_t sources, const ProducersOptions& options);
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  ring::RingKind kind() const { return kind_; }
  ringside_shared& shared() const { return *shared_; }
  /// Of an A/B swap, else null.
  ringside_swap_state* swap() const { return swap_; }
  std::uint32_t swap_sources() const { return swap_sources_; }
  std::uint32_t max_record_bytes() const { return max_record_bytes_; }
  ring::Stamp stamp() const { return stamp_; }
  /// Where there is one a CPU: the CPUs of the rings, in ring order.
  const std::vector<std::uint32_t>& cpus() const { return cpus_; }

  /// Descriptors of the programs; negative where the ring kind has none, or it is not loaded.
  struct Descriptors {
    int script = -1;
    int flood = -1;
    int flood_fixed = -1;
    int hold = -1;
    int straggle = -1;
  };
  const Descriptors& descriptors() const { return descriptors_; }
  /// The hardirq program, to attach.
  bpf_program* nested() const { return nested_; }

  /// One of ringside_shared's slots, zeroed, until it is given back. Thread-safe.
  ring::Result<std::uint32_t> take_slot();
  void give_slot(std::uint32_t slot);

  /// Passed by who says that the wake-ups of what it did are done.
  const WakeupFence& wakeups() const { return wakeups_; }

  /// Held by the one script that may run at a time.
  std::mutex& script_mutex() { return script_mutex_; }

 protected:
  Program(ring::RingKind kind, std::uint32_t max_record_bytes, std::uint32_t slots)
      : kind_(kind), max_record_bytes_(max_record_bytes), slot_taken_(slots) {}

  ring::RingKind kind_;
  std::uint32_t max_record_bytes_;
  ring::Stamp stamp_ = ring::Stamp::none;
  std::vector<std::uint32_t> cpus_;
  Descriptors descriptors_;
  bpf_program* nested_ = nullptr;
  ringside_shared* shared_ = nullptr;
  ringside_swap_state* swap_ = nullptr;
  std::uint32_t swap_sources_ = 0;
  WakeupFence wakeups_;

 private:
  std::mutex slots_mutex_;
  std::vector<bool> slot_taken_;
  std::mutex script_mutex_;
};

/// A slot that is given back at the end of its life.
class SlotLease {
 public:
  static ring::Result<SlotLease> take(std::shared_ptr<Program> program);
  ~SlotLease();
  SlotLease(SlotLease&& other) noexcept = default;
  SlotLease& operator=(SlotLease&&) = delete;

  std::uint32_t index() const { return index_; }
  ringside_slot& slot() const { return program_->shared().slots[index_]; }
  Program& program() const { return *program_; }

 private:
  SlotLease(std::shared_ptr<Program> program, std::uint32_t index) : program_(std::move(program)), index_(index) {}

  std::shared_ptr<Program> program_;  // empty once moved from
  std::uint32_t index_;
};

/// Runs a raw tracepoint program once, on that CPU and on no other: the calling thread should be pinned there. Returns
/// the program's return value. ENXIO when the CPU is offline: a thread that was pinned to it runs elsewhere then.
ring::Result<std::int32_t> run_once(int program_fd, std::uint64_t argument, std::uint32_t cpu);

}  // namespace ringside::real
