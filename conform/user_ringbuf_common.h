// SPDX-License-Identifier: Apache-2.0
//
// What both sides of a user ring buffer do alike: the lies that a producer can tell, the bytes of a payload, what a
// drain's callback notes, and what is shown. Internal to conform/.
//
// What the operations tell:
//   reserve       result: 0 or a negative errno; 1 when nothing was done
//   settle        result: 0; 1 when nothing was done
//   header        result: 0
//   producer      result: 0
//   drain         result: the helper's return value; details: samples, hash of all, lengths of the first ones
//   drain_nested  the same, and at the end: whether the interrupt drained, and what it was told
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "conform/script.h"
#include "conform/side.h"
#include "conform/verbs.h"

namespace ringside::conform {

/// The user's mapping of a user ring buffer.
struct UserRingbufPages {
  const std::byte* consumer = nullptr;
  std::byte* producer = nullptr;
  std::byte* data = nullptr;  ///< twice in a row
  std::uint64_t size = 0;     ///< bytes of data
  std::uint32_t page_size = 0;

  std::uint64_t consumer_pos() const;
  std::uint64_t producer_pos() const;
};

/// Bytes of data of the script's ring.
std::uint64_t user_data_bytes(const Script& script, std::uint32_t page_size);

/// The verbs `header` and `producer`.
Outcome store_header(const UserRingbufPages& pages, const Op& op);
Outcome move_producer(const UserRingbufPages& pages, const Op& op);

/// Everything that the mapping shows, and `poll`, the mask that the ring's poll method returned.
void show_user_ringbuf(const UserRingbufPages& pages, std::uint64_t poll, View& view);

/// The samples that a script's producer holds open, and the verbs `reserve` and `settle` on them.
class HeldSamples {
 public:
  /// `reserve(size, payload)`: 0 and the payload, or a negative errno.
  template <class Reserve>
  Outcome reserve(const UserRingbufPages& pages, const Op& op, std::uint64_t ordinal, Reserve&& reserve) {
    std::byte*& slot = slot_of(op);
    // libbpf would store a header across cache lines, or over the end of the mapping.
    if (slot != nullptr || pages.producer_pos() % 8 != 0) return {.result = nothing_done, .details = {}};
    const auto size = static_cast<std::uint32_t>(argument(op, Arg::size));
    const int result = reserve(size, slot);
    if (result == 0) fill_payload({slot, size}, ordinal);
    return {.result = result, .details = {}};
  }

  /// `commit(payload, discarded)`.
  template <class Commit>
  Outcome settle(const Op& op, Commit&& commit) {
    std::byte*& slot = slot_of(op);
    if (slot == nullptr) return {.result = nothing_done, .details = {}};
    commit(slot, argument(op, Arg::fate) != 0);
    slot = nullptr;
    return {};
  }

 private:
  static constexpr std::int64_t nothing_done = 1;
  static std::uint64_t argument(const Op& op, Arg arg);
  std::byte*& slot_of(const Op& op) { return slots_[argument(op, Arg::slot)]; }

  std::array<std::byte*, static_cast<std::size_t>(held_slots)> slots_ = {};
};

/// What a drain's callback got, in the words that the BPF program uses (bpf/conform_user.h).
struct DrainNotes {
  std::uint64_t samples = 0;
  std::uint64_t hash = 0;
  std::uint64_t bytes = 0;
  std::array<std::uint32_t, 8> lengths = {};

  /// Returns what the callback is to return: 1 at sample number `stop` (0: at none), or when it got too much.
  int take(std::span<const std::byte> sample, std::uint64_t stop);
  std::vector<std::uint64_t> details() const;
};

}  // namespace ringside::conform
