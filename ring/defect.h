// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with a consumer, as values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::ring {

/// Every defect that Ringside can name. The order is the order of reports; names are stable (see name_of).
enum class DefectKind : std::uint8_t {
  lost,                ///< committed, never delivered, and not reported as lost
  loss_miscounted,     ///< the losses that the consumer reports are not the losses that happened
  duplicate,           ///< delivered more than once
  reordered,           ///< delivered after a later record of the same source
  torn,                ///< bytes that are not those of the record
  phantom,             ///< delivered but never committed: discarded, busy, a previous lap's bytes
  out_of_bounds,       ///< handed out bytes outside the readable part of the ring
  position_regressed,  ///< consumer position moved backwards
  position_overrun,    ///< consumer position moved past what is published
  use_after_release,   ///< a view read after its space was handed back
  data_race,           ///< a plain access unordered with a conflicting one
  uninitialised_read,  ///< bytes read that this lap's producer never wrote
  missed_wakeup,       ///< asleep for ever with a committed record in the ring
  busy_spin,           ///< awake again and again with nothing to do
  deadlock,            ///< threads wait for each other
  hang,                ///< a call that does not return
  deadline_missed,     ///< returned long after its deadline
  early_timeout,       ///< a timeout told while committed records lay in the ring
  unbounded_drain,     ///< one drain delivered more than it was allowed
  batch_incomplete,    ///< a claimed batch boundary that was none
  leak,                ///< descriptors, mappings or memory kept after close
  crash,               ///< the consumer died
  protocol,            ///< the consumer broke the contract of ring/consumer.h
};

inline constexpr std::size_t defect_kind_count = 23;

/// The name in code, JSON and prose: `missed_wakeup`.
std::string_view name_of(DefectKind kind);
/// The kind of that name, or nothing.
std::optional<DefectKind> defect_kind_of(std::string_view name);
std::ostream& operator<<(std::ostream& out, DefectKind kind);

/// One kind of defect in one run: its first occurrence, and how often it occurred.
struct Defect {
  DefectKind kind{};
  std::uint32_t ring = 0;      ///< ring of the first occurrence
  std::uint32_t source = 0;    ///< producer of the first occurrence, where one is known
  std::uint64_t sequence = 0;  ///< record of the first occurrence, where one is known
  std::uint64_t count = 1;     ///< records, bytes of positions, or events, whichever the kind counts
  std::string detail;          ///< one sentence on the first occurrence
  /// How many records had been delivered by the first occurrence; where the accounts at the end show it, how many there
  /// were.
  std::uint64_t records = 0;

  friend bool operator==(const Defect&, const Defect&) = default;
};

/// `torn x3: source 1 record 77: byte 24 is 0x00, should be 0x5c`.
std::ostream& operator<<(std::ostream& out, const Defect& defect);

}  // namespace ringside::ring
