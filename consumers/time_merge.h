// SPDX-License-Identifier: Apache-2.0
//
// Strategy `time_merge`: BPF rings of several CPUs whose records begin with their time, as one row by time, without
// holding anything back.
//
// A round has two looks at every ring. The first goes through what is committed and keeps the newest stamp that it
// meets, the *bound*. The second, behind a full fence, takes every producer_pos. Each record with a stamp at or below
// the bound lies below these positions, committed or BUSY: for its program had reserved it before it took its stamp,
// and the newest one was in the ring before we looked again. So the committed records go out by time, up to the bound;
// and where a ring is come to a BUSY record, whose stamp nobody knows, everything stops until it is committed. It may
// be as old as the record before it in its ring, and what is older than that one has gone out already.
//
// No clock is asked: the stamps may be of any clock that all CPUs share, and a stamp that was read is a moment that has
// passed. (`host->now_ns` would not do: in a stepped run it is the session's own, whatever bpf_ktime_get_ns says.)
//
// What holds:
//   - The order over all CPUs is exact if each stamp is taken between the reservation and the commit, with a full
//     barrier between the reservation and the reading of the clock. Reading a clock does not drain a store buffer, on
//     x86 either (programs `merge_*` of the explorer): the new producer_pos may stay hidden behind a stamp.
//   - A program that takes its stamp before it reserves is seen by nobody in between: its record is late, and goes out
//     all the same. Nothing is lost and nothing waits for it.
//   - Within one ring the order is the ring's. An interrupt that reserves and stamps between a record's reservation
//     and its stamp has a younger record in front of its own, which is late then by as much as that gap.
//   - One BUSY record holds up the rings of all CPUs: that is the price.
//
// Where records carry no time it goes through the rings one after the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "consumers/consumer_table.h"
#include "consumers/ringbuf_view.h"
#include "consumers/wait.h"

namespace ringside::consumers {

/// The steps that a merge may get wrong beside those of its readers, each done right.
struct MergeSteps : RingbufSteps {
  static constexpr bool looks_twice = true;         ///< and takes the positions behind the stamps
  static constexpr bool fences_between = true;      ///< the two looks
  static constexpr bool keeps_to_the_bound = true;  ///< leaves what is younger to the next round
  static constexpr bool minds_busy = true;          ///< records of other rings
  static constexpr bool is_older(std::uint64_t time_ns, std::uint64_t than_ns) { return time_ns < than_ns; }
  /// The time that is told of a record when that of the last one was `last_ns`.
  static constexpr std::uint64_t told(std::uint64_t time_ns, std::uint64_t /*last_ns*/) { return time_ns; }
};

template <class Steps>
class TimeMerge {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_RINGBUF;
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<TimeMerge>::make({.name = name,
                                     .summary = summary,
                                     .ring_kind = ring_kind,
                                     .claims = RINGSIDE_CLAIM_SLEEPS_ON_BUSY | RINGSIDE_CLAIM_TIME_ORDER});
  }

  TimeMerge(const ringside_ring_set& rings, const ringside_host& host) : set_(rings), host_(host) {}

  int start() {
    if (set_.ring_count == 0 || (set_.stamp_bytes != 0 && set_.stamp_bytes != sizeof(std::uint64_t))) return -EINVAL;
    rings_ = allocate<Ring>(set_.ring_count);
    if (rings_ == nullptr) return -ENOMEM;
    for (std::uint32_t index = 0; index < set_.ring_count; ++index) {
      rings_[index].index = index;
      if (!rings_[index].reader.start(set_.rings[index])) return -EBADMSG;
      rings_[index].scout = rings_[index].reader;
    }
    return 0;
  }

  /// What is left of the last round, and one more round.
  std::int64_t drain(std::uint64_t max_records) {
    error_ = 0;
    std::int64_t delivered = 0;
    bool stop = hand_over_round(max_records, delivered);
    if (!stop) {
      begin_round([this] { host_.yield(host_.context); });
      stop = hand_over_round(max_records, delivered);
    }
    publish_all();
    return answer_of_drain(static_cast<std::uint64_t>(delivered), error_);
  }

  int wait(std::int64_t timeout_ns) {
    return wait_until<Steps>(
        Deadline(host_, timeout_ns), [this] { return look(); },
        [this](const Deadline& deadline) { return sleep_on_rings(host_, deadline); });
  }

 private:
  struct Ring {
    RingbufReader<Steps> scout;   // how far the first look has come
    RingbufReader<Steps> reader;  // what goes out, and the second look
    std::uint32_t index = 0;
    Found found = Found::end;
    std::uint64_t time_ns = 0;  // of what was found
  };

  bool stamped() const { return set_.stamp_bytes != 0; }

