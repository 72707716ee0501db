// SPDX-License-Identifier: Apache-2.0
//
// What the shipped programs about BPF rings have in common: the model's own kernel side (sim/), every access a step,
// and what epoll does for a consumer. None of it is instrumented; consumers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "explore/explored.h"
#include "ring/layout.h"

namespace ringside::explore::programs {

struct RingPlan {
  std::size_t producers = 1;
  std::uint32_t records = 1;  ///< of each producer
  std::uint64_t start = 0;    ///< of every position
  std::uint32_t size = 8;     ///< of a record's payload, bytes; 4 or more
  /// The first record lies committed in the ring when everything begins; the one producer goes on with the next.
  bool one_is_there = false;
  bool pending_walk = true;      ///< the kernel looks for committed records behind the producers, as it does since 6.11
  bool wakes = false;            ///< the consumer sleeps until the producer wakes it
  bool waits_for_space = false;  ///< the producer stands still while the ring is full; for one producer
  bool fills_last = true;        ///< writes the last word of a payload of more than one
  bool holds_last = false;       ///< each producer's last record stays BUSY for ever
  std::uint32_t discards = 0;    ///< records of each producer that are discarded, a bit each
  std::uint64_t flags = 0;       ///< of every commit (ring/operation.h)
};

/// A ring as its consumer has it mapped.
struct RingView {
  std::uint64_t* consumer_pos = nullptr;
  std::uint64_t* producer_pos = nullptr;
  std::byte* data = nullptr;  ///< twice in a row
  std::uint64_t mask = 0;
};

using ring::ringbuf::busy_bit;
using ring::ringbuf::discard_bit;
using ring::ringbuf::header_bytes;

/// Of the program that is explored now.
RingView ring();
std::uint64_t first_position();
/// How many records the consumer is to deliver.
std::uint32_t records_in_all();
/// Of each record's payload.
std::uint32_t record_size();

/// The consumer hands a record's first word on; fails when that is not the producer's next one.
void deliver(std::uint64_t payload);

/// epoll_wait until something lies at the position: level-triggered, looked at anew whenever it changes. What the
/// record's header orders is the consumer's own affair.
void wait_readable(std::uint64_t position);
/// epoll_wait, edge-triggered: until a producer has woken the consumer since the last time.
void wait_edge();
/// epoll_wait, level-triggered, as the kernel does it: it looks at both positions itself, behind a full barrier, before
/// it goes to sleep, and after each wake-up.
void wait_level();

/// From now on in this execution, a wake-up tells the epolls of that source (explore/explored.h).
void wake_by(int source);

/// A program of the kernel's producers and this consumer, named for reports. A lambda: what calls a pointer to a
/// function is instrumented, too, and reads the pointer in a step.
Program bpf_program(const RingPlan& plan, std::function<void()> consumer);

}  // namespace ringside::explore::programs
