// SPDX-License-Identifier: Apache-2.0
#include "harness/batch_check.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "real/inspect.h"

namespace ringside::harness {

namespace {

using ring::Defect;
using ring::DefectKind;

/// How far one position lies behind another; not above 0 when it does not. Positions wrap.
std::int64_t behind(std::uint64_t position, std::uint64_t other) { return static_cast<std::int64_t>(other - position); }

}  // namespace

void BatchCheck::begin() {
  open_ = true;
  committed_.clear();
  for (std::uint32_t ring = 0; ring < world_.ring_count(); ++ring) {
    committed_.push_back(real::committed_end(world_.ring(ring)));
  }
}

std::optional<Defect> BatchCheck::end(std::uint32_t claim) {
  if (!std::exchange(open_, false)) {
    return Defect{.kind = DefectKind::protocol, .detail = "ended a batch that it had not begun"};
  }
  if (world_.rings().backward != 0) {
    return Defect{.kind = DefectKind::protocol, .detail = "claimed a batch of rings that are written backward"};
  }
  if (claim == RINGSIDE_BATCH_EMPTY) return check_empty();
  if (claim == RINGSIDE_BATCH_BEFORE) return check_before();
  if (claim == RINGSIDE_BATCH_SIDE) return check_side();
  return Defect{.kind = DefectKind::protocol, .detail = fmt::format("ended a batch with the unknown claim {}", claim)};
}

std::optional<Defect> BatchCheck::check_empty() const {
  for (std::uint32_t ring = 0; ring < world_.ring_count(); ++ring) {
    if (world_.at_head(ring) != AtHead::committed) continue;
    const RingPositions at = world_.positions(ring);
    return Defect{.kind = DefectKind::batch_incomplete,
                  .ring = ring,
                  .detail = fmt::format("a batch ended with the claim that every ring is empty, and ring {} holds a "
                                        "committed record at {}, up to {}",
                                        ring, at.consumer, at.producer)};
  }
  return std::nullopt;
}

std::optional<Defect> BatchCheck::check_before() const {
  for (std::uint32_t ring = 0; ring < committed_.size(); ++ring) {
    const RingPositions at = world_.positions(ring);
    // Before 5.2 data_head could go back for a moment (KERNEL-RINGS 5.2): nobody reads what it has taken back.
    const std::uint64_t end = behind(committed_[ring], at.producer) < 0 ? at.producer : committed_[ring];
    if (behind(at.consumer, end) <= 0) continue;
    return Defect{.kind = DefectKind::batch_incomplete,
                  .ring = ring,
                  .detail = fmt::format("a batch ended with the claim that all from before it is in it, and ring {}, "
                                        "committed up to {} when it began, is read up to {}",
                                        ring, end, at.consumer)};
  }
  return std::nullopt;
}

/// Only the consumer moves the count, and it is inside its call.
std::optional<Defect> BatchCheck::check_side() const {
  const ringside_swap* swap = world_.rings().swap;
  if (swap == nullptr) return Defect{.kind = DefectKind::protocol, .detail = "claimed a side of rings that have none"};
  const auto side = static_cast<std::uint32_t>((swap->transfer_count - 1) % 2);
  const std::uint32_t rings = world_.ring_count() / 2;
  const std::string claim = fmt::format("a batch ended with the claim that side {} is complete", side);
  if (const std::uint64_t programs = world_.in_flight(side); programs > 0) {
    return Defect{.kind = DefectKind::batch_incomplete,
                  .ring = side * rings,
                  .detail = fmt::format("{}, and programs that chose it are not over: {} (case Q4)", claim, programs)};
  }
  for (std::uint32_t ring = side * rings; ring < (side + 1) * rings; ++ring) {
    if (world_.at_head(ring) != AtHead::committed) continue;
    const RingPositions at = world_.positions(ring);
    return Defect{.kind = DefectKind::batch_incomplete,
                  .ring = ring,
                  .detail = fmt::format("{}, and its ring {} holds a committed record at {}, up to {} (case Q4)", claim,
                                        ring, at.consumer, at.producer)};
  }
  return std::nullopt;
}

}  // namespace ringside::harness
