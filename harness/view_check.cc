// SPDX-License-Identifier: Apache-2.0
#include "harness/view_check.h"

#include <fmt/format.h>

#include "ring/layout.h"

namespace ringside::harness {

namespace {

using ring::Defect;
using ring::DefectKind;

/// Positions are free-running 64-bit counts: which of two is behind is a matter of their signed difference.
bool is_behind(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b) < 0; }

std::uint64_t mapped_bytes(const ringside_ring& ring) {
  return ring.kind == RINGSIDE_RINGBUF ? 2 * ring.data_size : ring.data_size;
}

/// Of the record's first byte from the start of the data; at or above mapped_bytes for memory that is not the ring's.
std::uint64_t offset_in(const ringside_ring& ring, const ringside_record& record) {
  return static_cast<std::uint64_t>(static_cast<const char*>(record.data) - static_cast<const char*>(ring.data));
}

/// The first position at or after `position` that has that offset.
std::uint64_t first_from(std::uint64_t position, std::uint64_t offset, const ringside_ring& ring) {
  return position + ((offset - position) & (ring.data_size - 1));
}

Defect defect(DefectKind kind, std::uint32_t ring, std::string detail) {
  return {.kind = kind, .ring = ring, .detail = std::move(detail)};
}

}  // namespace

ViewCheck::Seen& ViewCheck::seen(std::uint32_t ring) {
  if (ring >= seen_.size()) seen_.resize(ring + std::size_t{1});
  Seen& entry = seen_[ring];
  if (!entry.known) {
    const RingPositions at = world_.positions(ring);
    entry = {.consumer_at_call = at.consumer, .consumer = at.consumer, .producer = at.producer, .known = true};
  }
  return entry;
}

void ViewCheck::begin_call() {
  for (std::uint32_t ring = 0; ring < world_.ring_count(); ++ring) {
    seen(ring).consumer_at_call = world_.positions(ring).consumer;
  }
}

std::optional<Defect> ViewCheck::check(const ringside_record& record) {
  const ringside_ring& ring = world_.ring(record.ring);
  if (record.size > ring.data_size) {
    return defect(DefectKind::out_of_bounds, record.ring,
                  fmt::format("a record of {} bytes from a ring of {}", record.size, ring.data_size));
  }
  const std::uint64_t mapped = mapped_bytes(ring);
  const std::uint64_t offset = offset_in(ring, record);
  if (offset >= mapped || record.size == 0) return std::nullopt;
  if (record.size > mapped - offset) {
    return defect(DefectKind::out_of_bounds, record.ring,
                  fmt::format("a view of {} bytes at data offset {} ends behind the mapping", record.size, offset));
  }
  // There the whole lap is published, and what is written over is told by its bytes.
  if (world_.rings().backward != 0) return std::nullopt;
  Seen& entry = seen(record.ring);
  const std::uint64_t consumer = world_.positions(record.ring).consumer;
  const std::uint64_t position = first_from(consumer, offset, ring);
  const std::uint64_t end = position + record.size;
  if (is_behind(entry.producer, end)) entry.producer = world_.positions(record.ring).producer;
  if (!is_behind(entry.producer, end)) return std::nullopt;
  const std::uint64_t handed_back = position - ring.data_size;
  if (!is_behind(handed_back, entry.consumer_at_call)) {
    return defect(DefectKind::use_after_release, record.ring,
                  fmt::format("a view of {} bytes at position {} was handed out after consumer position {} gave its "
                              "space back",
                              record.size, handed_back, consumer));
  }
  return defect(DefectKind::out_of_bounds, record.ring,
                fmt::format("a view of {} bytes at position {} ends {} bytes behind what is published", record.size,
                            position, end - entry.producer));
}

std::optional<Defect> ViewCheck::check_ring(std::uint32_t told, const ring::RecordReading& reading) const {
  if (reading.kind != ring::RecordReading::Kind::proven || reading.identity.source >= world_.source_count()) {
    return std::nullopt;
  }
  const std::uint32_t written = world_.ring_of(reading.identity.source);
  if (written == told) return std::nullopt;
  return defect(DefectKind::protocol, told,
                fmt::format("a record of ring {} was delivered as one of ring {}", written, told));
}

std::optional<std::uint64_t> ViewCheck::position_of(const ringside_record& record) const {
  const ringside_ring& ring = world_.ring(record.ring);
  const std::uint64_t offset = offset_in(ring, record);
  if (offset >= mapped_bytes(ring) || world_.rings().backward != 0) return std::nullopt;
  return first_from(world_.positions(record.ring).consumer, offset, ring);
}

std::optional<Defect> ViewCheck::check_positions() {
  for (std::uint32_t index = 0; index < world_.ring_count(); ++index) {
    Seen& entry = seen(index);
    // The consumer's position first: the producer's only grows meanwhile.
    const RingPositions at = world_.positions(index);
    const std::uint64_t before = entry.consumer;
    entry.consumer = at.consumer;
    entry.producer = at.producer;
    if (is_behind(at.consumer, before)) {
      return defect(DefectKind::position_regressed, index,
                    fmt::format("the consumer position went from {} back to {}", before, at.consumer));
    }
    if (is_behind(at.producer, at.consumer)) {
      return defect(DefectKind::position_overrun, index,
                    fmt::format("the consumer position {} is past the producer position {}", at.consumer, at.producer));
    }
  }
  return std::nullopt;
}

std::vector<std::uint64_t> ViewCheck::consumer_positions() const {
  std::vector<std::uint64_t> positions;
  for (std::uint32_t index = 0; index < world_.ring_count(); ++index) {
    positions.push_back(world_.positions(index).consumer);
  }
  return positions;
}

}  // namespace ringside::harness
