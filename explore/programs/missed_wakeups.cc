// SPDX-License-Identifier: Apache-2.0
//
// Missed wake-ups by store buffering (CASES A1 and A2): the producer wakes nobody because it does not see yet that the
// consumer has caught up, and the consumer goes to sleep because it does not see the record yet. A consumer that stores
// its position and then looks once more needs a full fence in between, unless whoever puts it to sleep looks for it.
#include <sys/epoll.h>

#include <utility>

#include "explore/programs/bpf_consumer.h"
#include "explore/programs/bpf_map.h"

namespace ringside::explore::programs {
namespace {

// The kernels in which it was found: they do not look for committed records behind the producers.
const RingPlan plan{.records = 2, .one_is_there = true, .pending_walk = false, .wakes = true};

constexpr auto release_edge = [] { sleep_all<Orders{}>(wait_edge); };
constexpr auto release_level = [] { sleep_all<Orders{}>(wait_level); };
constexpr auto fence_edge = [] { sleep_all<Orders{.fence = true}>(wait_edge); };
constexpr auto seq_cst_edge = [] { sleep_all<Orders{.consumer_pos = std::memory_order_seq_cst}>(wait_edge); };

const Registered release_and_edge{"a1_release_edge", bpf_program(plan, release_edge)};
const Registered release_and_level{"a1_release_level", bpf_program(plan, release_level)};
const Registered fence_and_edge{"a1_fence_edge", bpf_program(plan, fence_edge)};
const Registered seq_cst_and_edge{"a2_seq_cst_store_edge", bpf_program(plan, seq_cst_edge)};

// The same with epoll itself and a timeout, after which the consumer looks once more: it comes to no harm but to wait.
// How soon a timeout comes is nobody's fault, so only one that nobody else could have ended counts.
int epoll;

Program epoll_program(std::function<void()> consumer) {
  Program program = bpf_program(plan, std::move(consumer));
  program.begin = [begin = program.begin] {
    begin();
    epoll = epoll_create1(0);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    epoll_ctl(epoll, EPOLL_CTL_ADD, open_ring_map(), &event);
  };
  program.end = {};  // what comes after the timeout may stay in the ring
  return program;
}

template <Orders orders>
void sleep_a_while() {
  epoll_event event{};
  BpfConsumer<orders> consumer(ring(), first_position());
  epoll_wait(epoll, &event, 1, -1);  // for the record that is there
  consumer.drain();
  if (consumer.delivered() == records_in_all()) return;
  epoll_wait(epoll, &event, 1, 100);
  consumer.drain();
}

constexpr auto timeout = [] { sleep_a_while<Orders{}>(); };
constexpr auto timeout_and_fence = [] { sleep_a_while<Orders{.fence = true}>(); };
const Registered release_and_timeout{"a1_release_timeout", epoll_program(timeout)};
const Registered fence_and_timeout{"a1_fence_timeout", epoll_program(timeout_and_fence)};

}  // namespace
}  // namespace ringside::explore::programs
