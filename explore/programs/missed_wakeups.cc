// SPDX-License-Identifier: Apache-2.0
//
// Missed wake-ups by store buffering (CASES A1 and A2): the producer wakes nobody because it does not see yet that the
// consumer has caught up, and the consumer goes to sleep because it does not see the record yet. A consumer that stores
// its position and then looks once more needs a full fence in between, unless whoever puts it to sleep looks for it.
#include "explore/programs/bpf_consumer.h"

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

}  // namespace
}  // namespace ringside::explore::programs
