// SPDX-License-Identifier: Apache-2.0
//
// Consumers that never sleep, or hardly: they may look again and again as long as somebody will do something. One takes
// a discarded record for one that is still to come; one is told again and again that a record is there which stays BUSY
// (CASES N4 and Q2).
#include <sys/epoll.h>

#include <atomic>

#include "explore/programs/bpf_consumer.h"
#include "explore/programs/bpf_map.h"

namespace ringside::explore::programs {
namespace {

/// Looks at the ring without a pause until every record is delivered.
void look_all(bool passes_discarded) {
  const RingView view = ring();
  std::uint64_t position = first_position();
  for (std::uint32_t delivered = 0; delivered < records_in_all();) {
    if (std::atomic_ref(*view.producer_pos).load(std::memory_order_acquire) == position) continue;
    std::byte* const record = view.data + (position & view.mask);
    const std::uint32_t header =
        std::atomic_ref(*reinterpret_cast<std::uint32_t*>(record)).load(std::memory_order_acquire);
    const bool discarded = (header & discard_bit) != 0;
    if ((header & busy_bit) != 0 || (discarded && !passes_discarded)) continue;
    std::uint64_t payload = 0;
    if (!discarded) std::memcpy(&payload, record + header_bytes, sizeof payload);
    position += header_bytes + (header & ~discard_bit);
    std::atomic_ref(*view.consumer_pos).store(position, std::memory_order_release);
    if (discarded) continue;
    deliver(payload);
    ++delivered;
  }
}

constexpr auto stop_at_discarded = [] { look_all(false); };
constexpr auto pass_discarded = [] { look_all(true); };
const RingPlan first_discarded{.records = 2, .discards = 0b1};
const Registered at_discarded{"spin_at_discarded", bpf_program(first_discarded, stop_at_discarded)};
const Registered past_discarded{"spin_past_discarded", bpf_program(first_discarded, pass_discarded)};

/// epoll_wait, level-triggered, which says that something is there as long as the positions differ.
int epoll;

constexpr auto level_all = [] {
  epoll_event event{};
  BpfConsumer<Orders{}> consumer(ring(), first_position());
  while (consumer.delivered() < records_in_all()) {
    epoll_wait(epoll, &event, 1, -1);
    consumer.drain();
  }
};

Program level_program(const RingPlan& plan) {
  Program program = bpf_program(plan, level_all);
  program.begin = [begin = program.begin] {
    begin();
    epoll = epoll_create1(0);
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll, EPOLL_CTL_ADD, open_ring_map(), &event);
  };
  return program;
}

const Registered held{"q2_busy_head_held", level_program({.records = 2, .wakes = true, .holds_last = true})};
const Registered committed{"q2_busy_head_committed", level_program({.records = 2, .wakes = true})};

}  // namespace
}  // namespace ringside::explore::programs
