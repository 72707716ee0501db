// SPDX-License-Identifier: Apache-2.0
//
// What is known of memory, by granules of 8 bytes, for as long as one execution lasts: a hash table that is emptied in
// one step and keeps its memory, because it is filled anew many thousand times a second.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ringside::explore {

inline constexpr std::uintptr_t granule_bytes = 8;

/// T has clear(), which need not give memory back. References are good until the next at().
template <class T>
class Granules {
 public:
  Granules() : slots_(std::size_t{1} << 6) {}

  void clear() {
    ++era_;
    used_ = 0;
  }

  /// What is known of the granule: nothing at first.
  T& at(std::uintptr_t granule) {
    if (2 * used_ >= slots_.size()) grow();
    Slot& slot = slot_of(granule);
    if (slot.era != era_) {
      slot.era = era_;
      slot.granule = granule;
      slot.known.clear();
      ++used_;
    }
    return slot.known;
  }

 private:
  struct Slot {
    std::uintptr_t granule = 0;
    std::uint64_t era = 0;
    T known;
  };

  Slot& slot_of(std::uintptr_t granule) {
    std::size_t at = static_cast<std::size_t>(granule * 0x9e3779b97f4a7c15u >> 32) & (slots_.size() - 1);
    while (slots_[at].era == era_ && slots_[at].granule != granule) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    std::swap(old, slots_);
    for (Slot& slot : old) {
      if (slot.era == era_) slot_of(slot.granule) = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  std::uint64_t era_ = 1;
  std::size_t used_ = 0;
};

}  // namespace ringside::explore
