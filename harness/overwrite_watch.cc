// SPDX-License-Identifier: Apache-2.0
#include "harness/overwrite_watch.h"

#include <span>

#include "real/inspect.h"
#include "ring/layout.h"
#include "ring/record.h"

namespace ringside::harness {

namespace {

namespace rb = ring::ringbuf;

/// Positions are free-running 64-bit counts.
bool is_behind(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b) < 0; }

}  // namespace

OverwriteWatch::OverwriteWatch(const ringside_ring& ring)
    : ring_(ring), start_(real::positions_of(ring).producer), seen_(start_) {}

void OverwriteWatch::look() {
  const real::Positions at = real::positions_of(ring_);
  for (; !records_.empty() && is_behind(records_.front().position, at.overwrite); records_.pop_front()) {
    const Record& record = records_.front();
    if (is_behind(record.position, at.consumer)) continue;
    if (record.empty) {
      ++overwritten_.empties;
    } else {
      overwritten_.add(record.source, record.sequence);
    }
  }
  if (is_behind(seen_, at.overwrite)) {
    overwritten_.known = false;
    seen_ = at.overwrite;
  }
  take_note(at.producer);
}

/// Notes what was committed since the last look. Nothing behind a BUSY record: it is looked at when that is settled.
void OverwriteWatch::take_note(std::uint64_t producer) {
  const auto* const data = static_cast<const std::byte*>(ring_.data);
  while (is_behind(seen_, producer)) {
    const std::byte* const place = data + (seen_ & (ring_.data_size - 1));
    // Acquire, pairs with the exchange of the commit (P10): the payload is visible.
    const std::uint32_t header = __atomic_load_n(reinterpret_cast<const std::uint32_t*>(place), __ATOMIC_ACQUIRE);
    if (rb::is_busy(header)) return;
    if (!rb::is_discarded(header)) {
      const std::span<const std::byte> bytes(place + rb::header_bytes, rb::length_of(header));
      const auto reading = ring::read_record(bytes, 0, [](std::uint16_t, ring::RecordState) { return 0ull; });
      records_.push_back({.position = seen_,
                          .sequence = reading.identity.sequence,
                          .source = reading.identity.source,
                          .empty = bytes.empty()});
    }
    seen_ += rb::span_of(header);
  }
}

void OverwriteWatch::look_at_the_end() { overwritten_.known = !is_behind(start_, real::positions_of(ring_).overwrite); }

}  // namespace ringside::harness
