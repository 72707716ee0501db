// SPDX-License-Identifier: Apache-2.0
//
// The judge's promise: a clean stream of deliveries is never convicted, and a stream with any single corruption always
// is, by the right name. Streams are random interleavings of sources, sizes and rings of both kinds, with zero-length
// records between and records left in the ring at the end.
//
// Records of 1 to 15 bytes carry few proofs of themselves, so a corrupted one may be called by another name (a changed
// number makes a gap and a repetition), but it never passes.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cerrno>
#include <ostream>
#include <vector>

#include "ring/judge.h"
#include "ring/layout.h"

namespace ringside::ring {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t header_bytes = RINGSIDE_RECORD_HEADER_BYTES;

/// One delivery of the faithful stream.
struct Delivery {
  RecordIdentity identity;  ///< of length 0: a zero-length record
  Bytes bytes;

  bool is_long() const { return identity.length >= header_bytes; }
};

/// What was produced, and what a faithful consumer delivers of it.
struct Run {
  RingKind kind = RingKind::ringbuf;
  std::uint32_t source_count = 1;
  bool bounded = false;  ///< the judge is told how many records there can be
  std::vector<Delivery> deliveries;
  std::vector<std::uint64_t> left;
  ProducerLedger ledger;
  std::vector<std::uint64_t> reports;  ///< of loss, in ring 0

  std::size_t padding() const { return kind == RingKind::perf ? 7 : 0; }
};

std::ostream& operator<<(std::ostream& out, const Run& run) {
  out << name_of(run.kind) << ", " << run.source_count << " sources" << (run.bounded ? ", bounded:" : ":");
  for (const Delivery& delivery : run.deliveries) out << " [" << delivery.identity << "]";
  return out;
}

Bytes bytes_of(const RecordIdentity& identity) {
  Bytes bytes(identity.length);
  write_record(bytes, identity);
  return bytes;
}

Bytes as_delivered(RingKind kind, const RecordIdentity& identity, std::byte filler) {
  Bytes bytes = bytes_of(identity);
  if (kind == RingKind::perf) bytes.resize(perf::raw_size(bytes.size()), filler);
  return bytes;
}

rc::Gen<std::byte> any_byte() {
  return rc::gen::map(rc::gen::arbitrary<std::uint8_t>(), [](std::uint8_t value) { return std::byte{value}; });
}

/// Lengths of records: long ones for both kinds of ring, short ones for BPF rings only.
rc::Gen<std::uint32_t> any_length(RingKind kind, bool only_long) {
  const auto long_ones = rc::gen::inRange<std::uint32_t>(header_bytes, 300);
  if (only_long) return long_ones;
  const auto empty = rc::gen::just<std::uint32_t>(0);
  if (kind == RingKind::perf) return rc::gen::weightedOneOf<std::uint32_t>({{4, long_ones}, {1, empty}});
  const auto short_ones = rc::gen::inRange<std::uint32_t>(1, header_bytes);
  return rc::gen::weightedOneOf<std::uint32_t>({{3, long_ones}, {2, short_ones}, {1, empty}});
}

struct Shape {
  bool only_long = false;
  bool may_leave = true;     ///< records may be left in the ring at the end
  std::size_t at_least = 8;  ///< deliveries, so that most runs have what a property looks for
};

/// Any run of a faithful consumer.
Run any_run(Shape shape = {}) {
  Run run;
  run.kind = *rc::gen::element(RingKind::ringbuf, RingKind::perf);
  run.source_count = *rc::gen::inRange(1u, 5u);
  run.bounded = *rc::gen::arbitrary<bool>();
  run.left.resize(run.source_count);
  run.ledger.sources.resize(run.source_count);
  const auto filler = *any_byte();
  const auto deliveries = *rc::gen::inRange<std::size_t>(shape.at_least, shape.at_least + 60);
  const auto remaining = shape.may_leave ? *rc::gen::inRange<std::size_t>(0, 20) : 0;
  const auto plan = *rc::gen::container<std::vector<std::pair<std::uint32_t, std::uint32_t>>>(
      deliveries + remaining,
      rc::gen::pair(rc::gen::inRange(0u, run.source_count), any_length(run.kind, shape.only_long)));
  std::vector<std::uint64_t> next(run.source_count);
  for (const auto& [source, length] : plan) {
    SourceLedger& ledger = run.ledger.sources[source];
    ++ledger.attempts;
    ++ledger.committed;
    ledger.empty += length == 0 ? 1 : 0;
    const RecordIdentity identity{.source = static_cast<std::uint16_t>(source),
                                  .state = RecordState::committed,
                                  .length = length,
                                  .sequence = length == 0 ? 0 : next[source]++};
    if (run.deliveries.size() == deliveries) {
      ++run.left[source];
    } else {
      run.deliveries.push_back({identity, as_delivered(run.kind, identity, filler)});
    }
  }
  return run;
}

/// Adds losses and a consumer that reports each of them, some while they wait in the kernel still.
void add_perf_losses(Run& run) {
  run.kind = RingKind::perf;
  std::uint64_t lost = 0;
  for (SourceLedger& ledger : run.ledger.sources) {
    const auto no_room = *rc::gen::inRange<std::uint64_t>(0, 1000);
    const auto nested = *rc::gen::inRange<std::uint64_t>(0, 10);
    ledger.attempts += no_room + nested;
    if (no_room != 0) ledger.failed[ENOSPC] = no_room;
    if (nested != 0) ledger.failed[EBUSY] = nested;
    lost += no_room;
  }
  run.ledger.unreported_losses = {*rc::gen::inRange<std::uint64_t>(0, lost + 1)};
  std::uint64_t due = lost - run.ledger.unreported_losses[0];
  while (due != 0) {
    run.reports.push_back(*rc::gen::inRange<std::uint64_t>(1, due + 1));
    due -= run.reports.back();
  }
}

Verdict judge(const Run& run) {
  JudgeOptions options;
  options.kind = run.kind;
  options.source_count = run.source_count;
  if (run.bounded)
    options.reserved_so_far = [&](std::uint32_t source) { return run.ledger.sources[source].numbered(); };
  Judge judge(options);
  for (const Delivery& delivery : run.deliveries) judge.deliver(0, delivery.bytes);
  for (const std::uint64_t count : run.reports) judge.report_lost(0, count);
  return judge.finish(run.ledger, run.left);
}

bool balances(const Accounting& a) {
  return a.attempts == a.delivered + a.discarded + a.failed + a.malformed + a.left + a.missing;
}

void assert_convicted(const Run& run, DefectKind kind) {
  const Verdict verdict = judge(run);
  RC_LOG() << run << '\n' << verdict << '\n';
  RC_ASSERT(verdict.has(kind));
  RC_ASSERT(balances(verdict.accounting));
}

void assert_not_clean(const Run& run) {
  const Verdict verdict = judge(run);
  RC_LOG() << run << '\n' << verdict << '\n';
  RC_ASSERT(!verdict.clean());
  RC_ASSERT(balances(verdict.accounting));
}

/// The place of one delivery that satisfies `wanted`; a run that has none is not tried.
template <class Wanted>
std::size_t any_delivery(const Run& run, Wanted&& wanted) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < run.deliveries.size(); ++i) {
    if (wanted(run.deliveries[i])) places.push_back(i);
  }
  RC_PRE(!places.empty());
  return *rc::gen::elementOf(places);
}

