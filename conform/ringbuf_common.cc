// SPDX-License-Identifier: Apache-2.0
#include "conform/ringbuf_common.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>

#include "conform/verbs.h"
#include "ring/layout.h"

namespace ringside::conform {

namespace {

constexpr ring::RingKind kind = ring::RingKind::ringbuf;

// Acquire: pairs with the producer's release of its position and exchange of a header; what lies below is then whole.
template <class T>
T load_acquire(const std::byte* place) {
  return __atomic_load_n(reinterpret_cast<const T*>(place), __ATOMIC_ACQUIRE);
}

// Release: what the consumer read comes before the space is handed back.
void store_consumer_pos(const RingbufPages& pages, std::uint64_t position) {
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(pages.consumer + ring::ringbuf::consumer_pos_offset), position,
                   __ATOMIC_RELEASE);
}

// Where an honest consumer starts to read; `producer` when no honest one can stand where consumer_pos is.
std::uint64_t start_of(const RingbufPages& pages, std::uint64_t producer) {
  const std::uint64_t consumer = pages.consumer_pos();
  if (consumer % 8 != 0 || static_cast<std::int64_t>(producer - consumer) < 0) return producer;
  const std::uint64_t start = pages.overwrite ? std::max(consumer, pages.overwrite_pos()) : consumer;
  return producer - start <= pages.size ? start : producer;
}

}  // namespace

std::uint64_t RingbufPages::consumer_pos() const {
  return load_acquire<std::uint64_t>(consumer + ring::ringbuf::consumer_pos_offset);
}
std::uint64_t RingbufPages::producer_pos() const {
  return load_acquire<std::uint64_t>(producer + ring::ringbuf::producer_pos_offset);
}
std::uint64_t RingbufPages::pending_pos() const {
  return load_acquire<std::uint64_t>(producer + ring::ringbuf::pending_pos_offset);
}
std::uint64_t RingbufPages::overwrite_pos() const {
  return load_acquire<std::uint64_t>(producer + ring::ringbuf::overwrite_pos_offset);
}

RingbufSetup ringbuf_setup(const Script& script, std::uint32_t page_size) {
  assert(script.kind == kind);
  const auto pages = std::uint64_t{1} << value_of(kind, script.setup, Arg::pages);
  return {.data_size = pages * page_size, .overwrite = value_of(kind, script.setup, Arg::overwrite) != 0};
}

std::uint64_t constant_size_of(const Op& op) {
  const VerbSpec& spec = spec_of(kind, Verb::reserve);
  const auto arg = std::ranges::find(spec.args, Arg::size, &ArgSpec::arg);
  const std::string_view word = arg->words[static_cast<std::size_t>(value_of(kind, op, Arg::size))];
  std::uint64_t size = 0;
  std::from_chars(word.data(), word.data() + word.size(), size);
  return size;
}

std::uint64_t bytes_written(const Op& op, std::uint64_t size) {
  switch (static_cast<Write>(value_of(kind, op, Arg::write))) {
    case Write::nothing:
      return 0;
    case Write::half:
      return size / 2;
    case Write::all:
      return size;
  }
  return 0;
}

std::uint64_t nested_ordinal(std::uint64_t ordinal, std::uint64_t index) { return ordinal + ((index + 1) << 32); }

Outcome move_consumer(const RingbufPages& pages, const Op& op) {
  std::uint64_t base = 0;
  if (value_of(kind, op, Arg::base) == 1) base = pages.producer_pos();
  if (value_of(kind, op, Arg::base) == 2) base = pages.consumer_pos();
  store_consumer_pos(pages, base + static_cast<std::uint64_t>(value_of(kind, op, Arg::offset)));
  return {};
}

Outcome consume(const RingbufPages& pages, const Op& op) {
  Outcome outcome;
  const std::uint64_t producer = pages.producer_pos();
  const std::uint64_t start = start_of(pages, producer);
  std::uint64_t at = start;
  const std::int64_t most = value_of(kind, op, Arg::count);
  while (at != producer && outcome.result < most) {
    const std::byte* place = pages.data + (at & (pages.size - 1));
    const auto header = load_acquire<std::uint32_t>(place);
    if (ring::ringbuf::is_busy(header)) break;
    // A consumer_pos that lied once may stand inside a record: what is no header leads nowhere.
    if (ring::ringbuf::span_of(header) > producer - at) break;
    if (!ring::ringbuf::is_discarded(header)) {
      const std::uint32_t length = ring::ringbuf::length_of(header);
      outcome.details.push_back(length);
      outcome.details.push_back(hash_of({place + ring::ringbuf::header_bytes, length}));
      ++outcome.result;
    }
    at += ring::ringbuf::span_of(header);
  }
  if (at != start) store_consumer_pos(pages, at);
  return outcome;
}

void show_ringbuf(const RingbufPages& pages, std::uint64_t poll, View& view) {
  view.clear();
  view.numbers.push_back({"consumer_pos", pages.consumer_pos()});
  view.numbers.push_back({"producer_pos", pages.producer_pos()});
  view.numbers.push_back({"pending_pos", pages.pending_pos()});
  view.numbers.push_back({"overwrite_pos", pages.overwrite_pos()});
  view.numbers.push_back({"poll", poll});
  constexpr std::uint64_t word = sizeof(std::uint64_t);
  const std::uint64_t after_consumer = ring::ringbuf::consumer_pos_offset + word;
  const std::uint64_t after_producer = ring::ringbuf::overwrite_pos_offset + word;
  view.areas.push_back({"data", {pages.data, static_cast<std::size_t>(pages.size)}});
  view.areas.push_back({"consumer_page", {pages.consumer + after_consumer, pages.page_size - after_consumer}});
  view.areas.push_back({"producer_page", {pages.producer + after_producer, pages.page_size - after_producer}});
}

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ull;
  std::uint64_t hash = bytes.size() * odd;
  const auto take = [&](std::uint64_t word) {
    hash = (hash ^ word) * odd;
    hash ^= hash >> 29;
  };
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    take(word);
    bytes = bytes.subspan(sizeof(word));
  }
  for (const std::byte byte : bytes) take(std::to_integer<std::uint64_t>(byte));
  return hash;
}

}  // namespace ringside::conform
