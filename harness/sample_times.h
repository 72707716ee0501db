// SPDX-License-Identifier: Apache-2.0
//
// The times of the samples in perf rings, read where they lie: each as soon as it is published, before a consumer can
// hand its space back. For runs in steps, where nobody produces between two looks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/world.h"
#include "ring/record.h"

namespace ringside::harness {

class SampleTimes {
 public:
  /// Begins where the rings stand now.
  explicit SampleTimes(const World& world);

  /// Reads what was published since the last look. Before any consumer's next step.
  void look();
  /// Of a record that was read so.
  std::optional<std::uint64_t> of(const ring::RecordReading& reading) const;

 private:
  void read(const ringside_ring& ring, std::uint64_t position, std::uint64_t record_bytes);

  const World& world_;
  std::vector<std::uint64_t> seen_;                // by ring: up to there
  std::vector<std::vector<std::uint64_t>> times_;  // by source and number
  std::vector<std::byte> bytes_;
};

}  // namespace ringside::harness