bool any(const Delivery&) { return true; }
bool is_long(const Delivery& delivery) { return delivery.is_long(); }
bool is_short(const Delivery& delivery) { return delivery.identity.length != 0 && !delivery.is_long(); }
bool is_empty(const Delivery& delivery) { return delivery.identity.length == 0; }

auto place_in(const Run& run, std::size_t from = 0) {
  return run.deliveries.begin() +
         *rc::gen::inRange<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(from), std::ssize(run.deliveries) + 1);
}

void insert_anywhere(Run& run, Bytes bytes) { run.deliveries.insert(place_in(run), {{}, std::move(bytes)}); }

void flip_a_bit(Bytes& bytes, std::size_t size) {
  const auto bit = *rc::gen::inRange<std::size_t>(0, 8 * size);
  bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
}

RC_GTEST_PROP(JudgeProps, ACleanStreamIsNeverConvicted, ()) {
  const Run run = any_run({.at_least = 0});
  const Verdict verdict = judge(run);
  RC_LOG() << run << '\n' << verdict << '\n';
  RC_ASSERT(verdict.clean());
  RC_ASSERT(verdict.not_observable.empty());
  RC_ASSERT(balances(verdict.accounting));
  RC_ASSERT(verdict.accounting.delivered == run.deliveries.size());
  RC_ASSERT(verdict.accounting.extra == 0u);
}

RC_GTEST_PROP(JudgeProps, ACleanStreamWithReportedLossesIsNeverConvicted, ()) {
  Run run = any_run({.only_long = true});
  add_perf_losses(run);
  for (Delivery& delivery : run.deliveries) delivery.bytes.resize(perf::raw_size(delivery.identity.length));
  const Verdict verdict = judge(run);
  RC_LOG() << verdict << '\n';
  RC_ASSERT(verdict.clean());
}

