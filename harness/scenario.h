// SPDX-License-Identifier: Apache-2.0
//
// A scenario: what is produced, by whom, how fast, into which ring, with which faults. Plain data, read from a TOML
// file with strict keys (docs/scenarios.md describes each). The same scenario runs in the model and on the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/world_kind.h"
#include "ring/judge.h"
#include "ring/operation.h"
#include "ring/result.h"
#include "ring/stamp.h"

namespace ringside::harness {

/// How record sizes are drawn: the listed ones in turn, or uniformly from [min, max].
struct SizePlan {
  /// Stands in `cycle` for the largest payload that the ring takes.
  static constexpr std::uint32_t largest = UINT32_MAX;
  std::vector<std::uint32_t> cycle;  ///< bytes; empty: draw from [min, max]
  std::uint32_t min = 64;
  std::uint32_t max = 64;

  friend bool operator==(const SizePlan&, const SizePlan&) = default;
};

/// One producer: a context on a CPU that counts its own records.
struct SourcePlan {
  std::uint16_t cpu = 0;         ///< index of the CPU within the scenario, below RingPlan::cpus
  std::uint64_t records = 1000;  ///< attempts
  /// submit, discard, output or hold; perf rings know only output. On two sides hold is a program that stands still
  /// between its look at the transfer count and its output.
  ring::Action action = ring::Action::submit;
  SizePlan size;
  std::uint8_t flags = 0;           ///< ring::flag_*
  std::uint64_t force_every = 0;    ///< every n-th record with FORCE_WAKEUP; 0: none
  std::uint64_t discard_every = 0;  ///< after n submitted records ...
  std::uint64_t discard_run = 1;    ///< ... so many discarded ones; not counted in `records`
  std::int64_t hold_ns = 0;         ///< how long a held record stays BUSY
  std::uint32_t nested = 0;         ///< hardirq records while one of this source is open
  std::uint32_t nested_size = 64;
  std::int64_t interval_ns = 0;  ///< from one burst to the next; 0: as fast as the drive lets it
  /// An attempt that found the ring full is made again: in free drive after a yield, on a user ring buffer after a
  /// wait.
  bool retry = false;
  std::uint64_t burst = 1;  ///< records that nobody interrupts

  friend bool operator==(const SourcePlan&, const SourcePlan&) = default;
};

struct RingPlan {
  std::string kernel;                     ///< model: the kernel version to be; empty: the model's default
  std::uint64_t size = 65536;             ///< data bytes of each ring, a power of two of at least one page
  std::uint64_t start = 0;                ///< positions when the consumer opens; multiples of 8, anywhere in 64 bits
  std::uint16_t cpus = 1;                 ///< CPUs that produce; perf rings: one a CPU
  std::uint32_t wakeup_events = 1;        ///< perf
  std::uint32_t watermark_bytes = 0;      ///< perf; 0: not set
  std::uint16_t sides = 1;                ///< perf; 2: an A/B swap (ringside_swap), a ring a CPU on each side
  bool sample_time = false;               ///< perf: samples carry the time at which they were taken
  std::uint16_t cpu_step = 1;             ///< perf, model: the CPUs' numbers are so far apart
  bool overwrite = false;                 ///< ringbuf: when full it gives up its oldest records; kernel 6.19 or newer
  bool backward = false;                  ///< perf: written backward over its oldest records, mapped for reading only
  bool per_cpu = false;                   ///< ringbuf: one ring a CPU, and each record in that of its own
  ring::Stamp stamp = ring::Stamp::none;  ///< ringbuf, one a CPU: each record begins with its time

  friend bool operator==(const RingPlan&, const RingPlan&) = default;
};

/// attr.sample_type of the ring's samples.
std::uint64_t sample_type_of(const RingPlan& plan);

struct ConsumerPlan {
  std::uint64_t max_records = 4096;  ///< of one drain
  std::int64_t timeout_ns = -1;      ///< of one wait; below 0: none, so only wake-ups end it
  std::int64_t work_ns = 0;          ///< stepped drive: virtual time that the application spends on each record
  std::uint32_t hold_views = 0;      ///< views kept for a while before they are released

  friend bool operator==(const ConsumerPlan&, const ConsumerPlan&) = default;
};

/// A user ring buffer: how the kernel drains it. One drain after the other.
struct DrainPlan {
  std::int64_t interval_ns = 1000;  ///< from the end of one to the start of the next
  std::uint32_t max_samples = 0;    ///< its callback stops at this one; 0: it goes on
  std::uint8_t flags = 0;           ///< ring::flag_*

  friend bool operator==(const DrainPlan&, const DrainPlan&) = default;
};

/// A user ring buffer: the producer that is judged.
struct ProducerPlan {
  std::int64_t timeout_ns = -1;  ///< of one wait; below 0: none, so only wake-ups end it

  friend bool operator==(const ProducerPlan&, const ProducerPlan&) = default;
};

struct FaultsPlan {
  std::uint64_t eintr_every = 0;         ///< every n-th wait ends with EINTR
  std::uint64_t spurious_every = 0;      ///< every n-th wait ends ready for nothing
  std::uint64_t hangup_every = 0;        ///< every n-th wait also tells POLLHUP of ring 0
  std::uint32_t stall_every = 0;         ///< model: every n-th operation of a CPU stands still with its record BUSY ...
  std::uint32_t stall_turns = 0;         ///< ... for so many of the CPU's turns
  std::uint32_t lock_fails_percent = 0;  ///< model: that share of reservations finds the lock lost (KERNEL-RINGS 5.5)

  friend bool operator==(const FaultsPlan&, const FaultsPlan&) = default;
};

enum class Drive : std::uint8_t {
  stepped,  ///< one thread, producers move only where the consumer touches the contract; a virtual clock
  free,     ///< producers run on threads of their own
};

struct Scenario {
  std::string name;
  std::string origin;  ///< where its text is: `scenarios/steady.toml`
  std::string summary;
  std::vector<ring::RingKind> rings;
  std::vector<WorldKind> worlds{WorldKind::model, WorldKind::kernel};
  std::vector<std::string> cases;  ///< public bugs it was made after: A1, B3, ...
  Drive drive = Drive::stepped;
  RingPlan ring;
  std::vector<SourcePlan> sources;
  ConsumerPlan consumer;
  DrainPlan drain;
  ProducerPlan producer;
  FaultsPlan faults;

  bool runs_on(ring::RingKind kind) const;
  bool runs_in(WorldKind world) const;

  friend bool operator==(const Scenario&, const Scenario&) = default;
};

/// Reads a scenario. `origin` names the text in errors (`scenarios/steady.toml`). Every error is one line with the
/// place.
ring::Result<Scenario> parse_scenario(std::string_view toml, std::string_view origin);

/// The same from a file.
ring::Result<Scenario> load_scenario(const std::string& path);

/// What the ring kind makes impossible: perf records of 1 to 15 bytes, a start position off the grid, ...
ring::Result<void> validate(const Scenario& scenario);

/// The scenarios that ringside ships, in the order of their names. They are compiled in.
const std::vector<Scenario>& shipped_scenarios();

/// A shipped scenario by name, or a file by path (a name with a '/' or ending in ".toml").
ring::Result<Scenario> find_scenario(const std::string& name_or_path);

}  // namespace ringside::harness
