// SPDX-License-Identifier: Apache-2.0
#include "explore/laps.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "explore/fault.h"

namespace ringside::explore {
namespace {

std::uint64_t word_at(const void* address) {
  std::uint64_t value = 0;
  std::memcpy(&value, address, sizeof value);
  return value;
}

bool is_behind(std::uint64_t position, std::uint64_t other) { return static_cast<std::int64_t>(other - position) > 0; }

/// The position of a byte of the ring, counted from that one on.
std::uint64_t position_from(std::uint64_t begin, std::uint64_t offset, const Ring& ring) {
  return begin + ((offset - begin) & (ring.size_bytes - 1));
}

}  // namespace

void Laps::set_rings(const std::vector<Ring>& rings, const std::vector<std::uintptr_t>& data) {
  for (std::size_t index = 0; index < rings.size(); ++index) {
    const Ring& ring = rings[index];
    assert(ring.consumed != nullptr && ring.produced != nullptr && (ring.size_bytes & (ring.size_bytes - 1)) == 0);
    states_.push_back({.ring = ring, .data = data[index]});
  }
}

void Laps::begin() {
  for (State& state : states_) {
    state.consumed = word_at(state.ring.consumed);
    state.produced = state.claimed = word_at(state.ring.produced);
    state.bytes.clear();
    state.passings.clear();
  }
}

/// Calls `with` for so many bytes from that offset on, and where each lies, until it returns false. Around the end of
/// the ring.
template <class With>
void Laps::for_each_byte(State& state, std::uint64_t offset, std::uint64_t count, With with) {
  while (count != 0) {
    offset &= state.ring.size_bytes - 1;
    Bytes& bytes = state.bytes.at(offset / granule_bytes);
    const std::uint64_t in_granule = granule_bytes - offset % granule_bytes;
    const std::uint64_t here = std::min({count, in_granule, state.ring.size_bytes - offset});
    for (const std::uint64_t end = offset + here; offset != end; ++offset) {
      Byte& byte = bytes.all[offset % granule_bytes];
      if (!byte.met) {
        const std::uint64_t behind = position_from(state.consumed, offset, state.ring) - state.consumed;
        const bool there = behind < state.produced - state.consumed || planted(Fault::memory_counts);
        byte = {.met = true, .unwritten = !there};
      }
      if (!with(byte, offset)) return;
    }
    count -= here;
  }
}

Laps::State* Laps::state_of(std::uintptr_t address) {
  for (State& state : states_) {
    if (address - state.data < state.ring.size_bytes) return &state;
  }
  return nullptr;
}

std::optional<Passing> Laps::hand_back(std::size_t ring, Passing passing) {
  State& state = states_[ring];
  if (is_behind(state.claimed, passing.to)) passing.to = state.claimed;
  if (!is_behind(passing.from, passing.to)) return std::nullopt;
  if (passing.to - passing.from > state.ring.size_bytes) passing.from = passing.to - state.ring.size_bytes;
  state.passings.push_back(passing);
  for_each_byte(state, passing.from, passing.to - passing.from, [&](Byte& byte, std::uint64_t) {
    byte.handed_back = static_cast<std::uint32_t>(state.passings.size());
    byte.claimed = 0;
    byte.unwritten = !planted(Fault::last_lap_counts);
    return true;
  });
  return passing;
}

void Laps::claim(std::size_t ring, const Passing& passing, const Clock& known) {
  State& state = states_[ring];
  if (is_behind(state.claimed, passing.to)) state.claimed = passing.to;
  if (!is_behind(passing.from, passing.to) || passing.to - passing.from > state.ring.size_bytes) return;
  state.passings.push_back(passing);
  for_each_byte(state, passing.from, passing.to - passing.from, [&](Byte& byte, std::uint64_t) {
    const bool may = byte.handed_back == 0 || state.passings[byte.handed_back - 1u].known_to(known);
    if (may) byte.claimed = static_cast<std::uint32_t>(state.passings.size());
    return true;
  });
}

void Laps::write(const Access& access, const Clock& known) {
  State* const state = state_of(access.address);
  if (state == nullptr) return;
  const std::uint64_t begin = access.address - state->data;
  const std::uint64_t end = std::min<std::uint64_t>(begin + access.size_bytes, state->ring.size_bytes);
  for_each_byte(*state, begin, end - begin, [&](Byte& byte, std::uint64_t) {
    byte.unwritten = false;
    if (byte.handed_back == 0) return true;
    const bool knows = state->passings[byte.handed_back - 1u].known_to(known);
    if (knows || planted(Fault::any_write_takes_back)) byte.handed_back = 0;
    return true;
  });
}

/// What was handed back is so until a producer claims it again, as far as the access knows; after that it is this
/// lap's.
std::optional<LapFault::Kind> Laps::fault_of(const State& state, const Byte& byte, bool write, const Clock& known) {
  const bool claimed =
      byte.claimed != 0 && (state.passings[byte.claimed - 1u].known_to(known) || planted(Fault::any_claim_is_known));
  const bool late = byte.handed_back != 0 && !(byte.unwritten && claimed);
  if (late && !planted(Fault::views_may_be_late)) return LapFault::Kind::handed_back;
  if (!byte.unwritten || write) return std::nullopt;
  return claimed ? LapFault::Kind::unwritten : LapFault::Kind::unclaimed;
}

std::optional<LapFault> Laps::use(const Access& access, const Clock& known) {
  State* const state = state_of(access.address);
  if (state == nullptr) return std::nullopt;
  const std::uint64_t begin = access.address - state->data;
  const std::uint64_t end = std::min<std::uint64_t>(begin + access.size_bytes, state->ring.size_bytes);
  std::optional<LapFault> fault;
  std::uint32_t number = 0;
  for_each_byte(*state, begin, end - begin, [&](const Byte& byte, std::uint64_t offset) {
    const auto kind = fault_of(*state, byte, access.write, known);
    if (!kind && !fault) return true;
    const std::uint32_t of = !kind || *kind == LapFault::Kind::unclaimed ? std::uint32_t{0}
                             : *kind == LapFault::Kind::handed_back      ? byte.handed_back
                                                                         : byte.claimed;
    if (fault && (!kind || *kind != fault->kind || of != number)) return false;
    if (!fault) {
      number = of;
      fault = LapFault{.kind = *kind, .ring = static_cast<std::size_t>(state - states_.data())};
      if (number != 0) fault->passing = state->passings[number - 1u];
      fault->position = position_from(number != 0 ? fault->passing.from : state->claimed, offset, state->ring);
    }
    ++fault->size_bytes;
    return true;
  });
  return fault;
}

std::optional<RingSpan> Laps::unconsumed() const {
  for (const State& state : states_) {
    const std::uint64_t consumed = word_at(state.ring.consumed);
    const std::uint64_t produced = word_at(state.ring.produced);
    if (is_behind(consumed, produced)) return RingSpan{.ring = state.ring.name, .from = consumed, .to = produced};
  }
  return std::nullopt;
}

std::array<Access, 2> Laps::places_of(std::size_t ring, const Passing& passing) const {
  const State& state = states_[ring];
  const std::uint64_t size = state.ring.size_bytes;
  const std::uint64_t offset = passing.from & (size - 1);
  const std::uint64_t first = std::min(passing.to - passing.from, size - offset);
  return {{{.address = state.data + offset, .size_bytes = first},
           {.address = state.data, .size_bytes = passing.to - passing.from - first}}};
}

std::uint64_t Laps::position_of(std::size_t ring, const Passing& passing, std::uintptr_t address) const {
  return position_from(passing.from, address - states_[ring].data, states_[ring].ring);
}

}  // namespace ringside::explore
