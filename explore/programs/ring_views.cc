// SPDX-License-Identifier: Apache-2.0
//
// What a consumer may read of a ring, and until when (CASES G1): views that are kept for too long, positions that are
// stored too weakly, bytes that no producer wrote. Each broken one stands beside one that is right.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "explore/programs/bpf_ring.h"

namespace ringside::explore::programs {
namespace {

struct Habits {
  bool hands_back_first = false;  ///< stores consumer_pos, and then reads the record
  bool rounds_up = false;         ///< copies the padding behind the payload, too
  std::memory_order consumer_pos = std::memory_order_release;
};

std::uint64_t copy_of(const std::byte* payload, std::size_t size) {
  std::array<std::byte, 16> copy{};
  std::memcpy(copy.data(), payload, std::min(size, copy.size()));
  std::uint64_t first = 0;
  std::memcpy(&first, copy.data(), sizeof first);
  return first;
}

template <Habits habits>
void take_all() {
  const RingView view = ring();
  std::uint64_t position = first_position();
  for (std::uint32_t taken = 0; taken < records_in_all(); ++taken) {
    wait_readable(position);
    std::byte* const record = view.data + (position & view.mask);
    const std::uint32_t length = std::atomic_ref(*reinterpret_cast<std::uint32_t*>(record)).load();
    const std::uint64_t rounded = (length + 7) & ~std::uint64_t{7};
    position += header_bytes + rounded;
    std::atomic_ref consumer_pos(*view.consumer_pos);
    if (habits.hands_back_first) consumer_pos.store(position, habits.consumer_pos);
    const std::uint64_t payload = copy_of(record + header_bytes, habits.rounds_up ? rounded : length);
    if (!habits.hands_back_first) consumer_pos.store(position, habits.consumer_pos);
    deliver(payload);
  }
}

constexpr auto read_first = [] { take_all<Habits{}>(); };
constexpr auto hand_back_first = [] { take_all<Habits{.hands_back_first = true}>(); };
constexpr auto hand_back_relaxed = [] { take_all<Habits{.consumer_pos = std::memory_order_relaxed}>(); };
constexpr auto round_up = [] { take_all<Habits{.rounds_up = true}>(); };

const Registered view_kept{"g1_view_kept", bpf_program({}, hand_back_first)};
const Registered view_given_up{"g1_view_given_up", bpf_program({}, read_first)};
const Registered relaxed{"position_stored_relaxed", bpf_program({}, hand_back_relaxed)};
// Of 16 bytes the producer leaves the second half as it is.
const Registered not_filled{"payload_not_filled", bpf_program({.size = 16, .fills_last = false}, read_first)};
const Registered filled{"payload_filled", bpf_program({.size = 16}, read_first)};
// 12 bytes, and 4 to the next multiple of 8.
const Registered padding{"padding_read", bpf_program({.size = 12}, round_up)};
const Registered no_padding{"padding_left_alone", bpf_program({.size = 12}, read_first)};

}  // namespace
}  // namespace ringside::explore::programs
