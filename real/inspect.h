// SPDX-License-Identifier: Apache-2.0
//
// Looking into a ring without touching it: where it stands and what it still holds. Read-only but for the two functions
// that say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <vector>

#include "ring/consumer.h"
#include "ring/judge.h"

namespace ringside::real {

/// The positions of a ring, in bytes since its creation.
struct Positions {
  std::uint64_t consumer = 0;   ///< ringbuf: consumer_pos; perf: data_tail
  std::uint64_t producer = 0;   ///< ringbuf: producer_pos; perf: data_head
  std::uint64_t pending = 0;    ///< ringbuf: pending_pos; perf: data_head
  std::uint64_t overwrite = 0;  ///< ringbuf: overwrite_pos, 0 but for an overwrite ring; perf: 0

  /// Where the readable records begin: at the consumer's position, or where an overwrite ring has lapped it.
  std::uint64_t first_unread() const {
    const bool lapped = overwrite != 0 && static_cast<std::int64_t>(overwrite - consumer) > 0;
    return lapped ? overwrite : consumer;
  }

  friend bool operator==(const Positions&, const Positions&) = default;
};
std::ostream& operator<<(std::ostream& out, const Positions& positions);

/// Thread-safe; acquires what the producers and the consumer released.
Positions positions_of(const ringside_ring& ring);

/// What lies at the consumer's position.
enum class Head : std::uint8_t {
  empty,      ///< nothing
  busy,       ///< a reserved record that is not committed
  discarded,  ///< a discarded record
  committed,  ///< a record to deliver (perf: any record)
  overrun,    ///< the consumer's position is past the producer's
};
Head head_of(const ringside_ring& ring);

/// Whether a consumer that looked now would have something to deliver: a committed record, or a PERF_RECORD_LOST, that
/// only discarded records stand before.
bool has_deliverable(const ringside_ring& ring);

/// Where the committed records end that can be delivered now: behind the last one before the first BUSY record, or at
/// the consumer's position when there is none, or when an overwrite ring overwrote some during the walk. Producers may
/// run; the consumer must not.
std::uint64_t committed_end(const ringside_ring& ring);

/// What a ring holds between the consumer's position and the first BUSY record or the end.
struct Left {
  std::vector<std::uint64_t> by_source;  ///< committed records of each source that carry their source
  std::uint64_t empty = 0;               ///< committed records of length 0: they carry no source
  std::uint64_t discarded = 0;
  std::uint64_t alien = 0;      ///< committed records that are no test records
  std::uint64_t lost_told = 0;  ///< perf: the sum of the PERF_RECORD_LOST not yet consumed
  std::uint64_t busy = 0;       ///< ringbuf: 1 when a BUSY record ended the walk
  bool consistent = true;       ///< false: a header that cannot be ended the walk
};
/// Copies `size` bytes of a perf ring from that position upwards, which wrap at its end; at most data_size.
void copy_wrapped(const ringside_ring& ring, std::uint64_t position, std::byte* to, std::uint64_t size);

/// What one whole perf record of samples of that attr.sample_type (0: RAW) holds.
struct PerfRecordContent {
  std::optional<std::uint64_t> lost;  ///< of a PERF_RECORD_LOST: what it accounts for
  std::span<const std::byte> raw;     ///< of a sample: its raw payload with padding; empty for what is none, or broken
  std::uint64_t time_ns = 0;          ///< of such a sample: when it was taken, if it carries that
};
PerfRecordContent read_perf_record(std::span<const std::byte> record, std::uint64_t sample_type);

/// Walks the ring, whose samples are of that attr.sample_type (perf; 0: RAW), or whose records begin with so many bytes
/// of stamp (ringbuf). Producers may run (what they add during the walk may or may not be seen); the consumer must not.
Left left_in(const ringside_ring& ring, std::uint32_t source_count, std::uint64_t sample_type = 0,
             std::uint32_t stamp_bytes = 0);
/// Adds the second's counts to the first's.
Left& operator+=(Left& sum, const Left& part);

/// Moves the consumer's position to the producer's: consumes everything unseen. Writes; no consumer may run.
void consume_all(const ringside_ring& ring);

/// Sets the consumer's position. Writes; no consumer may run.
void set_consumer_position(const ringside_ring& ring, std::uint64_t position);

}  // namespace ringside::real
