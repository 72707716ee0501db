// SPDX-License-Identifier: Apache-2.0
//
// What the judge holds. Internal to ring/judge.cc, which takes deliveries, and ring/verdict.cc, which settles the
// accounts at the end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ring/judge.h"
#include "ring/sequence_set.h"

namespace ringside::ring {

/// How a record's number relates to those that came before it.
enum class Placement : std::uint8_t {
  in_order,  ///< the next one, or a later one: the numbers between are missing until they come
  late,      ///< missed before, comes now
  repeated,  ///< has come before
};

/// The numbers that one source delivered.
class SourceTrack {
 public:
  /// The number expected next: one above the highest that came.
  std::uint64_t next() const { return next_; }

  /// Counts a number below `bound` that is the next one, if the order was never broken. Returns whether it was.
  bool place_next(std::uint64_t number) {
    const bool next = number == next_ && number < bound && !came_;
    next_ += next ? 1 : 0;
    return next;
  }
  /// Counts any number.
  Placement place(std::uint64_t number);

  /// Whether the number came.
  bool came(std::uint64_t number) const { return came_ ? came_->contains(number) : number < next_; }
  /// How many different numbers below `limit` came.
  std::uint64_t came_below(std::uint64_t limit) const {
    return came_ ? came_->count_below(limit) : limit < next_ ? limit : next_;
  }
  /// The smallest number that did not come.
  std::uint64_t first_missing() const { return came_ ? came_->first_missing() : next_; }
  std::size_t memory_bytes() const { return came_ ? sizeof(SequenceSet) + came_->memory_bytes() : 0; }

  /// Numbers at or above it cannot have been reserved, as far as was asked.
  std::uint64_t bound = 0;

 private:
  std::uint64_t next_ = 0;
  std::unique_ptr<SequenceSet> came_;  ///< only once deliveries have left the order 0, 1, 2, ...
};

/// The defects found so far, one of a kind.
class DefectBook {
 public:
  /// `records`: how many have been delivered so far. It outlives the book, or the call of settle().
  explicit DefectBook(const std::uint64_t& records) : records_(&records) {}

  /// What is found from now on is found in the accounts of so many records, which outlive that.
  void settle(const std::uint64_t& records) { records_ = &records; }

  /// Counts a defect; `detail` is called only for the first of its kind.
  template <class Detail>
  void add(DefectKind kind, std::uint32_t ring, std::uint32_t source, std::uint64_t sequence, std::uint64_t count,
           Detail&& detail) {
    Defect& entry = entries_[static_cast<std::size_t>(kind)];
    if (entry.count != 0) {
      entry.count += count;
      return;
    }
    entry = Defect{.kind = kind,
                   .ring = ring,
                   .source = source,
                   .sequence = sequence,
                   .count = count,
                   .detail = detail(),
                   .records = *records_};
  }
  /// Those that were found, in the order of DefectKind.
  std::vector<Defect> found() const;

 private:
  std::array<Defect, defect_kind_count> entries_ = none();
  const std::uint64_t* records_;

  static std::array<Defect, defect_kind_count> none() {
    std::array<Defect, defect_kind_count> entries;
    for (Defect& entry : entries) entry.count = 0;
    return entries;
  }
};

/// All that the judge holds.
struct JudgeState {
  JudgeOptions options;
  std::size_t padding = 0;  ///< bytes that the ring may add to a record
  std::vector<SourceTrack> sources;
  std::uint64_t deliveries = 0;
  std::uint64_t delivered_bytes = 0;
  std::uint64_t empties = 0;                             ///< zero-length records delivered
  std::map<std::uint32_t, std::uint64_t> reported_lost;  ///< by ring
  DefectBook defects{deliveries};
  std::vector<std::string> notes;
  std::vector<std::string> not_observable;
  bool finished = false;

  /// Whether a source may have reserved that number by now.
  bool may_exist(std::uint32_t source, std::uint64_t number);
  /// The whole judgement on nearly every record there is. Returns whether it was one of these.
  bool count_next(const RecordIdentity& identity) {
    return identity.source < sources.size() && sources[identity.source].place_next(identity.sequence);
  }
  void judge_committed(std::uint32_t ring, const RecordIdentity& identity);
  void judge_suspect(std::uint32_t ring, std::span<const std::byte> bytes, const RecordReading& reading);

 private:
  void judge_alien(std::uint32_t ring, std::span<const std::byte> bytes);
  void judge_torn(std::uint32_t ring, const RecordIdentity& identity, std::string damage);
};

struct Judge::State : JudgeState {};

}  // namespace ringside::ring
