// SPDX-License-Identifier: Apache-2.0
#include "harness/missing_rings.h"

#include <fmt/format.h>

#include <cerrno>

namespace ringside::harness {

std::vector<ring::Defect> missing_rings(const ring::ProducerLedger& ledger) {
  std::vector<ring::Defect> missing;
  for (std::size_t source = 0; source < ledger.sources.size(); ++source) {
    const auto found = ledger.sources[source].failed.find(ENOENT);
    if (found == ledger.sources[source].failed.end()) continue;
    missing.push_back({.kind = ring::DefectKind::lost,
                       .ring = ledger.sources[source].ring,
                       .count = found->second,
                       .detail = fmt::format("{} outputs of source {} found no ring on their CPU (ENOENT): the "
                                             "consumer opened none there, or under another number",
                                             found->second, source)});
  }
  return missing;
}

}  // namespace ringside::harness
