// SPDX-License-Identifier: Apache-2.0
//
// Sums and text of the producers' ledger.
#include "ring/ledger.h"

#include "ring/result.h"

namespace ringside::ring {

std::uint64_t SourceLedger::failed_total() const {
  std::uint64_t total = 0;
  for (const auto& [code, count] : failed) total += count;
  return total;
}

std::ostream& operator<<(std::ostream& out, const SourceLedger& ledger) {
  out << "ring " << ledger.ring << ": " << ledger.attempts << " attempts, " << ledger.committed << " committed ("
      << ledger.empty << " empty), " << ledger.discarded << " discarded, " << ledger.malformed << " malformed, "
      << ledger.open << " open, " << ledger.failed_total() << " failed";
  const char* separator = " (";
  for (const auto& [code, count] : ledger.failed) {
    out << separator << errno_name(code) << ' ' << count;
    separator = ", ";
  }
  if (!ledger.failed.empty()) out << ')';
  return out;
}

}  // namespace ringside::ring
