// SPDX-License-Identifier: Apache-2.0
//
// Two lies of a ring that no kernel can be asked for, told on the model's rings in stepped drive:
//
//   broken_sizes      behind the last record of each ring lies one more whose header cannot be true (E1 to E3). It is
//                     no record: a consumer delivers nothing of it, and either says -EBADMSG or passes it over.
//   head_back_every   data_head steps back to what it was one record before, when the consumer has read up to the new
//                     one already, and forward again with the next step (case F2).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/scenario.h"
#include "sim/machine.h"

namespace ringside::harness {

/// Not thread-safe: the session's thread alone uses it.
class RingLies {
 public:
  /// `machine` must outlive it.
  RingLies(sim::Machine& machine, ring::RingKind kind, const FaultsPlan& plan, std::uint64_t seed);

  /// Before a step of the producers. True if data_head went forward again, which is the step.
  bool step_forward();
  /// The same: lets data_head step back where that is due. True if it did.
  bool step_back();
  /// When every source has ended. True if broken records were put out now, which happens once.
  bool put_broken_records();
  /// Whether something is still to come of it.
  bool pending() const { return back_.has_value() || (!plan_.broken_sizes.empty() && broken_at_.empty()); }

  /// The ring's data_head as it would be without the step back; or nothing.
  std::optional<std::uint64_t> true_head(std::uint32_t ring) const;
  /// Whether nothing that is a record lies in the ring from `consumer_pos` on, whatever its positions say.
  bool nothing_from(std::uint32_t ring, std::uint64_t consumer_pos) const;
  /// Whether the ring ends with a broken record, behind which nothing can be found.
  bool is_broken(std::uint32_t ring) const { return ring < broken_at_.size(); }
  /// Per source, committed records that are still in their rings.
  std::vector<std::uint64_t> records_left();

 private:
  struct Head {
    std::uint64_t now = 0;
    std::uint64_t before = 0;   // one record or more behind it
    bool stepped_back = false;  // from `now`
  };

  void put_broken_record(std::uint32_t ring, std::uint64_t size);
  std::uint64_t* producer_pos(std::uint32_t ring);

  sim::Machine& machine_;
  const ring::RingKind kind_;
  const FaultsPlan& plan_;
  const std::uint64_t seed_;
  std::vector<std::uint64_t> broken_at_;  // one a ring, once they are put out
  std::vector<Head> heads_;               // one a perf ring
  std::optional<std::uint32_t> back_;     // the ring whose head has stepped back
  std::uint64_t chances_ = 0;             // to step back
};

}  // namespace ringside::harness
