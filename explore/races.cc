// SPDX-License-Identifier: Apache-2.0
#include "explore/races.h"

#include <algorithm>
#include <bit>

namespace ringside::explore {

bool Races::conflict(const Entry& entry, const Access& access, std::uint8_t bytes) {
  if ((entry.bytes & bytes) == 0 || !(entry.write || access.write) || (entry.atomic && access.atomic)) return false;
  return !(entry.whole_word && !access.atomic) && !(access.whole_word && !entry.atomic);
}

/// Whoever races with an access that this one covers and happens after races with this one, too.
bool Races::covered(const Entry& entry, const Access& access, std::uint8_t bytes) {
  return (entry.bytes & ~bytes) == 0 && (access.write || !entry.write) && (!access.atomic || entry.atomic) &&
         (!access.whole_word || entry.whole_word);
}

namespace {

/// Those of the access's bytes that lie in the granule, a bit each.
std::uint8_t bytes_in(std::uintptr_t granule, const Access& access) {
  const std::uintptr_t base = granule * granule_bytes;
  const std::uintptr_t first = std::max(access.address, base) - base;
  const std::uintptr_t past = std::min(access.address + access.size_bytes, base + granule_bytes) - base;
  return static_cast<std::uint8_t>(((1u << (past - first)) - 1u) << first);
}

}  // namespace

/// Whether that holds of an entry that has bytes in common with the access. `test` is given the entry, its granule's
/// address, and those of the access's bytes that lie there.
template <class Test>
bool Races::any_entry(const Access& access, Test test) {
  const std::uintptr_t end = access.address + access.size_bytes;
  for (std::uintptr_t granule = access.address / granule_bytes; granule * granule_bytes < end; ++granule) {
    const std::uint8_t bytes = bytes_in(granule, access);
    for (const Entry& entry : granules_.at(granule)) {
      if ((entry.bytes & bytes) != 0 && test(entry, granule * granule_bytes, bytes)) return true;
    }
  }
  return false;
}

std::optional<Race> Races::unknown(const Access& bytes, std::uint8_t threads, const Clock& known) {
  std::optional<Race> last;
  any_entry(bytes, [&](const Entry& entry, std::uintptr_t base, std::uint8_t wanted) {
    const bool counts = entry.is_of(threads) && known[entry.thread] <= entry.time;
    if (counts && !(last && last->earlier.time > entry.time)) last = race_between(entry, base, wanted);
    return false;
  });
  return last;
}

bool Races::would_race(const Access& access, const Clock& known) {
  return any_entry(access, [&](const Entry& entry, std::uintptr_t, std::uint8_t bytes) {
    return !ordered(entry, access, known) && conflict(entry, access, bytes);
  });
}

bool Races::written(const Access& bytes, std::uint8_t threads) {
  return any_entry(bytes, [threads](const Entry& entry, std::uintptr_t, std::uint8_t) {
    return entry.write && entry.is_of(threads);
  });
}

std::optional<Race> Races::note(const Access& access, const Clock& known) {
  const std::uintptr_t end = access.address + access.size_bytes;
  std::optional<Race> race;
  for (std::uintptr_t granule = access.address / granule_bytes; granule * granule_bytes < end; ++granule) {
    const std::uint8_t bytes = bytes_in(granule, access);
    std::vector<Entry>& entries = granules_.at(granule);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Entry entry = entries[i];
      const bool before = ordered(entry, access, known);
      if (!before && !race && conflict(entry, access, bytes))
        race = race_between(entry, granule * granule_bytes, bytes);
      if (!before || !covered(entry, access, bytes)) entries[kept++] = entry;
    }
    entries.resize(kept);
    entries.push_back({.bytes = bytes,
                       .thread = static_cast<std::uint8_t>(access.thread),
                       .atomic = access.atomic,
                       .write = access.write,
                       .whole_word = access.whole_word,
                       .time = static_cast<std::uint16_t>(access.time)});
  }
  return race;
}

Race Races::race_between(const Entry& entry, std::uintptr_t base, std::uint8_t bytes) {
  const auto common = static_cast<std::uint8_t>(entry.bytes & bytes);
  return {.address = base + static_cast<unsigned>(std::countr_zero(common)),
          .size_bytes = static_cast<std::size_t>(std::popcount(common)),
          .earlier = {.address = base,
                      .size_bytes = granule_bytes,
                      .thread = entry.thread,
                      .time = entry.time,
                      .atomic = entry.atomic,
                      .write = entry.write,
                      .whole_word = entry.whole_word}};
}

}  // namespace ringside::explore
