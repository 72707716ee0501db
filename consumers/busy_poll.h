// SPDX-License-Identifier: Apache-2.0
//
// Strategy `busy_poll`: never sleeps in the kernel; looks again and again and lets others run in between. No wake-up is
// needed and none can be missed, so producers may commit with NO_WAKEUP; the price is a CPU.
//
// The contract: a wait returns "ready" for nothing after some looks, so that its caller sees to other things, too. It
// claims RINGSIDE_CLAIM_BUSY_POLLS: being awake with nothing to do is its way, not its fault.
#pragma once

#include "consumers/ringbuf_consumer.h"

namespace ringside::consumers {

template <class Steps>
class BusyPoll : public RingbufConsumer<BusyPoll<Steps>, Steps> {
  using Base = RingbufConsumer<BusyPoll<Steps>, Steps>;

 public:
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<BusyPoll>::make({.name = name,
                                    .summary = summary,
                                    .ring_kind = Base::ring_kind,
                                    .claims = RINGSIDE_CLAIM_SLEEPS_ON_BUSY | RINGSIDE_CLAIM_BUSY_POLLS});
  }

  using Base::Base;

  int hand_over(RingbufReader<Steps>& reader, std::uint32_t ring) { return this->show(reader, ring); }

  int wait(std::int64_t timeout_ns) {
    constexpr int looks_per_wait = 64;
    const Deadline deadline(this->host(), timeout_ns);
    for (int looks = 0; looks < looks_per_wait; ++looks) {
      if (this->look()) return RINGSIDE_WAIT_READY;
      if (deadline.remaining_ns() == 0) return this->look() ? RINGSIDE_WAIT_READY : RINGSIDE_WAIT_TIMEOUT;
      this->host().yield(this->host().context);
    }
    return RINGSIDE_WAIT_READY;
  }
};

}  // namespace ringside::consumers