RC_GTEST_PROP(JudgeProps, ADroppedRecordIsLost, ()) {
  Run run = any_run();
  run.deliveries.erase(run.deliveries.begin() + static_cast<std::ptrdiff_t>(any_delivery(run, any)));
  assert_convicted(run, DefectKind::lost);
}

RC_GTEST_PROP(JudgeProps, ARepeatedRecordIsADuplicate, ()) {
  Run run = any_run();
  const std::size_t i = any_delivery(run, is_long);
  const Delivery again = run.deliveries[i];
  run.deliveries.insert(place_in(run, i + 1), again);
  assert_convicted(run, DefectKind::duplicate);
}

RC_GTEST_PROP(JudgeProps, ARepeatedEmptyRecordIsADuplicate, ()) {
  Run run = any_run({.may_leave = false});
  const Delivery again = run.deliveries[any_delivery(run, is_empty)];
  run.deliveries.insert(place_in(run), again);
  assert_convicted(run, DefectKind::duplicate);
}

RC_GTEST_PROP(JudgeProps, TwoSwappedRecordsOfASourceAreReordered, ()) {
  Run run = any_run();
  const std::size_t i = any_delivery(run, is_long);
  const std::uint16_t source = run.deliveries[i].identity.source;
  std::vector<std::size_t> later;
  for (std::size_t j = i + 1; j < run.deliveries.size(); ++j) {
    if (run.deliveries[j].is_long() && run.deliveries[j].identity.source == source) later.push_back(j);
  }
  RC_PRE(!later.empty());
  std::swap(run.deliveries[i], run.deliveries[*rc::gen::elementOf(later)]);
  assert_convicted(run, DefectKind::reordered);
}

RC_GTEST_PROP(JudgeProps, AFlippedBitIsTorn, ()) {
  Run run = any_run();
  const std::size_t i = any_delivery(run, is_long);
  Delivery& delivery = run.deliveries[i];
  flip_a_bit(delivery.bytes, delivery.identity.length);
  const RecordReading reading = read_record(delivery.bytes, run.padding(), [](auto, auto) { return 0u; });
  if (reading.kind == RecordReading::Kind::torn || reading.kind == RecordReading::Kind::alien) {
    assert_convicted(run, DefectKind::torn);
  } else {
    // One header in 65536 matches its check by chance: it reads as another record.
    assert_not_clean(run);
  }
}

RC_GTEST_PROP(JudgeProps, AFlippedBitTearsOneRecordAndNothingElse, ()) {
  Run run = any_run({.only_long = true});
  Delivery& delivery = run.deliveries[any_delivery(run, any)];
  flip_a_bit(delivery.bytes, delivery.identity.length);
  const RecordReading reading = read_record(delivery.bytes, run.padding(), [](auto, auto) { return 0u; });
  // A header of 16 bits' chance (see above) may name another record; all others are torn and counted as come.
  RC_PRE(reading.kind == RecordReading::Kind::alien || reading.identity == delivery.identity);
  const Verdict verdict = judge(run);
  RC_LOG() << run << '\n' << verdict << '\n';
  RC_ASSERT(verdict.defects.size() == 1u);
  RC_ASSERT(verdict.defects[0].kind == DefectKind::torn);
  RC_ASSERT(verdict.defects[0].source == delivery.identity.source);
  RC_ASSERT(verdict.defects[0].sequence == delivery.identity.sequence);
}

RC_GTEST_PROP(JudgeProps, ATruncatedRecordIsTorn, ()) {
  Run run = any_run();
  const std::size_t i =
      any_delivery(run, [](const Delivery& delivery) { return delivery.identity.length > header_bytes; });
  const std::uint32_t length = run.deliveries[i].identity.length;
  run.deliveries[i].bytes.resize(*rc::gen::inRange(header_bytes, length));
  assert_convicted(run, DefectKind::torn);
}

RC_GTEST_PROP(JudgeProps, ARecordTruncatedWithinItsHeaderNeverPasses, ()) {
  Run run = any_run({.may_leave = false});
  const std::size_t i = any_delivery(run, is_long);
  // From 9 bytes on a short record carries four bytes of its key; below, chance passes too often to be a property.
  run.deliveries[i].bytes.resize(*rc::gen::element(0u, 9u, 12u, 15u));
  assert_not_clean(run);
}

