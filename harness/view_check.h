// SPDX-License-Identifier: Apache-2.0
//
// Holds what a consumer does against the positions in the ring's own pages: that it hands out only bytes that are
// published and not yet handed back, and that its position moves forward and never past the producer's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/world.h"
#include "ring/consumer.h"
#include "ring/defect.h"
#include "ring/record.h"

namespace ringside::harness {

class ViewCheck {
 public:
  explicit ViewCheck(const World& world) : world_(world) {}

  /// A contract call begins: space handed back from here on counts as handed back during this call.
  void begin_call();

  /// One delivery. A record outside the ring's memory is the consumer's own copy and only bounded in size.
  /// use_after_release: the bytes may still be read. Any other defect: they must not be.
  std::optional<ring::Defect> check(const ringside_record& record);

  /// A record's source says which ring it was written to: protocol when it was delivered as one of another.
  std::optional<ring::Defect> check_ring(std::uint32_t told, const ring::RecordReading& reading) const;

  /// The ring position of a view's first byte, or nothing for a record outside the ring's memory.
  std::optional<std::uint64_t> position_of(const ringside_record& record) const;

  /// The positions of every ring against what they were: position_regressed or position_overrun.
  std::optional<ring::Defect> check_positions();

  /// The consumer positions as they stand.
  std::vector<std::uint64_t> consumer_positions() const;

 private:
  struct Seen {
    std::uint64_t consumer_at_call = 0;  ///< when the call under way began
    std::uint64_t consumer = 0;          ///< last looked at
    std::uint64_t producer = 0;          ///< last looked at: only grows, so an old value is a safe bound
    bool known = false;
  };
  Seen& seen(std::uint32_t ring);

  const World& world_;
  std::vector<Seen> seen_;
};

}  // namespace ringside::harness
