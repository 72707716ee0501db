// SPDX-License-Identifier: Apache-2.0
//
// Who claims the order of time is held to it where samples carry their time or BPF records begin with it, and told
// times are held against the records' own. What breaks the claim's condition makes a record late without anybody's
// fault, which is a note: a producer that the scenario stalls between the stamp and the publication of a sample, a
// stamp that is taken before the reservation, an interrupt between a reservation and its stamp. In free drive anything
// may stall producers, and nothing is judged.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/pace.h"
#include "harness/sample_times.h"
#include "harness/scenario.h"
#include "harness/stamped.h"
#include "harness/world.h"
#include "ring/consumer.h"
#include "ring/judge.h"
#include "ring/record.h"

namespace ringside::harness {

class TimeCheck {
 public:
  TimeCheck(const World& world, const ringside_consumer& consumer, const Scenario& scenario, ring::Judge& judge);

  /// Whether anything is judged.
  bool claimed() const { return claimed_; }
  /// Before anything is produced: the times of samples are read behind each step from then on.
  void begin(Pace& pace);
  /// The same now, behind what was produced otherwise.
  void look() {
    if (sample_times_) sample_times_->look();
  }
  void delivered(const ringside_record& record, const Stamped& parts, const ring::RecordReading& reading);
  /// When everything has been delivered.
  void finish();

 private:
  bool of_interrupt(const ring::RecordReading& reading) const;
  const char* excuse(const ring::RecordReading& reading) const;

  std::optional<std::uint64_t> own_time(const Stamped& parts, const ring::RecordReading& reading) const;

  const World& world_;
  const bool claimed_;
  const Scenario& scenario_;
  ring::Judge& judge_;
  std::optional<SampleTimes> sample_times_;  // of perf rings, where they are judged
  std::uint64_t newest_ns_ = 0;              // time of what was delivered
  bool untold_ = false;                      // a record that has a time was told without it
};

}  // namespace ringside::harness