RC_GTEST_PROP(JudgeProps, AnExtendedRecordIsTorn, ()) {
  Run run = any_run();
  const std::size_t i = any_delivery(run, is_long);
  const auto extra = *rc::gen::inRange<std::size_t>(1, 64);
  run.deliveries[i].bytes.resize(run.deliveries[i].identity.length + run.padding() + extra, *any_byte());
  assert_convicted(run, DefectKind::torn);
}

RC_GTEST_PROP(JudgeProps, ARecordThatIsNotCommittedIsAPhantom, ()) {
  Run run = any_run();
  const RecordIdentity identity{
      .source = static_cast<std::uint16_t>(*rc::gen::inRange(0u, run.source_count)),
      .state = *rc::gen::element(RecordState::draft, RecordState::doomed),
      .length = *rc::gen::suchThat(any_length(run.kind, false), [](std::uint32_t length) { return length != 0; }),
      .sequence = *rc::gen::inRange<std::uint64_t>(0, 1000)};
  insert_anywhere(run, as_delivered(run.kind, identity, std::byte{0}));
  assert_convicted(run, DefectKind::phantom);
}

RC_GTEST_PROP(JudgeProps, BytesOfNoRecordAreAPhantom, ()) {
  Run run = any_run();
  const auto size = *rc::gen::inRange<std::size_t>(header_bytes, 200);
  Bytes bytes = *rc::gen::container<Bytes>(size, any_byte());
  const bool alien =
      read_record(bytes, run.padding(), [](auto, auto) { return 0u; }).kind == RecordReading::Kind::alien;
  RC_PRE(alien);
  insert_anywhere(run, std::move(bytes));
  assert_convicted(run, DefectKind::phantom);
}

RC_GTEST_PROP(JudgeProps, ARecordOfNobodyIsAPhantom, ()) {
  Run run = any_run();
  const RecordIdentity identity{.source = static_cast<std::uint16_t>(run.source_count),
                                .state = RecordState::committed,
                                .length = *any_length(run.kind, true),
                                .sequence = *rc::gen::inRange<std::uint64_t>(0, 100)};
  insert_anywhere(run, as_delivered(run.kind, identity, std::byte{0}));
  assert_convicted(run, DefectKind::phantom);
}

RC_GTEST_PROP(JudgeProps, ARecordThatWasNeverProducedIsAPhantom, ()) {
  Run run = any_run();
  const auto source = *rc::gen::inRange(0u, run.source_count);
  const RecordIdentity identity{
      .source = static_cast<std::uint16_t>(source),
      .state = RecordState::committed,
      .length = *any_length(run.kind, true),
      .sequence = run.ledger.sources[source].numbered() + *rc::gen::inRange<std::uint64_t>(0, 1'000'000)};
  insert_anywhere(run, as_delivered(run.kind, identity, std::byte{0}));
  assert_convicted(run, DefectKind::phantom);
}

RC_GTEST_PROP(JudgeProps, AWrongLossCountIsMiscounted, ()) {
  Run run = any_run({.only_long = true});
  add_perf_losses(run);
  for (Delivery& delivery : run.deliveries) delivery.bytes.resize(perf::raw_size(delivery.identity.length));
  if (run.reports.empty() || *rc::gen::arbitrary<bool>()) {
    run.reports.push_back(*rc::gen::inRange<std::uint64_t>(1, 10));
  } else if (*rc::gen::arbitrary<bool>()) {
    run.reports.pop_back();
  } else {
    run.reports.back() += *rc::gen::inRange<std::uint64_t>(1, 10);
  }
  assert_convicted(run, DefectKind::loss_miscounted);
}

RC_GTEST_PROP(JudgeProps, ACorruptedShortRecordNeverPasses, ()) {
  Run run = any_run({.may_leave = false});
  const std::size_t i = any_delivery(run, is_short);
  Delivery& delivery = run.deliveries[i];
  const auto corruption = *rc::gen::inRange(0, 3);
  if (corruption == 0) {
    flip_a_bit(delivery.bytes, delivery.bytes.size());
  } else if (corruption == 1) {
    // Nine bytes and more carry four bytes of the key, which the length is part of.
    RC_PRE(delivery.bytes.size() >= 10u);
    delivery.bytes.resize(*rc::gen::inRange<std::size_t>(9, delivery.bytes.size()));
  } else {
    const Delivery again = delivery;
    run.deliveries.insert(place_in(run, i + 1), again);
  }
  assert_not_clean(run);
}

}  // namespace
}  // namespace ringside::ring