  /// Two looks at every ring; `between()` is called between the accesses of one and of another.
  template <class Between>
  void begin_round(Between&& between) {
    if constexpr (!Steps::looks_twice) take_positions(between);
    for (std::uint32_t index = 0; stamped() && index < set_.ring_count; ++index) {
      scout(rings_[index], between);
    }
    if constexpr (Steps::looks_twice) {
      // (M1) Full fence between the newest stamp and the positions, pairs with the producer's between its reservation
      // and its stamp: a record whose position we do not see takes its stamp later than the newest one was taken.
      if constexpr (Steps::fences_between) std::atomic_thread_fence(std::memory_order_seq_cst);
      take_positions(between);
    }
    for (std::uint32_t index = 0; index < set_.ring_count; ++index) find(rings_[index]);
  }
  template <class Between>
  void take_positions(Between&& between) {
    for (std::uint32_t index = 0; index < set_.ring_count; ++index) {
      if (!rings_[index].reader.refresh()) error_ = -EBADMSG;
      if (index + 1 < set_.ring_count) between();
    }
  }

  /// The first look at one ring. The reader may have come farther, up to a younger position.
  template <class Between>
  void scout(Ring& ring, Between& between) {
    RingbufReader<Steps>& scout = ring.scout;
    if (static_cast<std::int64_t>(scout.position() - ring.reader.position()) < 0) scout = ring.reader;
    scout.refresh();
    between();
    while (scout.find() == Found::record && scout.payload_bytes() >= set_.stamp_bytes) {
      bound_ns_ = std::max(bound_ns_, stamp_of(scout));
      scout.advance();
      between();
    }
  }

  static std::uint64_t stamp_of(const RingbufReader<Steps>& at) {
    std::uint64_t time_ns = 0;
    std::memcpy(&time_ns, at.payload(), sizeof time_ns);
    return time_ns;
  }

  void find(Ring& ring) {
    const std::uint64_t before = ring.reader.position();
    ring.found = ring.reader.find();
    if (ring.found == Found::record && ring.reader.payload_bytes() < set_.stamp_bytes) ring.found = Found::broken;
    if (ring.found == Found::broken) error_ = -EBADMSG;
    if (ring.found == Found::record) ring.time_ns = stamped() ? stamp_of(ring.reader) : 0;
    passed_ |= ring.reader.position() != before;
  }

  std::uint32_t behind(std::uint32_t index) const { return index + 1 < set_.ring_count ? index + 1 : 0; }

  /// The ring whose record is to go out now, or null. Of records of one time the rings' come in turn.
  Ring* oldest() {
    Ring* oldest = nullptr;
    std::uint32_t index = next_ring_;
    for (std::uint32_t turn = 0; turn < set_.ring_count; ++turn, index = behind(index)) {
      Ring& ring = rings_[index];
      if (Steps::minds_busy && stamped() && ring.found == Found::busy) return nullptr;
      if (ring.found != Found::record || (Steps::keeps_to_the_bound && ring.time_ns > bound_ns_)) continue;
      if (oldest == nullptr || Steps::is_older(ring.time_ns, oldest->time_ns)) oldest = &ring;
    }
    return oldest;
  }

  /// True if no more is to be delivered.
  bool hand_over_round(std::uint64_t most, std::int64_t& delivered) {
    while (static_cast<std::uint64_t>(delivered) < most) {
      Ring* const ring = oldest();
      if (ring == nullptr) return false;
      ++delivered;
      if (hand_over(*ring)) return true;
    }
    return true;
  }
  bool hand_over(Ring& ring) {
    told_ns_ = Steps::told(ring.time_ns, told_ns_);
    const ringside_record record{.ring = ring.index,
                                 .reserved = 0,
                                 .data = ring.reader.payload(),
                                 .size = ring.reader.payload_bytes(),
                                 .token = 0,
                                 .time_ns = told_ns_};
    const bool stop = host_.deliver(host_.context, &record) > 0;
    next_ring_ = behind(ring.index);
    ring.reader.advance();
    ring.reader.publish();  // (C4)
    find(ring);
    return stop;
  }

  void publish_all() {
    for (std::uint32_t index = 0; index < set_.ring_count; ++index) rings_[index].reader.publish();
  }

  /// The last look before sleeping, as RingbufReader::look. False where a BUSY record stops everything, too: that one
  /// is the first of its ring, and its commit wakes us.
  bool look() {
    for (int round = 0; round < 2; ++round) {
      RingbufView::fence_before_last_look();  // (C5)
      error_ = 0;
      passed_ = false;
      begin_round([] {});
      publish_all();
      if (error_ != 0 || oldest() != nullptr) return true;
      if (!passed_) return false;
    }
    return true;
  }

  const ringside_ring_set& set_;
  const ringside_host& host_;
  std::unique_ptr<Ring[]> rings_;
  std::uint64_t bound_ns_ = 0;
  std::uint32_t next_ring_ = 0;
  std::uint64_t told_ns_ = 0;
  int error_ = 0;        // of a ring, at the last look
  bool passed_ = false;  // discarded records, since the last look began
};

}  // namespace ringside::consumers
