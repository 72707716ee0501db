// SPDX-License-Identifier: Apache-2.0
//
// Settling the accounts: what the producers say against what was delivered.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <numeric>

#include "ring/judge.h"
#include "ring/judge_state.h"

namespace ringside::ring {

namespace {

/// Where the records of one source went that were not delivered.
struct Undelivered {
  std::uint64_t missing = 0;          ///< gone
  std::uint64_t overwritten = 0;      ///< taken by the ring itself
  std::uint64_t left = 0;             ///< still in the ring
  std::uint64_t left_unnumbered = 0;  ///< still in the ring, and zero-length if anything
};

/// How many numbers the ring gave up that did not come all the same: a record may be delivered from a copy, and be
/// overwritten before the position passes it.
std::uint64_t overwritten_of(const SourceTrack& track, const SourceLedger& ledger, std::uint32_t source,
                             const Overwritten& overwritten) {
  if (source >= overwritten.numbers.size()) return 0;
  std::uint64_t count = 0;
  for (std::uint64_t number = track.first_missing(); number < ledger.numbered(); ++number) {
    count += overwritten.contains(source, number) && !track.came(number) ? 1u : 0u;
  }
  return count;
}

/// A source's records lie in the ring in the order of their numbers. So a number below one that came is gone, and what
/// is still in the ring are the newest.
Undelivered undelivered_of(const SourceTrack& track, const SourceLedger& ledger, std::uint64_t left,
                           std::uint32_t source, const Overwritten& overwritten) {
  const std::uint64_t highest = std::min(track.next(), ledger.numbered());
  const std::uint64_t holes = highest - track.came_below(highest);
  const std::uint64_t tail = ledger.numbered() - highest;
  Undelivered result;
  result.left = std::min(left, tail);
  const std::uint64_t gone = holes + tail - result.left;
  result.overwritten = overwritten.known ? std::min(gone, overwritten_of(track, ledger, source, overwritten)) : gone;
  result.missing = gone - result.overwritten;
  result.left_unnumbered = std::min(left - result.left, ledger.empty);
  return result;
}

class Settlement {
 public:
  Settlement(JudgeState& state, const ProducerLedger& ledger, std::span<const std::uint64_t> left,
             const Overwritten& overwritten)
      : state_(state), ledger_(ledger), left_(left), overwritten_(overwritten) {}

  Accounting settle() {
    const std::size_t count = std::max(ledger_.sources.size(), state_.sources.size());
    for (std::uint32_t source = 0; source < count; ++source) settle_source(source);
    settle_empties();
    settle_left();
    settle_overwritten();
    for (const auto& [ring, count_lost] : state_.reported_lost) accounting_.reported_lost += count_lost;
    if (state_.options.kind == RingKind::perf) {
      settle_perf_losses();
    } else {
      settle_ringbuf_losses();
    }
    accounting_.extra = state_.deliveries - accounting_.delivered;
    accounting_.delivered_bytes = state_.delivered_bytes;
    assert(!ledger_balances_ || accounting_.attempts == accounting_.delivered + accounting_.discarded +
                                                            accounting_.failed + accounting_.malformed +
                                                            accounting_.left + accounting_.overwritten +
                                                            accounting_.missing);
    return accounting_;
  }

 private:
  void settle_source(std::uint32_t source);
  void settle_empties();
  void settle_left();
  void settle_overwritten();
  std::uint64_t first_lost(std::uint32_t source, const SourceTrack& track) const;
  void settle_perf_losses();
  void settle_ringbuf_losses();
  void check_balance(std::uint32_t source, const SourceLedger& ledger);

