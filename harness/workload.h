// SPDX-License-Identifier: Apache-2.0
//
// A scenario turned into operations: for each source, the next operation and the moment it is due. Both worlds draw
// from the same workload, so the same seed gives the same operations in the model and on the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/scenario.h"
#include "ring/operation.h"

namespace ringside::harness {

/// A small random generator (SplitMix64): every choice of a run is drawn from one of these, seeded from the run's seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// Uniform in [0, bound); 0 for bound 0.
  std::uint64_t below(std::uint64_t bound);
  bool chance(std::uint32_t percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

/// The size of record `number` of a source under `plan`, in a ring whose largest payload is `largest`. A pure function,
/// the same that the flooding BPF program computes.
std::uint32_t size_of(const SizePlan& plan, std::uint64_t number, std::uint32_t largest);

/// The operations of one source, in order.
class SourceWorkload {
 public:
  SourceWorkload(const SourcePlan& plan, std::uint16_t source, std::uint16_t nested_source, ring::RingKind kind,
                 std::uint32_t largest_payload, std::uint64_t records);

  bool done() const { return issued_ == records_ && !holding_ && discards_due_ == 0; }
  /// Virtual nanoseconds at which the next operation may start; meaningless when done.
  std::int64_t due_ns() const { return due_ns_; }
  /// True while a burst is under way, so that nothing else should come between.
  bool in_burst() const { return burst_left_ > 0; }
  /// Takes the next operation, which starts at `now_ns`.
  ring::Operation take(std::int64_t now_ns);

 private:
  ring::Operation next_record();
  ring::Operation settle();

  SourcePlan plan_;
  std::uint16_t source_;
  std::uint16_t nested_source_;
  ring::RingKind kind_;
  std::uint32_t largest_;
  std::uint64_t records_;
  std::uint64_t issued_ = 0;
  std::uint64_t since_discard_ = 0;
  std::uint64_t discards_due_ = 0;
  std::uint64_t burst_left_ = 0;
  std::int64_t due_ns_ = 0;
  bool holding_ = false;
};

/// All sources of a scenario.
class Workload {
 public:
  /// \param records  of all sources together; 0: as the scenario says
  Workload(const Scenario& scenario, ring::RingKind kind, std::uint64_t records);

  std::vector<SourceWorkload>& sources() { return sources_; }
  const std::vector<SourceWorkload>& sources() const { return sources_; }
  /// Sources and nested sources: ids are below this.
  std::uint32_t source_count() const { return source_count_; }
  /// CPU index (below ring.cpus) of a source or nested source.
  std::uint16_t cpu_of(std::uint32_t source) const { return cpu_of_[source]; }
  /// Attempts of that source in this run.
  std::uint64_t records_of(std::size_t source) const { return records_of_[source]; }
  /// The most numbered records that any one source may commit.
  std::uint64_t most_records() const { return most_records_; }
  /// Records of all sources together, discarded and nested ones included.
  std::uint64_t planned_records() const { return planned_records_; }
  bool done() const;

 private:
  std::vector<SourceWorkload> sources_;
  std::vector<std::uint16_t> cpu_of_;
  std::vector<std::uint64_t> records_of_;
  std::uint32_t source_count_ = 0;
  std::uint64_t most_records_ = 0;
  std::uint64_t planned_records_ = 0;
};

/// The largest payload of one record in a ring of that kind and size, in bytes.
std::uint32_t largest_payload(ring::RingKind kind, std::uint64_t ring_size);

}  // namespace ringside::harness
