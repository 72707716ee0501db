// SPDX-License-Identifier: Apache-2.0
#include "harness/time_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace ringside::harness {

using ring::DefectKind;

namespace {

bool carries_time(const RingPlan& ring) { return ring.sample_time || ring.stamp != ring::Stamp::none; }

}  // namespace

TimeCheck::TimeCheck(const World& world, const ringside_consumer& consumer, const Scenario& scenario,
                     ring::Judge& judge)
    : world_(world),
      claimed_((consumer.claims & RINGSIDE_CLAIM_TIME_ORDER) != 0 && carries_time(scenario.ring) &&
               scenario.drive == Drive::stepped),
      scenario_(scenario),
      judge_(judge) {}

void TimeCheck::begin(Pace& pace) {
  const ringside_ring_set& rings = world_.rings();
  if (!claimed_ || rings.kind != RINGSIDE_PERF || rings.backward != 0) return;
  sample_times_.emplace(world_);
  pace.watch([this] { look(); });
}

/// The record's own, if it is known.
std::optional<std::uint64_t> TimeCheck::own_time(const Stamped& parts, const ring::RecordReading& reading) const {
  if (world_.rings().stamp_bytes > 0) return parts.time_ns;
  return sample_times_ ? sample_times_->of(reading) : std::nullopt;
}

/// Nested sources are numbered behind those of the scenario.
bool TimeCheck::of_interrupt(const ring::RecordReading& reading) const {
  return reading.kind == ring::RecordReading::Kind::proven && reading.identity.source >= scenario_.sources.size();
}

/// Why nobody is to blame for a record that is late, or null.
const char* TimeCheck::excuse(const ring::RecordReading& reading) const {
  if (scenario_.ring.stamp == ring::Stamp::before) {
    return "a record came after younger ones of other rings: its producer stood still between its stamp and its "
           "reservation";
  }
  if (scenario_.ring.stamp == ring::Stamp::inside) {
    return of_interrupt(reading)
               ? "a record came after a younger one of its ring: an interrupt wrote it between that one's reservation "
                 "and its stamp"
               : nullptr;
  }
  return scenario_.faults.stall_every > 0
             ? "a record came after younger ones of other rings: its producer stood still before it published it"
             : nullptr;
}

void TimeCheck::delivered(const ringside_record& record, const Stamped& parts, const ring::RecordReading& reading) {
  if (!claimed_) return;
  const std::uint64_t time_ns = own_time(parts, reading).value_or(record.time_ns);
  if (time_ns != 0 && record.time_ns == 0) {
    untold_ = true;
    return;
  }
  if (record.time_ns != time_ns) {
    judge_.accuse({.kind = DefectKind::protocol,
                   .ring = record.ring,
                   .detail = fmt::format("tells the time {} of a record of time {}", record.time_ns, time_ns)});
  }
  if (time_ns >= newest_ns_) {
    newest_ns_ = time_ns;
  } else if (const char* why = excuse(reading)) {
    judge_.note(why);
  } else {
    judge_.accuse({.kind = DefectKind::reordered,
                   .ring = record.ring,
                   .detail = fmt::format("a record of time {} came after one of time {}", time_ns, newest_ns_)});
  }
}

void TimeCheck::finish() {
  if (!claimed_ || (!untold_ && (judge_.deliveries() < 2 || newest_ns_ > 0))) return;
  judge_.accuse(
      {.kind = DefectKind::protocol, .detail = "claims the order of time and delivered records without their time"});
}

}  // namespace ringside::harness
