// SPDX-License-Identifier: Apache-2.0
#include "harness/accounts.h"

#include <fmt/format.h>

#include <cerrno>

namespace ringside::harness {

using ring::Defect;
using ring::DefectKind;

std::vector<Defect> missing_rings(const ringside_consumer& consumer, const ring::ProducerLedger& ledger) {
  std::vector<Defect> missing;
  if ((consumer.needs & RINGSIDE_OWNS_RINGS) == 0) return missing;
  for (std::size_t source = 0; source < ledger.sources.size(); ++source) {
    const auto found = ledger.sources[source].failed.find(ENOENT);
    if (found == ledger.sources[source].failed.end()) continue;
    missing.push_back(
        {.kind = DefectKind::lost,
         .ring = ledger.sources[source].ring,
         .count = found->second,
         .detail = fmt::format("{} outputs of source {} found no ring on their CPU (ENOENT): the consumer "
                               "opened none there, or under another number",
                               found->second, source)});
  }
  return missing;
}

std::optional<Defect> wrong_counters(const World& world, std::uint64_t accounted, bool at_the_end) {
  const ringside_swap* swap = world.rings().swap;
  if (swap == nullptr) return std::nullopt;
  const std::uint64_t attempts = world.counted();
  const std::uint64_t on_their_way =
      __atomic_load_n(&swap->samples[0], __ATOMIC_RELAXED) + __atomic_load_n(&swap->samples[1], __ATOMIC_RELAXED);
  const auto too_many = static_cast<std::int64_t>(accounted + on_their_way - attempts);
  if (at_the_end ? too_many == 0 : too_many >= 0) return std::nullopt;
  return Defect{.kind = DefectKind::loss_miscounted,
                .detail = fmt::format("of {} attempts {} are delivered or told as lost, and the samples of the two "
                                      "sides say that {} are on their way (case Q4)",
                                      attempts, accounted, static_cast<std::int64_t>(on_their_way))};
}

}  // namespace ringside::harness
