// SPDX-License-Identifier: Apache-2.0
//
// perf event rings of the running kernel: a PERF_EVENT_ARRAY, and one mapped ring for each CPU in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "real/handle.h"
#include "ring/consumer.h"
#include "ring/result.h"

namespace ringside::real {

struct PerfOptions {
  /// CPU ids; empty: every online CPU. (Initialised so that GCC lets designated initialisers leave it out.)
  std::vector<std::uint32_t> cpus = {};  // NOLINT(readability-redundant-member-init)
  std::uint32_t data_pages = 8;          ///< pages of each ring's data, a power of two
  std::uint32_t wakeup_events = 0;       ///< attr.wakeup_events, used when watermark_bytes is 0
  std::uint32_t watermark_bytes = 0;     ///< attr.wakeup_watermark with attr.watermark = 1; 0: not set
  bool sample_time = false;              ///< samples carry their time, of CLOCK_MONOTONIC, which all CPUs share
  bool backward = false;                 ///< written backward over the oldest records, and mapped for reading only
};

/// The ids of the CPUs that are online now, ascending.
ring::Result<std::vector<std::uint32_t>> online_cpus();

/// A PERF_EVENT_ARRAY and, unless made by map_only, one PERF_COUNT_SW_BPF_OUTPUT event for each CPU, stored under the
/// CPU's id and mapped. Sample type is RAW, and TIME if
/// that was asked for. Movable; nothing is pinned.
class PerfRings {
 public:
  /// Errors: EINVAL for data_pages that are no power of two, EPERM without CAP_PERFMON or above the lock limit, ENODEV
  /// for a CPU that is not online. On an error nothing is left open or mapped.
  static ring::Result<PerfRings> create(const PerfOptions& options);

  /// The map alone, for consumers that open and map their own rings: every output fails with ENOENT until they do.
  static ring::Result<PerfRings> map_only(const PerfOptions& options);

  /// One for each CPU in options.cpus' order (ascending when that was empty); empty when map only.
  std::span<const ringside_ring> rings() const { return rings_; }
  /// All of them. Points into this object: valid until it is moved or destroyed.
  ringside_ring_set ring_set() const;

  int map_fd() const { return map_.get(); }
  /// The CPUs asked for, also when map only.
  std::span<const std::uint32_t> cpus() const { return cpus_; }
  /// The index in rings() of the ring of that CPU id, or -1.
  int ring_of_cpu(std::uint32_t cpu) const;

  /// PERF_FORMAT_LOST of the event: records of its own that found no place, since it was opened, never reset
  /// [KERNEL-RINGS 2.7]. Kernels since 6.0.
  ring::Result<std::uint64_t> lost(std::uint32_t ring) const;

 private:
  PerfRings() = default;
  ring::Result<void> open_ring(std::uint32_t cpu);

  PerfOptions options_;
  std::vector<std::uint32_t> cpus_;
  Fd map_;
  std::vector<Fd> events_;
  std::vector<Mapping> mappings_;
  std::vector<ringside_ring> rings_;
};

}  // namespace ringside::real
