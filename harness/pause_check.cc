// SPDX-License-Identifier: Apache-2.0
#include "harness/pause_check.h"

#include <fmt/format.h>

namespace ringside::harness {

using ring::Defect;
using ring::DefectKind;

void PauseCheck::note(std::uint32_t ring, bool paused) {
  if (paused) {
    paused_.insert(ring);
    ever_paused_.insert(ring);
  } else {
    paused_.erase(ring);
  }
}

std::optional<Defect> PauseCheck::delivered_backward(std::uint32_t ring) const {
  if (ever_paused_.contains(ring)) return std::nullopt;
  return Defect{.kind = DefectKind::protocol,
                .ring = ring,
                .detail = "delivered from a ring that it never paused, which is written over while it reads (case M1)"};
}

std::optional<Defect> PauseCheck::at_close() const {
  if (paused_.empty()) return std::nullopt;
  return Defect{.kind = DefectKind::protocol,
                .ring = *paused_.begin(),
                .count = paused_.size(),
                .detail = fmt::format("ring {} is paused and was not let go on", *paused_.begin())};
}

}  // namespace ringside::harness
