// SPDX-License-Identifier: Apache-2.0
#include "harness/time_check.h"

#include <fmt/format.h>

namespace ringside::harness {

using ring::DefectKind;

TimeCheck::TimeCheck(const ringside_consumer& consumer, const Scenario& scenario, ring::Judge& judge)
    : claimed_((consumer.claims & RINGSIDE_CLAIM_TIME_ORDER) != 0 && scenario.ring.sample_time &&
               scenario.drive == Drive::stepped),
      stalls_(scenario.faults.stall_every > 0),
      judge_(judge) {}

void TimeCheck::delivered(const ringside_record& record) {
  if (!claimed_) return;
  if (record.time_ns >= newest_ns_) {
    newest_ns_ = record.time_ns;
  } else if (stalls_) {
    judge_.note("a record came after younger ones of other rings: its producer stood still before it published it");
  } else {
    judge_.accuse({.kind = DefectKind::reordered,
                   .ring = record.ring,
                   .detail = fmt::format("a record of time {} came after one of time {}", record.time_ns, newest_ns_)});
  }
}

void TimeCheck::finish() {
  if (!claimed_ || judge_.deliveries() < 2 || newest_ns_ > 0) return;
  judge_.accuse(
      {.kind = DefectKind::protocol, .detail = "claims the order of time and delivered records without their time"});
}

}  // namespace ringside::harness
