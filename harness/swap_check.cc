// SPDX-License-Identifier: Apache-2.0
#include "harness/swap_check.h"

#include <fmt/format.h>

namespace ringside::harness {

std::optional<ring::Defect> check_counters(const World& world, std::uint64_t accounted, bool at_the_end) {
  const ringside_swap* swap = world.rings().swap;
  if (swap == nullptr) return std::nullopt;
  const std::uint64_t attempts = world.counted();
  const std::uint64_t on_their_way =
      __atomic_load_n(&swap->samples[0], __ATOMIC_RELAXED) + __atomic_load_n(&swap->samples[1], __ATOMIC_RELAXED);
  const auto too_many = static_cast<std::int64_t>(accounted + on_their_way - attempts);
  if (at_the_end ? too_many == 0 : too_many >= 0) return std::nullopt;
  return ring::Defect{
      .kind = ring::DefectKind::loss_miscounted,
      .detail = fmt::format("of {} attempts {} are delivered or told as lost, and the samples of the two sides say "
                            "that {} are on their way (case Q4)",
                            attempts, accounted, static_cast<std::int64_t>(on_their_way))};
}

}  // namespace ringside::harness
