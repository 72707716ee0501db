// SPDX-License-Identifier: Apache-2.0
//
// What the kernel's side knows of one perf ring and of one event that writes to it (KERNEL-RINGS 2.3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ring/layout.h"
#include "sim/rule.h"

namespace ringside::sim {

/// Bits of attr.sample_type that the model can write, in the order in which their fields stand in a sample [2.8].
inline constexpr std::uint64_t sample_ip = 1u << 0;
inline constexpr std::uint64_t sample_tid = 1u << 1;
inline constexpr std::uint64_t sample_time = 1u << 2;
inline constexpr std::uint64_t sample_addr = 1u << 3;
inline constexpr std::uint64_t sample_id = 1u << 6;
inline constexpr std::uint64_t sample_cpu = 1u << 7;
inline constexpr std::uint64_t sample_period = 1u << 8;
inline constexpr std::uint64_t sample_stream_id = 1u << 9;
inline constexpr std::uint64_t sample_raw = 1u << 10;
inline constexpr std::uint64_t sample_identifier = 1u << 16;
inline constexpr std::uint64_t sample_known = sample_ip | sample_tid | sample_time | sample_addr | sample_id |
                                              sample_cpu | sample_period | sample_stream_id | sample_raw |
                                              sample_identifier;

/// The part of perf_event_attr that the ring cares about.
struct PerfAttr {
  std::uint64_t sample_type = sample_raw;
  bool sample_id_all = false;
  bool watermark = false;              ///< attr.watermark: the next field counts bytes instead of events
  std::uint32_t wakeup_events = 1;     ///< when watermark is false; 0: only the half-buffer watermark [2.9]
  std::uint32_t wakeup_watermark = 0;  ///< bytes, when watermark is true; 0: half the buffer
  bool write_backward = false;

  /// Whether samples are counted for a wake-up [2.9].
  bool counts_events() const { return !watermark && wakeup_events != 0; }
};

/// One event. All zero at first but for attr and id.
struct PerfEventState {
  PerfAttr attr = {};
  std::uint64_t id = 0;
  std::uint64_t lost_samples = 0;  ///< what PERF_FORMAT_LOST reads [2.7]; never reset
};

/// Where an output stands right after a store that an interrupt, or a watched word, can tell apart [5.2].
enum class PerfPoint : std::uint8_t {
  none,
  entered,    ///< nest has been raised, and nothing read yet
  reserved,   ///< head has moved, and nothing is written yet
  published,  ///< data_head is stored, and nest not yet reset
  left,       ///< nest is 0, and head not yet looked at again
};

/// One ring. Written by one CPU at a time, interrupts included; `poll` is shared with whoever polls.
struct PerfRingState {
  std::uint64_t* data_head = nullptr;
  std::uint64_t* data_tail = nullptr;
  std::byte* data = nullptr;    ///< mapped once: what is written wraps
  std::uint64_t size = 0;       ///< bytes of the data area: a power of two, or 0 for a ring that stores nothing [2.1]
  std::uint32_t page_size = 0;  ///< bytes
  std::uint64_t owner_id = 0;   ///< of the event that was mapped; the kernel writes it nowhere

  bool overwrite = false;
  bool backward = false;
  bool paused = false;

  std::uint64_t head = 0;
  std::uint32_t nest = 0;
  std::int64_t events = 0;
  std::uint64_t wakeup = 0;  ///< a byte stamp and a count at once, as the kernel has it [2.9]
  std::uint64_t lost = 0;
  std::uint64_t watermark = 0;  ///< bytes
  std::uint32_t poll = 0;

  std::uint64_t mask() const { return size - 1; }
};

/// Bytes of the id trailer of a record that is no sample [2.7].
constexpr std::uint64_t id_trailer_bytes(std::uint64_t sample_type) {
  std::uint64_t fields = 0;
  for (const std::uint64_t bit :
       {sample_tid, sample_time, sample_identifier, sample_id, sample_stream_id, sample_cpu}) {
    if ((sample_type & bit) != 0) ++fields;
  }
  return 8 * fields;
}

/// Bytes of a LOST record that the event writes [2.7].
template <class Memory>
constexpr std::uint64_t lost_record_bytes(const PerfEventState& event) {
  const bool trailer = event.attr.sample_id_all && !Memory::breaks(Rule::perf_lost_trailer);
  return ring::perf::lost_bytes + (trailer ? id_trailer_bytes(event.attr.sample_type) : 0);
}

/// The watermark of a new ring, 0 for one without data [2.3].
constexpr std::uint64_t initial_watermark(const PerfAttr& attr, std::uint64_t data_size) {
  if (attr.watermark && attr.wakeup_watermark != 0) {
    return attr.wakeup_watermark < data_size ? attr.wakeup_watermark : data_size;
  }
  return data_size / 2;
}

}  // namespace ringside::sim
