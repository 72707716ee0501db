// SPDX-License-Identifier: Apache-2.0
//
// Finds data races, byte by byte: of each byte's accesses those that a later one may still race with.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "explore/clock.h"
#include "explore/granules.h"

namespace ringside::explore {

struct Access {
  std::uintptr_t address = 0;
  std::size_t size_bytes = 0;
  std::size_t thread = 0;
  std::size_t time = 0;  ///< how many events its thread had added before; for an event, itself not among them
  bool atomic = false;
  bool write = false;
  bool whole_word = false;  ///< what a plain write of a part of a word stands for; races with atomic accesses alone
};

/// The bytes that two accesses race for, and the earlier of the two.
struct Race {
  std::uintptr_t address = 0;
  std::size_t size_bytes = 0;
  Access earlier;
};

class Races {
 public:
  void clear() { granules_.clear(); }

  /// Notes the access, which happens after what `known` knows; the first race with an earlier one, if there is one.
  std::optional<Race> note(const Access& access, const Clock& known);
  /// Whether the access, which happens after what `known` knows, would race with an earlier one.
  bool would_race(const Access& access, const Clock& known);
  /// Whether one of `threads`, a bit each, has written any of those bytes.
  bool written(const Access& bytes, std::uint8_t threads);
  /// The last access of any of those bytes by one of `threads`, a bit each, that `known` does not know.
  std::optional<Race> unknown(const Access& bytes, std::uint8_t threads, const Clock& known);

 private:
  struct Entry {
    std::uint8_t bytes = 0;  ///< of the granule, a bit each
    std::uint8_t thread = 0;
    bool atomic = false;
    bool write = false;
    bool whole_word = false;
    std::uint16_t time = 0;

    bool is_of(std::uint8_t threads) const { return (threads >> thread & 1u) != 0; }
  };

  /// The entry happens before the access, which happens after what `known` knows.
  static bool ordered(const Entry& entry, const Access& access, const Clock& known) {
    return entry.thread == access.thread || known[entry.thread] > entry.time;
  }
  template <class Test>
  bool any_entry(const Access& access, Test test);
  static bool conflict(const Entry& entry, const Access& access, std::uint8_t bytes);
  static bool covered(const Entry& entry, const Access& access, std::uint8_t bytes);
  static Race race_between(const Entry& entry, std::uintptr_t base, std::uint8_t bytes);

  Granules<std::vector<Entry>> granules_;
};

}  // namespace ringside::explore
