// SPDX-License-Identifier: Apache-2.0
#include "conform/user_ringbuf_common.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "bpf/conform_user.h"
#include "ring/layout.h"

namespace ringside::conform {

namespace {

constexpr ring::RingKind kind = ring::RingKind::user_ringbuf;

std::uint64_t load_position(const std::byte* page) {
  // Acquire, as any reader of a position: here it costs nothing and orders nothing, for the other side stands still.
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(page), __ATOMIC_ACQUIRE);
}

// base + offset, in arithmetic that wraps.
std::uint64_t position_of(const UserRingbufPages& pages, const Op& op) {
  std::uint64_t base = 0;
  if (value_of(kind, op, Arg::base) == 1) base = pages.producer_pos();
  if (value_of(kind, op, Arg::base) == 2) base = pages.consumer_pos();
  return base + static_cast<std::uint64_t>(value_of(kind, op, Arg::offset));
}

}  // namespace

std::uint64_t UserRingbufPages::consumer_pos() const {
  return load_position(consumer + ring::ringbuf::consumer_pos_offset);
}
std::uint64_t UserRingbufPages::producer_pos() const {
  return load_position(producer + ring::ringbuf::producer_pos_offset);
}

std::uint64_t user_data_bytes(const Script& script, std::uint32_t page_size) {
  assert(script.kind == kind);
  return (std::uint64_t{1} << value_of(kind, script.setup, Arg::pages)) * page_size;
}

Outcome store_header(const UserRingbufPages& pages, const Op& op) {
  const std::uint64_t at = position_of(pages, op) & (pages.size - 1) & ~std::uint64_t{7};
  auto word = static_cast<std::uint32_t>(value_of(kind, op, Arg::length));
  const std::int64_t bits = value_of(kind, op, Arg::bits);
  if ((bits & 1) != 0) word |= ring::ringbuf::discard_bit;
  if ((bits & 2) != 0) word |= ring::ringbuf::busy_bit;
  // Release, as the exchange of an honest commit.
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(pages.data + at), word, __ATOMIC_RELEASE);
  return {};
}

Outcome move_producer(const UserRingbufPages& pages, const Op& op) {
  // Release, as an honest producer stores it.
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(pages.producer + ring::ringbuf::producer_pos_offset),
                   position_of(pages, op), __ATOMIC_RELEASE);
  return {};
}

void show_user_ringbuf(const UserRingbufPages& pages, std::uint64_t poll, View& view) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  static_assert(ring::ringbuf::consumer_pos_offset == 0 && ring::ringbuf::producer_pos_offset == 0);
  view.clear();
  view.numbers.push_back({"consumer_pos", pages.consumer_pos()});
  view.numbers.push_back({"producer_pos", pages.producer_pos()});
  view.numbers.push_back({"poll", poll});
  view.areas.push_back({"data", {pages.data, static_cast<std::size_t>(pages.size)}});
  view.areas.push_back({"consumer_page", {pages.consumer + word, pages.page_size - word}});
  view.areas.push_back({"producer_page", {pages.producer + word, pages.page_size - word}});
}

std::uint64_t HeldSamples::argument(const Op& op, Arg arg) {
  return static_cast<std::uint64_t>(value_of(kind, op, arg));
}

int DrainNotes::take(std::span<const std::byte> sample, std::uint64_t stop) {
  static_assert(std::tuple_size_v<decltype(lengths)> == CONFORM_USER_LENGTHS);
  const auto length = static_cast<std::uint32_t>(sample.size());
  if (samples < lengths.size()) lengths[samples] = length;
  ++samples;
  bytes += ring::ringbuf::span_of(length);
  hash = conform_user_fold(hash, length);
  while (!sample.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = std::min(sample.size(), sizeof(word));
    std::memcpy(&word, sample.data(), taken);
    hash = conform_user_fold(hash, word);
    sample = sample.subspan(taken);
  }
  return (stop != 0 && samples >= stop) || bytes > CONFORM_USER_MOST_BYTES ? 1 : 0;
}

std::vector<std::uint64_t> DrainNotes::details() const {
  std::vector<std::uint64_t> told = {samples, hash};
  const auto listed = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(samples, lengths.size()));
  told.insert(told.end(), lengths.begin(), lengths.begin() + listed);
  return told;
}

}  // namespace ringside::conform
