// SPDX-License-Identifier: Apache-2.0
//
// BPF rings of one to three producers, with consumers that get everything right and some that get one thing wrong
// (CASES C1 and D1).
#include "explore/programs/bpf_consumer.h"

namespace ringside::explore::programs {
namespace {

constexpr auto consume = [] { poll_all<Orders{}>(); };

constexpr std::uint64_t page = 4096;

const Registered one_by_one{"bpf_1x1", bpf_program({.producers = 1, .records = 1}, consume)};
const Registered one_by_two{"bpf_1x2", bpf_program({.producers = 1, .records = 2}, consume)};
const Registered one_by_three{"bpf_1x3", bpf_program({.producers = 1, .records = 3}, consume)};
const Registered one_by_six{"bpf_1x6", bpf_program({.producers = 1, .records = 6}, consume)};
const Registered two_by_one{"bpf_2x1", bpf_program({.producers = 2, .records = 1}, consume)};
const Registered two_by_two{"bpf_2x2", bpf_program({.producers = 2, .records = 2}, consume)};
const Registered three_by_one{"bpf_3x1", bpf_program({.producers = 3, .records = 1}, consume)};
const Registered four_by_one{"bpf_4x1", bpf_program({.producers = 4, .records = 1}, consume)};
// The second record's payload lies across the end of the data.
const Registered wrap{"bpf_wrap", bpf_program({.producers = 1, .records = 2, .start = page - 24}, consume)};
// The ring holds one such record.
const Registered full{"bpf_full",
                      bpf_program({.producers = 1, .records = 2, .size = page / 2, .waits_for_space = true}, consume)};

constexpr auto consume_header_relaxed = [] { poll_all<Orders{.header = std::memory_order_relaxed}>(); };
const Registered header_relaxed{"d1_header_relaxed", bpf_program({.records = 2}, consume_header_relaxed)};
constexpr auto consume_header_acquired = [] { poll_all<Orders{.header = std::memory_order_acquire}>(); };
const Registered header_acquired{"d1_header_acquired", bpf_program({.records = 2}, consume_header_acquired)};

/// A ring that was used before is opened again, with nothing new in it. `cached` is what the reader believes to have
/// been produced so far; it looks at the ring again only when it believes that nothing is left.
void reopened(std::uint64_t cached) {
  const RingView view = ring();
  const std::uint64_t position = std::atomic_ref(*view.consumer_pos).load(std::memory_order_relaxed);
  if (cached != position) {
    std::uint64_t payload = 0;
    std::memcpy(&payload, view.data + (position & view.mask) + header_bytes, sizeof payload);
    deliver(payload);
  }
  poll_all<Orders{}>();
}
constexpr auto reopen_from_zero = [] { reopened(0); };
constexpr auto reopen_from_position = [] {
  reopened(std::atomic_ref(*ring().consumer_pos).load(std::memory_order_relaxed));
};
const Registered from_zero{"c1_reopened_at_zero", bpf_program({.records = 0, .start = page}, reopen_from_zero)};
const Registered from_position{"c1_reopened_at_position",
                               bpf_program({.records = 0, .start = page}, reopen_from_position)};

}  // namespace
}  // namespace ringside::explore::programs
