// SPDX-License-Identifier: Apache-2.0
//
// The rings of a set as one row of records, in rounds: every ring is read up to a snapshot that was taken at the
// round's beginning, so that a ring that is filled as fast as it is read starves no other, and whoever reads one round
// comes to an end (N1).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "consumers/consumer_table.h"
#include "consumers/ringbuf_view.h"

namespace ringside::consumers {

/// One thread at a time. `Reader` walks one ring: RingbufReader, or PerfReader of perf_view.h.
template <class Steps, class Reader = RingbufReader<Steps>>
class RingsInTurn {
 public:
  RingsInTurn() = default;
  RingsInTurn(const RingsInTurn&) = delete;
  RingsInTurn& operator=(const RingsInTurn&) = delete;

  /// 0, -EINVAL for no ring, -ENOMEM, or -EBADMSG for positions that no consumer can have left.
  int start(const ringside_ring_set& rings) {
    if (rings.ring_count == 0) return -EINVAL;
    if (rings.ring_count > 1) {
      several_ = allocate<Reader>(rings.ring_count);
      if (several_ == nullptr) return -ENOMEM;
      readers_ = several_.get();
    }
    count_ = rings.ring_count;
    current_ = count_ - 1;  // the first round begins with the first ring
    for (std::uint32_t ring = 0; ring < count_; ++ring) {
      if (!start_reader(readers_[ring], rings.rings[ring], rings)) return -EBADMSG;
    }
    return 0;
  }

  /// Begins a round, with the ring behind the last one: new snapshots of all.
  void begin_round() {
    go_on();
    for (std::uint32_t ring = 0; ring < count_; ++ring) readers_[ring].refresh();
    untouched_ = true;
  }

  /// Goes to the next committed record of the round, or of a new one if this one was looked at before. `leave(reader)`
  /// is called where a ring has no more, so that discarded records that were passed are handed back.
  template <class Leave>
  Found find(Leave&& leave) {
    const Found found = find_in_round(leave);
    if (std::exchange(untouched_, false) || only_this_round_ || found == Found::record) return found;
    begin_round();
    untouched_ = false;
    return find_in_round(leave);
  }
  /// Begins a round, and keeps find() to it while it lives: how to read what is there, and come to an end.
  class OneRound {
   public:
    explicit OneRound(RingsInTurn& rings) : rings_(rings) {
      rings_.begin_round();
      rings_.only_this_round_ = true;
    }
    ~OneRound() { rings_.only_this_round_ = false; }
    OneRound(const OneRound&) = delete;
    OneRound& operator=(const OneRound&) = delete;

   private:
    RingsInTurn& rings_;
  };

  OneRound one_round() { return OneRound(*this); }

  /// The same where what was passed is handed back at once.
  Found find() {
    return find([](Reader& reader) { reader.publish(); });
  }

  /// The last look before sleeping, at every ring (Reader::look).
  bool look() {
    bool found = false;
    for (std::uint32_t ring = 0; ring < count_; ++ring) {
      Reader& reader = readers_[ring];
      found |= reader.look([&reader] { reader.publish(); });
    }
    return found;
  }

  void publish_all() {
    for (std::uint32_t ring = 0; ring < count_; ++ring) readers_[ring].publish();
  }

  std::uint32_t count() const { return count_; }
  /// The ring that find() stopped at.
  std::uint32_t ring() const { return current_; }
  Reader& reader() { return readers_[current_]; }
  Reader& reader(std::uint32_t ring) { return readers_[ring]; }

 private:
  static bool start_reader(Reader& reader, const ringside_ring& ring, const ringside_ring_set& rings) {
    if constexpr (requires { reader.start(ring, rings); }) {
      return reader.start(ring, rings);
    } else {
      return reader.start(ring);
    }
  }

  void go_on() { current_ = current_ + 1 < count_ ? current_ + 1 : 0; }

  template <class Leave>
  Found find_in_round(Leave&& leave) {
    Found worst = Found::end;
    for (std::uint32_t turn = 0; turn < count_; ++turn) {
      const Found found = reader().find();
      if (found == Found::record) return found;
      if (found == Found::broken) worst = found;
      leave(reader());
      go_on();
    }
    return worst;
  }

  Reader one_;  // the rule, which needs no memory of its own
  std::unique_ptr<Reader[]> several_;
  Reader* readers_ = &one_;
  std::uint32_t count_ = 0;
  std::uint32_t current_ = 0;
  bool untouched_ = false;        // nobody has looked for a record since the round began
  bool only_this_round_ = false;  // nothing else is to be found
};

}  // namespace ringside::consumers
