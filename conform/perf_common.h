// SPDX-License-Identifier: Apache-2.0
//
// What both sides of perf rings do alike, because user space does it: what the set-up says, the consumer, honest or
// not, and what is shown. Internal to conform/.
//
// What the operations tell:
//   output             result: the helper's return value
//   nested             result: that of the outer output; details: whether the inner one took place, and its result
//   comm, tail, head   result: 0; 1 for a store where no mapping can be written to
//   consume            result: records read; details: the header of each
//   pause, enable, reset, map, redirect, detach
//                      result: 0 or a negative errno; 1 when `map` finds the event mapped twice
//   unmap              result: 0; 1 when the event is not mapped
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "conform/script.h"
#include "conform/side.h"
#include "conform/verbs.h"
#include "sim/perf_state.h"

namespace ringside::conform {

inline constexpr std::size_t perf_events = 2;
inline constexpr std::int64_t perf_nothing_done = 1;
/// Mappings of one event that a script may have at a time.
inline constexpr std::size_t most_mappings = 2;

/// Words of the argument `slot` of output.
enum class PerfSlot : std::uint8_t { a, b, other, empty, outside };

struct PerfSetup {
  std::array<sim::PerfAttr, perf_events> attrs = {};
  std::uint64_t pages = 0;  ///< of data that event a is mapped with
  bool readonly = false;
};
PerfSetup perf_setup(const Script& script);

/// How many pages the argument `pages` says.
std::uint64_t pages_of(const Op& op);
/// `flags` of bpf_perf_event_output: the slot, and bits above it.
std::uint64_t output_flags(const Op& op);
/// The name that `comm` takes, as long as the operation says and another one for each ordinal; zeroes follow it.
std::array<char, 16> comm_of(const Op& op, std::uint64_t ordinal);
/// What distinguishes the payload of the inner output from that of the outer one.
std::uint64_t inner_ordinal(std::uint64_t ordinal);

/// One mapping of a ring as the user has it; without one, all null.
struct PerfPages {
  std::byte* control = nullptr;
  std::span<const std::byte> data;
  bool writable = false;
  bool backward = false;
};

/// The verbs `tail`, `head` and `consume`, by the mapping through which the script stores: one that can be written to,
/// if there is one.
Outcome move_tail(const PerfPages& pages, const Op& op);
Outcome scribble_head(const PerfPages& pages, const Op& op);
Outcome consume_perf(const PerfPages& pages, const Op& op);

/// Side::look of perf rings, over KernelReadiness or ModelReadiness: the sets come before the descriptors, because a
/// poll of a descriptor takes the flag for which a set would report it [KERNEL-RINGS 4.1].
template <class Readiness>
ring::Result<Outcome> look_at_sets_first(Readiness& readiness) {
  Outcome all;
  Op op{.verb = Verb::epoll_wait};
  for (std::int64_t set = 0; set < epoll_sets; ++set) {
    set_value(ring::RingKind::perf, op, Arg::set, set);
    const ring::Result<Outcome> one = readiness.apply(ring::RingKind::perf, op);
    if (!one) return one;
    all.details.push_back(static_cast<std::uint64_t>(one->result));
    all.details.insert(all.details.end(), one->details.begin(), one->details.end());
  }
  op = {.verb = Verb::poll};
  for (std::size_t event = 0; event < perf_events; ++event) {
    set_value(ring::RingKind::perf, op, Arg::event, static_cast<std::int64_t>(event));
    const ring::Result<Outcome> one = readiness.apply(ring::RingKind::perf, op);
    if (!one) return one;
    all.details.push_back(one->details[0]);
  }
  return all;
}

/// Everything that is shown of one event and the ring that it writes to.
struct PerfShown {
  std::uint64_t mappings = 0;
  std::uint64_t count = 0;         ///< what read(2) tells
  std::uint64_t lost_read = 0;     ///< PERF_FORMAT_LOST
  std::uint64_t lost_samples = 0;  ///< the same as the kernel holds it
  bool has_ring = false;           ///< the numbers of a ring are shown only with one
  std::uint64_t head = 0;
  std::uint64_t events = 0;
  std::uint64_t wakeup = 0;
  std::uint64_t lost = 0;
  std::uint64_t watermark = 0;
  std::uint64_t nest = 0;
  std::uint64_t poll = 0;
  std::uint64_t paused = 0;
  std::uint64_t overwrite = 0;
  std::uint64_t data_pages = 0;
  PerfPages pages;  ///< the event's own mapping
};
/// `time_impossible`: records whose time does not lie within their operation.
void show_perf(const std::array<PerfShown, perf_events>& events, std::uint64_t time_impossible, View& view);

}  // namespace ringside::conform
