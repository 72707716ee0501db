// SPDX-License-Identifier: Apache-2.0
//
// The judge: accounts for every record, in one pass and bounded memory.
//
// It holds, per source, the number expected next and, only where deliveries left that order, a bitmap of what has come;
// chunks of the bitmap that are complete are given back. So a faithful consumer costs a few bytes a source, and the
// worst one costs one bit a record: 120 MiB for a billion.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "ring/defect.h"
#include "ring/ledger.h"
#include "ring/overwritten.h"
#include "ring/record.h"
#include "ring/ring_kind.h"

namespace ringside::ring {

/// Where every record of a run went:
/// attempts = delivered + discarded + failed + malformed + left + overwritten + missing.
struct Accounting {
  std::uint64_t attempts = 0;
  std::uint64_t committed = 0;
  std::uint64_t delivered = 0;  ///< deliveries of committed records, each record once
  std::uint64_t discarded = 0;
  std::uint64_t failed = 0;
  std::uint64_t malformed = 0;
  std::uint64_t left = 0;           ///< committed and still in the ring at the end
  std::uint64_t overwritten = 0;    ///< given up by an overwrite ring before the consumer's position had passed them
  std::uint64_t missing = 0;        ///< committed, gone from the ring, never delivered
  std::uint64_t extra = 0;          ///< deliveries of something that is not a record delivered for the first time
  std::uint64_t reported_lost = 0;  ///< sum of the consumer's own loss reports
  std::uint64_t delivered_bytes = 0;

  friend bool operator==(const Accounting&, const Accounting&) = default;
};
std::ostream& operator<<(std::ostream& out, const Accounting& accounting);

/// The outcome of one run.
struct Verdict {
  std::vector<Defect> defects;              ///< at most one a kind, in the order of DefectKind
  std::vector<std::string> not_observable;  ///< what this world could not know, one sentence each
  std::vector<std::string> notes;           ///< true and worth knowing, but no defect
  Accounting accounting;

  bool clean() const { return defects.empty(); }
  bool has(DefectKind kind) const;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};
std::ostream& operator<<(std::ostream& out, const Verdict& verdict);

struct JudgeOptions {
  RingKind kind = RingKind::ringbuf;
  std::uint32_t source_count = 1;
  /// The most numbered records that source may commit in this run: a number at or above it is a phantom at once. This
  /// also bounds the judge's memory against a consumer that invents numbers.
  std::uint64_t max_records_per_source = UINT64_MAX;
  /// Gives how many numbered records that source has reserved so far (monotonic; asked only when a number is new): a
  /// delivery at or above it is a phantom. Empty when the world cannot know before the end.
  std::function<std::uint64_t(std::uint32_t source)> reserved_so_far;
};

/// Not thread-safe: one judge, one thread.
class Judge {
 public:
  explicit Judge(JudgeOptions options);
  ~Judge();
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  /// One delivery. `bytes` are read once, now. Returns how it read, so that a caller can check a held view again.
  RecordReading deliver(std::uint32_t ring, std::span<const std::byte> bytes);

  /// One loss report of the consumer.
  void report_lost(std::uint32_t ring, std::uint64_t count);

  /// A defect that somebody else saw (a position, a wake-up, a view). Counted with its kind.
  void accuse(Defect defect);
  /// A note or a limit of this world, kept once however often it is said.
  void note(std::string sentence);
  void not_observable(std::string sentence);

  /// How many records were delivered so far, whatever they were.
  std::uint64_t deliveries() const;
  /// Bytes of memory the judge holds now.
  std::size_t memory_bytes() const;

  /// The verdict against what the producers say. `left` gives per source the committed records still in its ring
  /// (empty: none), `overwritten` what the ring itself took from the consumer. Call once, when producers and consumer
  /// have ended.
  Verdict finish(const ProducerLedger& ledger, std::span<const std::uint64_t> left = {},
                 const Overwritten& overwritten = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ringside::ring
