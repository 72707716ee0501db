// SPDX-License-Identifier: Apache-2.0
//
// The producers' side of the bookkeeping: what a source has done, the numbers that its records carry, and whose record
// lies where in a ring.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "ring/ledger.h"

namespace ringside::sim {

/// A record that a source holds BUSY between two operations.
struct HeldRecord {
  std::uint64_t position = 0;
  std::uint32_t size = 0;
};

/// One source. Used by one operation at a time; only commits_begun is read by others meanwhile.
struct alignas(64) SourceState {
  ring::SourceLedger ledger;
  /// Numbered records whose commit has begun, and so the number of the next. Relaxed: a consumer that has acquired a
  /// record's header, or data_head, sees the increment that came before its release.
  std::atomic<std::uint64_t> commits_begun{0};
  std::uint64_t next_draft = 0;
  std::uint64_t next_doomed = 0;
  std::optional<HeldRecord> held;
  bool active = false;  ///< an operation is under way

  std::uint64_t next_committed() const { return commits_begun.load(std::memory_order_relaxed); }
  void begin_commit() { commits_begun.store(next_committed() + 1, std::memory_order_relaxed); }
  void fail(int positive_errno) { ++ledger.failed[positive_errno]; }
};

/// Whose record stands at a position of a ring: one slot for each place where a record can start. Slots of places that
/// are never used cost no memory.
class SourceJournal {
 public:
  explicit SourceJournal(std::uint64_t ring_size)
      : slots_(static_cast<std::uint16_t*>(std::calloc(ring_size / 8, sizeof(std::uint16_t)))), mask_(ring_size - 1) {}

  /// False when there was no memory for it: not to be used.
  bool valid() const { return slots_ != nullptr; }

  // Relaxed: read when nobody writes.
  void note(std::uint64_t position, std::uint16_t source) {
    __atomic_store_n(&slots_.get()[(position & mask_) / 8], source, __ATOMIC_RELAXED);
  }
  std::uint16_t source_at(std::uint64_t position) const {
    return __atomic_load_n(&slots_.get()[(position & mask_) / 8], __ATOMIC_RELAXED);
  }

 private:
  struct Free {
    void operator()(std::uint16_t* slots) const { std::free(slots); }
  };
  std::unique_ptr<std::uint16_t, Free> slots_;
  std::uint64_t mask_;
};

/// Room in which a context puts records together.
using Scratch = std::vector<std::byte>;

}  // namespace ringside::sim