  JudgeState& state_;
  const ProducerLedger& ledger_;
  std::span<const std::uint64_t> left_;
  const Overwritten& overwritten_;
  Accounting accounting_;
  std::uint64_t empties_committed_ = 0;
  std::uint64_t empties_left_ = 0;
  std::uint64_t left_undelivered_ = 0;
  bool ledger_balances_ = true;
};

void Settlement::settle_source(std::uint32_t source) {
  static const SourceLedger idle_ledger;
  static const SourceTrack idle_track;
  const SourceLedger& ledger = source < ledger_.sources.size() ? ledger_.sources[source] : idle_ledger;
  const SourceTrack& track = source < state_.sources.size() ? state_.sources[source] : idle_track;
  const std::uint64_t numbered = ledger.numbered();
  const std::uint64_t came = track.came_below(numbered);
  const std::uint64_t came_beyond = track.came_below(track.next()) - came;
  const Undelivered undelivered =
      undelivered_of(track, ledger, source < left_.size() ? left_[source] : 0, source, overwritten_);
  check_balance(source, ledger);

  if (came_beyond != 0) {
    state_.defects.add(DefectKind::phantom, ledger.ring, source, track.next() - 1, came_beyond, [&] {
      return fmt::format("source {} record {}: its source committed only {}", source, track.next() - 1, numbered);
    });
  }
  if (undelivered.missing != 0) {
    const std::uint64_t first = first_lost(source, track);
    state_.defects.add(DefectKind::lost, ledger.ring, source, first, undelivered.missing, [&] {
      return fmt::format("source {}: {} of {} records never came, the first is record {}", source, undelivered.missing,
                         numbered, first);
    });
  }

  accounting_.attempts += ledger.attempts;
  accounting_.committed += ledger.committed;
  accounting_.delivered += came;
  accounting_.discarded += ledger.discarded;
  accounting_.failed += ledger.failed_total();
  accounting_.malformed += ledger.malformed;
  accounting_.left += ledger.open;
  left_undelivered_ += undelivered.left;
  accounting_.overwritten += undelivered.overwritten;
  accounting_.missing += undelivered.missing;
  empties_committed_ += ledger.empty;
  empties_left_ += undelivered.left_unnumbered;
}

/// The smallest number that neither came nor was overwritten.
std::uint64_t Settlement::first_lost(std::uint32_t source, const SourceTrack& track) const {
  std::uint64_t number = track.first_missing();
  while (track.came(number) || overwritten_.contains(source, number)) ++number;
  return number;
}

/// Zero-length records look all the same, so they are counted over all sources.
void Settlement::settle_empties() {
  const std::uint64_t delivered = std::min(state_.empties, empties_committed_);
  const std::uint64_t left = std::min(empties_left_, empties_committed_ - delivered);
  const std::uint64_t gone = empties_committed_ - delivered - left;
  const std::uint64_t overwritten = overwritten_.known ? std::min(gone, overwritten_.empties) : gone;
  const std::uint64_t missing = gone - overwritten;
  const std::uint64_t extra = state_.empties - delivered;
  if (extra != 0) {
    const DefectKind kind = empties_committed_ == 0 ? DefectKind::phantom : DefectKind::duplicate;
    state_.defects.add(kind, 0, 0, 0, extra, [&] {
      return fmt::format("{} zero-length records were delivered, {} were committed", state_.empties,
                         empties_committed_);
    });
  }
  if (missing != 0) {
    state_.defects.add(DefectKind::lost, 0, 0, 0, missing, [&] {
      return fmt::format("{} of {} zero-length records never came", missing, empties_committed_);
    });
  }
  accounting_.delivered += delivered;
  left_undelivered_ += left;
  accounting_.overwritten += overwritten;
  accounting_.missing += missing;
}

/// A record cannot both have come and lie in the ring still, unless the consumer ended before it gave back the space;
/// which of the two it was, the number of what is left does not say.
void Settlement::settle_left() {
  const std::uint64_t said = std::accumulate(left_.begin(), left_.end(), std::uint64_t{0});
  if (said > left_undelivered_) {
    state_.not_observable.push_back(
        fmt::format("whether {} records came too often: {} are left in the ring, but only {} of these are due",
                    said - left_undelivered_, said, left_undelivered_));
  }
  accounting_.left += left_undelivered_;
}

void Settlement::settle_overwritten() {
  if (overwritten_.known || accounting_.overwritten == 0) return;
  state_.not_observable.push_back(
      fmt::format("which of the {} records that never came the ring overwrote, and which the consumer passed by",
                  accounting_.overwritten));
}

/// The kernel counts each output that found no room, and no other failure, into the next PERF_RECORD_LOST of that ring
/// [2.4, 2.7].
void Settlement::settle_perf_losses() {
  std::map<std::uint32_t, std::uint64_t> due;
  for (const SourceLedger& ledger : ledger_.sources) {
    const auto no_room = ledger.failed.find(ENOSPC);
    if (no_room != ledger.failed.end()) due[ledger.ring] += no_room->second;
  }
  for (std::uint32_t ring = 0; ring < ledger_.unreported_losses.size(); ++ring) {
    const std::uint64_t unreported = ledger_.unreported_losses[ring];
    if (unreported == 0) continue;
    std::uint64_t& count = due[ring];
    count -= std::min(count, unreported);
  }
  for (const auto& [ring, count] : state_.reported_lost) due.try_emplace(ring, 0);
  for (const auto& entry : due) {
    const std::uint32_t ring = entry.first;
    const std::uint64_t count = entry.second;
    const auto report = state_.reported_lost.find(ring);
    const std::uint64_t reported = report == state_.reported_lost.end() ? 0 : report->second;
    if (reported == count) continue;
    const std::uint64_t difference = reported > count ? reported - count : count - reported;
    state_.defects.add(DefectKind::loss_miscounted, ring, 0, 0, difference, [&] {
      return fmt::format("ring {}: {} records reported lost, the kernel counted {}", ring, reported, count);
    });
  }
}

/// A BPF ring has no record of loss [1.5], so whatever a consumer reports is an invention.
void Settlement::settle_ringbuf_losses() {
  for (const auto& entry : state_.reported_lost) {
    const std::uint32_t ring = entry.first;
    const std::uint64_t count = entry.second;
    state_.defects.add(DefectKind::loss_miscounted, ring, 0, 0, count, [&] {
      return fmt::format("ring {}: {} records reported lost, but a BPF ring carries no loss count", ring, count);
    });
  }
  // Who produces into a user ring is told of each failure.
  if (state_.options.kind == RingKind::user_ringbuf) return;
  if (accounting_.failed == 0 && state_.reported_lost.empty()) return;
  state_.not_observable.emplace_back("loss in a BPF ring is told by nobody: only the producer's failure counters know");
}

/// A ledger that does not add up cannot acquit anybody; it is the harness's fault and not the consumer's.
void Settlement::check_balance(std::uint32_t source, const SourceLedger& ledger) {
  const std::uint64_t accounted =
      ledger.committed + ledger.discarded + ledger.failed_total() + ledger.malformed + ledger.open;
  if (ledger.attempts == accounted && ledger.empty <= ledger.committed) return;
  state_.not_observable.push_back(fmt::format(
      "where the records of source {} went: its producer's ledger does not add up, {} attempts but {} outcomes", source,
      ledger.attempts, accounted));
  ledger_balances_ = false;
}

}  // namespace

Verdict Judge::finish(const ProducerLedger& ledger, std::span<const std::uint64_t> left,
                      const Overwritten& overwritten) {
  State& state = *state_;
  assert(!state.finished);
  state.finished = true;
  const std::uint64_t attempts =
      std::accumulate(ledger.sources.begin(), ledger.sources.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const SourceLedger& source) { return sum + source.attempts; });
  state.defects.settle(attempts);
  Verdict verdict;
  verdict.accounting = Settlement(state, ledger, left, overwritten).settle();
  verdict.defects = state.defects.found();
  verdict.not_observable = std::move(state.not_observable);
  verdict.notes = std::move(state.notes);
  return verdict;
}

