// SPDX-License-Identifier: Apache-2.0
//
// Who claims the order of time is held to it where samples carry their time. Producers that the scenario stalls between
// the stamp and the publication break the claim's condition: that is a note. In free drive anything may stall them, and
// nothing is judged.
#pragma once

#include <cstdint>

#include "harness/scenario.h"
#include "ring/consumer.h"
#include "ring/judge.h"

namespace ringside::harness {

class TimeCheck {
 public:
  TimeCheck(const ringside_consumer& consumer, const Scenario& scenario, ring::Judge& judge);

  void delivered(const ringside_record& record);
  /// When everything has been delivered.
  void finish();

 private:
  const bool claimed_;
  const bool stalls_;
  ring::Judge& judge_;
  std::uint64_t newest_ns_ = 0;  // time of what was delivered
};

}  // namespace ringside::harness
