// SPDX-License-Identifier: Apache-2.0
//
// The producers' ledger: what each source says happened. The consumer's ledger is the judge's own state.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <ostream>
#include <vector>

namespace ringside::ring {

/// What one source did. attempts = committed + discarded + failed (sum) + malformed + open.
struct SourceLedger {
  std::uint32_t ring = 0;       ///< the ring this source writes to
  std::uint64_t attempts = 0;   ///< reserve or output calls
  std::uint64_t committed = 0;  ///< records published, zero-length ones included
  std::uint64_t empty = 0;      ///< of those, zero-length ones: they carry no sequence number
  std::uint64_t discarded = 0;  ///< reserved, then discarded
  std::uint64_t malformed = 0;  ///< perf outputs over 65516 bytes: success was returned, no record can be read back
  std::uint64_t open = 0;       ///< reserved and neither committed nor discarded yet
  std::map<int, std::uint64_t> failed;  ///< positive errno -> count; a NULL from reserve counts as ENOSPC

  std::uint64_t failed_total() const;
  /// Records that carry a number: committed - empty. Their sequence numbers are 0 ... numbered()-1.
  std::uint64_t numbered() const { return committed - empty; }

  friend bool operator==(const SourceLedger&, const SourceLedger&) = default;
};
std::ostream& operator<<(std::ostream& out, const SourceLedger& ledger);

/// All sources of one run; the index is the source id.
struct ProducerLedger {
  std::vector<SourceLedger> sources;
  /// Per ring: losses that the kernel has counted but not yet put into a PERF_RECORD_LOST (no later record fitted).
  std::vector<std::uint64_t> unreported_losses;

  friend bool operator==(const ProducerLedger&, const ProducerLedger&) = default;
};

}  // namespace ringside::ring