bool Verdict::has(DefectKind kind) const {
  return std::any_of(defects.begin(), defects.end(), [kind](const Defect& defect) { return defect.kind == kind; });
}

std::string_view name_of(RingKind kind) {
  switch (kind) {
    case RingKind::ringbuf:
      return "ringbuf";
    case RingKind::perf:
      return "perf";
    case RingKind::user_ringbuf:
      return "user_ringbuf";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, const Accounting& accounting) {
  out << accounting.attempts << " attempts = " << accounting.delivered << " delivered + " << accounting.discarded
      << " discarded + " << accounting.failed << " failed + " << accounting.malformed << " malformed + "
      << accounting.left << " left + ";
  if (accounting.overwritten != 0) out << accounting.overwritten << " overwritten + ";
  return out << accounting.missing << " missing; " << accounting.extra << " extra deliveries, "
             << accounting.reported_lost << " reported lost, " << accounting.delivered_bytes << " bytes delivered";
}

std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  out << (verdict.clean() ? "clean" : "defects") << ": " << verdict.accounting;
  for (const Defect& defect : verdict.defects) out << "\n  " << defect;
  for (const std::string& sentence : verdict.not_observable) out << "\n  not observable: " << sentence;
  for (const std::string& sentence : verdict.notes) out << "\n  note: " << sentence;
  return out;
}

}  // namespace ringside::ring
