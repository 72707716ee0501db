// SPDX-License-Identifier: Apache-2.0
//
// The orderings here, all against the kernel (KERNEL-RINGS 5.1, 5.2):
//   (1) acquire of producer_pos or data_head: pairs with the kernel's release; the headers below it are visible.
//   (2) acquire of a record's header: pairs with the exchange of the commit; the payload is visible.
//   (3) acquire of the consumer's position: pairs with the release by which the consumer under test publishes it.
//   (4) release of the consumer's position: pairs with the kernel's acquire of it; our reads are done.
#include "real/inspect.h"

#include <cassert>
#include <cstring>
#include <limits>

#include "ring/layout.h"
#include "ring/record.h"

namespace ringside::real {

namespace {

namespace rb = ring::ringbuf;

const std::byte* bytes_of(const void* memory) { return static_cast<const std::byte*>(memory); }

template <class T>
T load_acquire(const std::byte* place) {
  return __atomic_load_n(reinterpret_cast<const T*>(place), __ATOMIC_ACQUIRE);
}

std::uint64_t* consumer_position(const ringside_ring& ring) {
  const std::uint64_t offset = ring.kind == RINGSIDE_PERF ? ring::perf::data_tail_offset : rb::consumer_pos_offset;
  return reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(ring.consumer_page) + offset);
}

std::uint32_t ringbuf_header(const ringside_ring& ring, std::uint64_t position) {
  return load_acquire<std::uint32_t>(bytes_of(ring.data) + (position & (ring.data_size - 1)));  // (2)
}

/// Counts one committed record. The bytes of a perf record may carry up to 7 bytes of padding.
void count_record(Left& left, std::span<const std::byte> bytes, std::size_t padding) {
  const auto reading = ring::read_record(bytes, padding, [](std::uint16_t, ring::RecordState) { return 0ull; });
  using Kind = ring::RecordReading::Kind;
  if (reading.kind == Kind::empty) {
    ++left.empty;
  } else if (reading.kind == Kind::alien || reading.identity.source >= left.by_source.size()) {
    ++left.alien;
  } else {
    // Also a torn one: what the payload of a short record proves hangs on its number, which is not known here.
    ++left.by_source[reading.identity.source];
  }
}

Left left_in_ringbuf(const ringside_ring& ring, std::uint32_t stamp_bytes, Left left) {
  const Positions at = positions_of(ring);
  for (std::uint64_t position = at.first_unread(); position < at.producer;) {
    const std::uint32_t header = ringbuf_header(ring, position);
    if (rb::is_busy(header)) {
      left.busy = 1;
      break;
    }
    if (position + rb::span_of(header) > at.producer || rb::length_of(header) > rb::max_payload(ring.data_size)) {
      left.consistent = false;
      break;
    }
    if (rb::is_discarded(header)) {
      ++left.discarded;
    } else {
      const std::byte* const payload = bytes_of(ring.data) + ((position + rb::header_bytes) & (ring.data_size - 1));
      const std::span bytes(payload, rb::length_of(header));
      if (bytes.size() < stamp_bytes) {
        ++left.alien;
      } else {
        count_record(left, bytes.subspan(stamp_bytes), 0);
      }
    }
    position += rb::span_of(header);
  }
  return left;
}

void count_perf_record(Left& left, std::span<const std::byte> record, std::uint64_t sample_type) {
  const PerfRecordContent content = read_perf_record(record, sample_type);
  if (content.lost) {
    left.lost_told += *content.lost;
  } else if (content.raw.empty()) {
    ++left.alien;
  } else {
    count_record(left, content.raw, 7);
  }
}

Left left_in_perf(const ringside_ring& ring, std::uint64_t sample_type, Left left) {
  const Positions at = positions_of(ring);
  std::vector<std::byte> record;
  for (std::uint64_t position = at.consumer; position != at.producer;) {
    ring::perf::RecordHeader header{};
    copy_wrapped(ring, position, reinterpret_cast<std::byte*>(&header), sizeof(header));
    if (header.size < sizeof(header) || header.size > at.producer - position) {
      left.consistent = false;
      break;
    }
    record.resize(header.size);
    copy_wrapped(ring, position, record.data(), header.size);
    count_perf_record(left, record, sample_type);
    position += header.size;
  }
  return left;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Positions& positions) {
  return out << "consumer " << positions.consumer << ", producer " << positions.producer << ", pending "
             << positions.pending << ", overwrite " << positions.overwrite;
}

void copy_wrapped(const ringside_ring& ring, std::uint64_t position, std::byte* to, std::uint64_t size) {
  if (size == 0) return;
  const std::uint64_t offset = position & (ring.data_size - 1);
  const std::uint64_t first = std::min(size, ring.data_size - offset);
  std::memcpy(to, bytes_of(ring.data) + offset, first);
  std::memcpy(to + first, ring.data, size - first);
}

PerfRecordContent read_perf_record(std::span<const std::byte> record, std::uint64_t sample_type) {
  PerfRecordContent content;
  ring::perf::RecordHeader header{};
  if (record.size() < sizeof(header)) return content;
  std::memcpy(&header, record.data(), sizeof(header));
  if (header.type == ring::perf::type_lost && record.size() >= ring::perf::lost_bytes) {
    content.lost.emplace();
    std::memcpy(&*content.lost, record.data() + 16, sizeof(*content.lost));
    return content;
  }
  const bool has_time = (sample_type & ring::perf::sample_type_time) != 0;
  const std::uint64_t before_size = ring::perf::header_bytes + (has_time ? sizeof(content.time_ns) : 0);
  std::uint32_t raw_size = 0;
  if (header.type != ring::perf::type_sample || record.size() < before_size + sizeof(raw_size)) return content;
  std::memcpy(&raw_size, record.data() + before_size, sizeof(raw_size));
  const auto rest = record.subspan(before_size + sizeof(raw_size));
  if (raw_size > rest.size()) return content;
  content.raw = rest.first(raw_size);
  if (has_time) std::memcpy(&content.time_ns, record.data() + ring::perf::header_bytes, sizeof(content.time_ns));
  return content;
}

Positions positions_of(const ringside_ring& ring) {
  Positions at;
  at.consumer = __atomic_load_n(consumer_position(ring), __ATOMIC_ACQUIRE);  // (3)
  if (ring.kind == RINGSIDE_PERF) {
    at.producer = load_acquire<std::uint64_t>(bytes_of(ring.consumer_page) + ring::perf::data_head_offset);  // (1)
    at.pending = at.producer;
    return at;
  }
  const std::byte* const page = bytes_of(ring.producer_page);
  // pending_pos first: it never passes the producer_pos that is read after it.
  at.pending = load_acquire<std::uint64_t>(page + rb::pending_pos_offset);
  at.producer = load_acquire<std::uint64_t>(page + rb::producer_pos_offset);  // (1)
  // overwrite_pos after the producer_pos that was stored behind it [1.11].
  at.overwrite = load_acquire<std::uint64_t>(page + rb::overwrite_pos_offset);
  return at;
}

Head head_of(const ringside_ring& ring) {
  const Positions at = positions_of(ring);
  if (at.consumer == at.producer) return Head::empty;
  if (ring.kind == RINGSIDE_PERF) return Head::committed;
  if (at.consumer > at.producer) return Head::overrun;
  const std::uint32_t header = ringbuf_header(ring, at.first_unread());
  if (rb::is_busy(header)) return Head::busy;
  return rb::is_discarded(header) ? Head::discarded : Head::committed;
}

bool has_deliverable(const ringside_ring& ring) {
  const Positions at = positions_of(ring);
  if (ring.kind == RINGSIDE_PERF) return at.consumer != at.producer;
  for (std::uint64_t position = at.first_unread(); position < at.producer;) {
    const std::uint32_t header = ringbuf_header(ring, position);
    if (rb::is_busy(header)) return false;
    if (!rb::is_discarded(header)) return true;
    position += rb::span_of(header);
  }
  return false;
}

std::uint64_t committed_end(const ringside_ring& ring) {
  const Positions at = positions_of(ring);
  if (ring.kind == RINGSIDE_PERF) return at.producer;
  std::uint64_t end = at.consumer;
  for (std::uint64_t position = at.first_unread(); position < at.producer;) {
    const std::uint32_t header = ringbuf_header(ring, position);
    if (rb::is_busy(header)) break;
    position += rb::span_of(header);
    if (!rb::is_discarded(header)) end = position;
  }
  // What was overwritten meanwhile were no headers.
  return positions_of(ring).overwrite == at.overwrite ? end : at.consumer;
}

Left left_in(const ringside_ring& ring, std::uint32_t source_count, std::uint64_t sample_type,
             std::uint32_t stamp_bytes) {
  Left left;
  left.by_source.resize(source_count);
  return ring.kind == RINGSIDE_PERF ? left_in_perf(ring, sample_type, std::move(left))
                                    : left_in_ringbuf(ring, stamp_bytes, std::move(left));
}

Left& operator+=(Left& sum, const Left& part) {
  if (sum.by_source.size() < part.by_source.size()) sum.by_source.resize(part.by_source.size());
  for (std::size_t source = 0; source < part.by_source.size(); ++source) {
    sum.by_source[source] += part.by_source[source];
  }
  sum.empty += part.empty;
  sum.discarded += part.discarded;
  sum.alien += part.alien;
  sum.lost_told += part.lost_told;
  sum.busy += part.busy;
  sum.consistent = sum.consistent && part.consistent;
  return sum;
}

void set_consumer_position(const ringside_ring& ring, std::uint64_t position) {
  __atomic_store_n(consumer_position(ring), position, __ATOMIC_RELEASE);  // (4)
}

void consume_all(const ringside_ring& ring) { set_consumer_position(ring, positions_of(ring).producer); }

}  // namespace ringside::real
