// SPDX-License-Identifier: Apache-2.0
//
// Whose the bytes of a ring's data are, lap by lap. The consumer hands bytes back by a store to its position; a
// producer claims them for the next lap by a store to its own, and writes them before or after. What an execution has
// no second lap for is seen all the same: bytes that were handed back may be written at once, and bytes of this lap
// that nobody wrote are whatever the last one left.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explore/clock.h"
#include "explore/granules.h"
#include "explore/program.h"
#include "explore/races.h"

namespace ringside::explore {

/// What a failure says of a ring.
struct RingSpan {
  std::string ring = {};
  std::uint64_t from = 0;  ///< positions: handed back, claimed, or committed and not consumed
  std::uint64_t to = 0;
  std::uint64_t position = 0;    ///< of the first byte that was accessed too late, or was not written
  std::uint64_t size_bytes = 0;  ///< how many of them
  bool under_way = false;        ///< they were accessed before they were handed back, which need not be over by then

  friend bool operator==(const RingSpan&, const RingSpan&) = default;
};

/// A store that moves a position word on: by whom, as which of its events, and from where to where.
struct Passing {
  std::size_t thread = 0;
  std::size_t time = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;

  bool known_to(const Clock& clock) const { return clock[thread] > time; }
};

/// Bytes that an access of them should not have met.
struct LapFault {
  enum class Kind : std::uint8_t {
    handed_back,  ///< by `passing`, and not written anew since by any kernel that the access knows of
    unwritten,    ///< claimed by `passing`, but not written
    unclaimed,    ///< nobody claimed them in this execution
  };
  Kind kind = Kind::handed_back;
  std::size_t ring = 0;
  std::uint64_t position = 0;  ///< of the first of them
  std::uint64_t size_bytes = 0;
  Passing passing = {};
};

/// Of one execution. Addresses are those where memory is accounted for.
class Laps {
 public:
  /// `data`: by ring, where its first byte is accounted for.
  void set_rings(const std::vector<Ring>& rings, const std::vector<std::uintptr_t>& data);
  /// Everything is as the program's begin left it: what lies between the two positions is written.
  void begin();

  /// The consumer's position passes; where to where is left of it: not beyond what was claimed, and one lap at most.
  /// Nothing, where it moved backwards or nowhere.
  std::optional<Passing> hand_back(std::size_t ring, Passing passing);
  /// A producer's position passes; `known` to its store.
  void claim(std::size_t ring, const Passing& passing, const Clock& known);
  /// Whether they are bytes of a ring.
  bool holds(const Access& access) const {
    return std::any_of(states_.begin(), states_.end(), [&](const State& state) {
      return access.address < state.data + state.ring.size_bytes && state.data < access.address + access.size_bytes;
    });
  }
  /// The kernel writes.
  void write(const Access& access, const Clock& known);
  /// Somebody else accesses.
  std::optional<LapFault> use(const Access& access, const Clock& known);

  /// The first ring whose positions, as memory holds them, have something between them.
  std::optional<RingSpan> unconsumed() const;
  /// Where the positions lie in memory: one piece, or two where they wrap; else the second has no bytes.
  std::array<Access, 2> places_of(std::size_t ring, const Passing& passing) const;
  /// Of those positions the one that lies at the address.
  std::uint64_t position_of(std::size_t ring, const Passing& passing, std::uintptr_t address) const;

 private:
  struct Byte {
    std::uint32_t handed_back = 0;  ///< the passing's number, from 1 on; 0: not, or taken again
    std::uint32_t claimed = 0;      ///< as above, in this lap
    bool met = false;               ///< in this execution
    bool unwritten = false;         ///< in this lap
  };
  struct Bytes {
    std::array<Byte, granule_bytes> all{};
    void clear() {
      for (Byte& byte : all) byte.met = false;
    }
  };
  struct State {
    Ring ring;
    std::uintptr_t data = 0;
    std::uint64_t consumed = 0;  ///< when it began
    std::uint64_t produced = 0;
    std::uint64_t claimed = 0;   ///< the furthest so far
    Granules<Bytes> bytes = {};  ///< rings may be large, and what is met of them is little
    std::vector<Passing> passings = {};
  };

  template <class With>
  static void for_each_byte(State& state, std::uint64_t offset, std::uint64_t count, With with);
  State* state_of(std::uintptr_t address);
  static std::optional<LapFault::Kind> fault_of(const State& state, const Byte& byte, bool write, const Clock& known);

  std::vector<State> states_;
};

}  // namespace ringside::explore
