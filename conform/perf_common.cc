// SPDX-License-Identifier: Apache-2.0
#include "conform/perf_common.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "conform/verbs.h"
#include "ring/layout.h"

namespace ringside::conform {

namespace {

constexpr ring::RingKind kind = ring::RingKind::perf;

/// sample_type's bits in the order of the words of `fields`.
constexpr std::uint64_t field_bits[] = {sim::sample_raw,        sim::sample_tid,       sim::sample_time,
                                        sim::sample_id,         sim::sample_stream_id, sim::sample_cpu,
                                        sim::sample_identifier, sim::sample_addr,      sim::sample_period};

std::uint64_t sample_type_of(std::int64_t fields) {
  std::uint64_t type = 0;
  for (std::size_t i = 0; i < std::size(field_bits); ++i) {
    if ((fields >> i & 1) != 0) type |= field_bits[i];
  }
  return type;
}

sim::PerfAttr attr_of(const Op& setup, Arg fields, Arg id_all, Arg watermark, Arg wakeup, Arg backward) {
  const auto threshold = static_cast<std::uint32_t>(value_of(kind, setup, wakeup));
  const bool by_bytes = value_of(kind, setup, watermark) != 0;
  return {.sample_type = sample_type_of(value_of(kind, setup, fields)),
          .sample_id_all = value_of(kind, setup, id_all) != 0,
          .watermark = by_bytes,
          .wakeup_events = by_bytes ? 0 : threshold,
          .wakeup_watermark = by_bytes ? threshold : 0,
          .write_backward = value_of(kind, setup, backward) != 0};
}

std::uint64_t* word_at(const PerfPages& pages, std::uint64_t offset) {
  return reinterpret_cast<std::uint64_t*>(pages.control + offset);
}

// Acquire, pairs with the kernel's publishing: the records below data_head are read after it.
std::uint64_t load(const PerfPages& pages, std::uint64_t offset) {
  return pages.control == nullptr ? 0 : __atomic_load_n(word_at(pages, offset), __ATOMIC_ACQUIRE);
}

// Release: what was read of the ring was read before.
void store(const PerfPages& pages, std::uint64_t offset, std::uint64_t value) {
  __atomic_store_n(word_at(pages, offset), value, __ATOMIC_RELEASE);
}

}  // namespace

PerfSetup perf_setup(const Script& script) {
  const Op& op = script.setup;
  PerfSetup setup;
  setup.attrs[0] = attr_of(op, Arg::fields, Arg::id_all, Arg::watermark, Arg::wakeup, Arg::backward);
  setup.attrs[1] = attr_of(op, Arg::b_fields, Arg::b_id_all, Arg::b_watermark, Arg::b_wakeup, Arg::b_backward);
  setup.pages = pages_of(op);
  setup.readonly = value_of(kind, op, Arg::readonly) != 0;
  return setup;
}

std::uint64_t pages_of(const Op& op) {
  // 1, 2, 4, 0: the words of the argument.
  constexpr std::uint64_t without_data = 3;
  const auto word = static_cast<std::uint64_t>(value_of(kind, op, Arg::pages));
  return word == without_data ? 0 : std::uint64_t{1} << word;
}

std::uint64_t output_flags(const Op& op) {
  // The words of `slot` stand for the slots of that number; the last one is above them all.
  const auto slot = static_cast<std::uint64_t>(value_of(kind, op, Arg::slot));
  return slot | static_cast<std::uint64_t>(value_of(kind, op, Arg::flags)) << 32;
}

std::array<char, 16> comm_of(const Op& op, std::uint64_t ordinal) {
  std::array<char, 16> name{};
  const auto letters = static_cast<std::size_t>(value_of(kind, op, Arg::letters));
  assert(letters < name.size());
  for (std::size_t i = 0; i < letters; ++i) name[i] = static_cast<char>('a' + (ordinal + i) % 26);
  return name;
}

std::uint64_t inner_ordinal(std::uint64_t ordinal) { return ordinal | std::uint64_t{1} << 32; }

Outcome move_tail(const PerfPages& pages, const Op& op) {
  if (!pages.writable) return {.result = perf_nothing_done, .details = {}};
  const std::array<std::uint64_t, 3> bases = {0, load(pages, ring::perf::data_head_offset),
                                              load(pages, ring::perf::data_tail_offset)};
  const auto base = bases[static_cast<std::size_t>(value_of(kind, op, Arg::base))];
  store(pages, ring::perf::data_tail_offset, base + static_cast<std::uint64_t>(value_of(kind, op, Arg::offset)));
  return {};
}

Outcome scribble_head(const PerfPages& pages, const Op& op) {
  if (!pages.writable) return {.result = perf_nothing_done, .details = {}};
  store(pages, ring::perf::data_head_offset, static_cast<std::uint64_t>(value_of(kind, op, Arg::value)));
  return {};
}

// Forward rings are read from data_tail up to data_head, in the order of writing; backward ones from data_head up to
// data_tail, the newest first, so that only all of it can be given back.
Outcome consume_perf(const PerfPages& pages, const Op& op) {
  Outcome outcome;
  const std::uint64_t size = pages.data.size();
  if (!pages.writable || size == 0) return outcome;
  const std::uint64_t head = load(pages, ring::perf::data_head_offset);
  const std::uint64_t tail = load(pages, ring::perf::data_tail_offset);
  const std::uint64_t end = pages.backward ? tail : head;
  std::uint64_t at = pages.backward ? head : tail;
  if (at % 8 != 0 || end % 8 != 0 || end - at > size) return outcome;
  const std::int64_t most = pages.backward ? INT64_MAX : value_of(kind, op, Arg::count);
  while (at != end && outcome.result < most) {
    ring::perf::RecordHeader header{};
    std::memcpy(&header, pages.data.data() + (at & (size - 1)), sizeof(header));
    if (header.size < sizeof(header) || header.size % 8 != 0 || header.size > end - at) break;
    outcome.details.push_back(std::bit_cast<std::uint64_t>(header));
    ++outcome.result;
    at += header.size;
  }
  if (!pages.backward) {
    store(pages, ring::perf::data_tail_offset, at);
  } else if (at == end) {
    store(pages, ring::perf::data_tail_offset, head);
  }
  return outcome;
}

void show_perf(const std::array<PerfShown, perf_events>& events, std::uint64_t time_impossible, View& view) {
  constexpr std::size_t names = 20;
  static constexpr std::array<std::array<std::string_view, names>, perf_events> all_names = {
      {{"a.mappings", "a.count",     "a.lost_read", "a.lost_samples", "a.has_ring",  "a.head",   "a.events",
        "a.wakeup",   "a.lost",      "a.watermark", "a.nest",         "a.poll",      "a.paused", "a.overwrite",
        "a.pages",    "a.data_head", "a.data_tail", "a.data_offset",  "a.data_size", "a.data"},
       {"b.mappings", "b.count",     "b.lost_read", "b.lost_samples", "b.has_ring",  "b.head",   "b.events",
        "b.wakeup",   "b.lost",      "b.watermark", "b.nest",         "b.poll",      "b.paused", "b.overwrite",
        "b.pages",    "b.data_head", "b.data_tail", "b.data_offset",  "b.data_size", "b.data"}}};
  for (std::size_t i = 0; i < perf_events; ++i) {
    const PerfShown& shown = events[i];
    std::array<std::uint64_t, names - 1> values = {shown.mappings, shown.count, shown.lost_read, shown.lost_samples,
                                                   shown.has_ring};
    if (shown.has_ring) {
      const std::array<std::uint64_t, 10> ring = {shown.head,      shown.events,    shown.wakeup, shown.lost,
                                                  shown.watermark, shown.nest,      shown.poll,   shown.paused,
                                                  shown.overwrite, shown.data_pages};
      std::ranges::copy(ring, values.begin() + 5);
    }
    const std::array<std::uint64_t, 4> control = {
        load(shown.pages, ring::perf::data_head_offset), load(shown.pages, ring::perf::data_tail_offset),
        load(shown.pages, ring::perf::data_offset_offset), load(shown.pages, ring::perf::data_size_offset)};
    std::ranges::copy(control, values.begin() + 15);
    for (std::size_t at = 0; at < values.size(); ++at) view.numbers.push_back({all_names[i][at], values[at]});
    view.areas.push_back({all_names[i].back(), shown.pages.data});
  }
  view.numbers.push_back({"time_impossible", time_impossible});
}

}  // namespace ringside::conform
