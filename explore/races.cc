// SPDX-License-Identifier: Apache-2.0
#include "explore/races.h"

#include <algorithm>
#include <bit>

namespace ringside::explore {

std::optional<Race> Races::note(const Access& access, const Clock& known) {
  constexpr std::uintptr_t granule_bytes = 8;
  const std::uintptr_t end = access.address + access.size_bytes;
  std::optional<Race> race;
  for (std::uintptr_t granule = access.address / granule_bytes; granule * granule_bytes < end; ++granule) {
    const std::uintptr_t base = granule * granule_bytes;
    const std::uintptr_t first = std::max(access.address, base) - base;
    const std::uintptr_t past = std::min(end, base + granule_bytes) - base;
    const auto bytes = static_cast<std::uint8_t>(((1u << (past - first)) - 1u) << first);
    std::vector<Entry>& entries = granules_[granule];
    for (const Entry& entry : entries) {
      const auto common = static_cast<std::uint8_t>(entry.bytes & bytes);
      const bool none = (entry.whole_word && !access.atomic) || (access.whole_word && !entry.atomic);
      const bool conflict = !none && common != 0 && (entry.write || access.write) && !(entry.atomic && access.atomic);
      if (race || !conflict || entry.thread == access.thread || known[entry.thread] > entry.time) continue;
      race = Race{.address = base + static_cast<unsigned>(std::countr_zero(common)),
                  .size_bytes = static_cast<std::size_t>(std::popcount(common)),
                  .earlier = {.address = base,
                              .size_bytes = granule_bytes,
                              .thread = entry.thread,
                              .time = entry.time,
                              .atomic = entry.atomic,
                              .write = entry.write,
                              .whole_word = entry.whole_word}};
    }
    // Whoever races with an access that this one covers and happens after races with this one, too.
    std::erase_if(entries, [&](const Entry& entry) {
      const bool covered = (entry.bytes & ~bytes) == 0 && (access.write || !entry.write) &&
                           (!access.atomic || entry.atomic) && (!access.whole_word || entry.whole_word);
      return covered && (entry.thread == access.thread || known[entry.thread] > entry.time);
    });
    entries.push_back({.bytes = bytes,
                       .thread = static_cast<std::uint8_t>(access.thread),
                       .atomic = access.atomic,
                       .write = access.write,
                       .whole_word = access.whole_word,
                       .time = static_cast<std::uint32_t>(access.time)});
  }
  return race;
}

}  // namespace ringside::explore
