// SPDX-License-Identifier: Apache-2.0
//
// What the tables of verbs are put together from. Internal to conform/: the tables themselves are read by verbs_of().
#pragma once

#include <limits>
#include <vector>

#include "conform/script.h"

namespace ringside::conform {

inline constexpr std::string_view no_or_yes[] = {"no", "yes"};
/// When every descriptor is polled and every epoll set asked: only by operations that say so, or after each operation.
inline constexpr std::string_view look_words[] = {"asked", "always"};
inline constexpr std::string_view page_words[] = {"1", "2", "4"};
inline constexpr std::string_view fate_words[] = {"submit", "discard"};
/// What a position is counted from.
inline constexpr std::string_view base_words[] = {"zero", "producer", "consumer"};
inline constexpr std::string_view trigger_words[] = {"level", "edge"};

constexpr ArgSpec number_arg(Arg arg, std::string_view name, std::int64_t least, std::int64_t most) {
  return {arg, name, ArgSpec::Type::number, least, most, {}};
}
/// A number about which the size of the ring matters.
constexpr ArgSpec bytes_arg(Arg arg, std::string_view name, std::int64_t least, std::int64_t most) {
  return {arg, name, ArgSpec::Type::bytes, least, most, {}};
}
constexpr ArgSpec words_arg(Arg arg, std::string_view name, std::span<const std::string_view> words) {
  return {arg, name, ArgSpec::Type::words, 0, static_cast<std::int64_t>(words.size()) - 1, words};
}
constexpr ArgSpec bits_arg(Arg arg, std::string_view name, std::span<const std::string_view> words) {
  return {arg, name, ArgSpec::Type::bits, 0, (std::int64_t{1} << words.size()) - 1, words};
}

constexpr ArgSpec offset_arg() {
  return bytes_arg(Arg::offset, "offset", std::numeric_limits<std::int64_t>::min(),
                   std::numeric_limits<std::int64_t>::max());
}

/// Epoll sets of one script, numbered from 0.
inline constexpr std::int64_t epoll_sets = 2;
/// Records that may be held open at once, numbered from 0.
inline constexpr std::int64_t held_slots = 3;
/// The most payload bytes of one operation.
inline constexpr std::int64_t most_payload = 1 << 17;

/// The verbs about readiness, for rings that are one descriptor, or (perf) one for each event.
std::vector<VerbSpec> readiness_verbs(bool names_event);

std::span<const VerbSpec> ringbuf_verbs();
std::span<const VerbSpec> user_ringbuf_verbs();
std::span<const VerbSpec> perf_verbs();

}  // namespace ringside::conform
