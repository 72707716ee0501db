// SPDX-License-Identifier: Apache-2.0
//
// Batches held against the rings: what a consumer claims of one when it ends (RINGSIDE_BATCH_*). What is seen here is
// evidence in free drive, too: records come by their producers and go by the consumer alone, which is inside its call,
// so a ring that holds one now holds it when the call returns; and what was committed by the end of batch_begin was
// there for each look of the consumer's after it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/world.h"
#include "ring/defect.h"

namespace ringside::harness {

/// Not thread-safe: the session's thread alone uses it.
class BatchCheck {
 public:
  explicit BatchCheck(const World& world) : world_(world) {}

  /// A batch begins, and what was begun before it is given up.
  void begin();
  /// It ends with this claim: what is wrong about it, or nothing.
  std::optional<ring::Defect> end(std::uint32_t claim);

 private:
  std::optional<ring::Defect> check_empty() const;
  std::optional<ring::Defect> check_before() const;
  std::optional<ring::Defect> check_side() const;

  const World& world_;
  bool open_ = false;
  std::vector<std::uint64_t> committed_;  // by ring: where the committed records ended when the batch began
};

}  // namespace ringside::harness
