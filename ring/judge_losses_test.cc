// SPDX-License-Identifier: Apache-2.0
//
// The judge's sums: what is left, what failed, what was reported lost, and the account as a whole.
#include <gtest/gtest.h>

#include <cerrno>
#include <sstream>

#include "ring/judge.h"
#include "ring/judge_test_support.h"

namespace ringside::ring {
namespace {

using test::committed;
using test::Kinds;
using test::kinds_of;
using test::record;

JudgeOptions of_kind(RingKind kind, std::uint32_t sources = 1) {
  JudgeOptions options;
  options.kind = kind;
  options.source_count = sources;
  return options;
}

bool balances(const Accounting& a) {
  return a.attempts == a.delivered + a.discarded + a.failed + a.malformed + a.left + a.missing;
}

TEST(Accounts, RecordsStillInTheRingAreNotLost) {
  Judge judge(of_kind(RingKind::ringbuf));
  judge.deliver(0, record(0));
  const std::vector<std::uint64_t> left = {2};
  const Verdict verdict = judge.finish(committed({3}), left);
  EXPECT_TRUE(verdict.clean()) << verdict;
  EXPECT_EQ(verdict.accounting.left, 2u);
}

TEST(Accounts, ARecordThatIsNeitherDeliveredNorLeftIsLost) {
  Judge judge(of_kind(RingKind::ringbuf));
  judge.deliver(0, record(0));
  const std::vector<std::uint64_t> left = {1};
  const Verdict verdict = judge.finish(committed({3}), left);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::lost});
  EXPECT_EQ(verdict.defects[0].sequence, 1u);
  EXPECT_TRUE(balances(verdict.accounting)) << verdict;
}

TEST(Accounts, WhatIsLeftInTheRingDoesNotExcuseASkippedRecord) {
  Judge judge(of_kind(RingKind::ringbuf));
  judge.deliver(0, record(0));
  judge.deliver(0, record(2));
  // Records 2 and 3 lie in the ring still: the view of 2 was not handed back.
  const std::vector<std::uint64_t> left = {2};
  const Verdict verdict = judge.finish(committed({4}), left);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::lost});
  EXPECT_EQ(verdict.defects[0].sequence, 1u);
  EXPECT_EQ(verdict.accounting.left, 1u);
}

TEST(Accounts, ARecordThatCameAndIsLeftAsWellIsSaidAloud) {
  Judge judge(of_kind(RingKind::ringbuf));
  judge.deliver(0, record(0));
  judge.deliver(0, record(1));
  const std::vector<std::uint64_t> left = {3};
  const Verdict verdict = judge.finish(committed({4}), left);
  EXPECT_TRUE(verdict.clean()) << verdict;
  EXPECT_EQ(verdict.accounting.left, 2u);
  EXPECT_EQ(verdict.not_observable,
            std::vector<std::string>{
                "whether 1 records came too often: 3 are left in the ring, but only 2 of these are due"});
}

TEST(Accounts, EveryAttemptHasItsPlace) {
  Judge judge(of_kind(RingKind::ringbuf, 2));
  for (std::uint64_t number = 0; number < 5; ++number) judge.deliver(0, record(number));
  judge.deliver(0, {});
  judge.deliver(0, record(4));
  ProducerLedger ledger = committed({0, 0});
  // 12 attempts = 7 committed (1 empty) + 2 discarded + 2 failed + 1 open; of 6 numbered, 5 came and 1 is missing.
  ledger.sources[0] = {.attempts = 12, .committed = 7, .empty = 1, .discarded = 2, .open = 1, .failed = {{ENOSPC, 2}}};
  const Verdict verdict = judge.finish(ledger);
  EXPECT_EQ(verdict.accounting, (Accounting{.attempts = 12,
                                            .committed = 7,
                                            .delivered = 6,
                                            .discarded = 2,
                                            .failed = 2,
                                            .left = 1,
                                            .missing = 1,
                                            .extra = 1,
                                            .delivered_bytes = 6 * 32}));
  EXPECT_TRUE(balances(verdict.accounting)) << verdict;
  ASSERT_EQ(kinds_of(verdict), (Kinds{DefectKind::lost, DefectKind::duplicate}));
}

TEST(Accounts, ALedgerThatDoesNotAddUpIsSaidAloud) {
  Judge judge(of_kind(RingKind::ringbuf));
  ProducerLedger ledger = committed({0});
  ledger.sources[0].attempts = 7;
  const Verdict verdict = judge.finish(ledger);
  ASSERT_EQ(verdict.not_observable.size(), 1u);
  EXPECT_NE(verdict.not_observable[0].find("7 attempts but 0 outcomes"), std::string::npos) << verdict;
}

TEST(Empties, AreCountedOverAllSources) {
  Judge judge(of_kind(RingKind::ringbuf, 2));
  for (int i = 0; i < 3; ++i) judge.deliver(0, {});
  ProducerLedger ledger = committed({1, 2});
  ledger.sources[0].empty = 1;
  ledger.sources[1].empty = 2;
  const Verdict verdict = judge.finish(ledger);
  EXPECT_TRUE(verdict.clean()) << verdict;
  EXPECT_EQ(verdict.accounting.delivered, 3u);
}

TEST(Empties, TooFewAreLost) {
  Judge judge(of_kind(RingKind::ringbuf));
  judge.deliver(0, {});
  ProducerLedger ledger = committed({3});
  ledger.sources[0].empty = 3;
  const Verdict verdict = judge.finish(ledger);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::lost});
  EXPECT_EQ(verdict.defects[0].count, 2u);
}

TEST(Empties, TooManyAreDuplicates) {
  Judge judge(of_kind(RingKind::ringbuf));
  for (int i = 0; i < 3; ++i) judge.deliver(0, {});
  ProducerLedger ledger = committed({1});
  ledger.sources[0].empty = 1;
  const Verdict verdict = judge.finish(ledger);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::duplicate});
  EXPECT_EQ(verdict.defects[0].count, 2u);
}

TEST(Empties, ThatNobodyCommittedArePhantoms) {
  // Endless zero-length records are what a consumer reports whose position has overtaken the producer's.
  Judge judge(of_kind(RingKind::ringbuf));
  for (int i = 0; i < 1000; ++i) judge.deliver(0, {});
  const Verdict verdict = judge.finish(committed({0}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::phantom});
  EXPECT_EQ(verdict.defects[0].count, 1000u);
}

TEST(Empties, MayBeLeftInTheRingBesideNumberedRecords) {
  Judge judge(of_kind(RingKind::ringbuf));
  judge.deliver(0, record(0));
  judge.deliver(0, {});
  ProducerLedger ledger = committed({5});
  ledger.sources[0].empty = 3;
  // Numbered: 0 came, 1 is left. Empty: one came, two are left.
  const std::vector<std::uint64_t> left = {3};
  const Verdict verdict = judge.finish(ledger, left);
  EXPECT_TRUE(verdict.clean()) << verdict;
  EXPECT_EQ(verdict.accounting.left, 3u);
}

TEST(Empties, OfAPerfRingAreFourBytesOfPadding) {
  Judge judge(of_kind(RingKind::perf));
  judge.deliver(0, std::vector<std::byte>(4));
  ProducerLedger ledger = committed({1});
  ledger.sources[0].empty = 1;
  EXPECT_TRUE(judge.finish(ledger).clean());
}

/// Source 0 writes to ring 0 and failed 7 times for want of room, source 1 to ring 1 and failed 3 times; other failures
/// are no losses of the ring.
ProducerLedger perf_losses() {
  ProducerLedger ledger = committed({0, 0});
  ledger.sources[0] = {.ring = 0, .attempts = 9, .failed = {{ENOSPC, 7}, {EBUSY, 2}}};
  ledger.sources[1] = {.ring = 1, .attempts = 3, .failed = {{ENOSPC, 3}}};
  return ledger;
}

TEST(PerfLosses, ThatTheConsumerReportsInFullAreClean) {
  Judge judge(of_kind(RingKind::perf, 2));
  judge.report_lost(0, 5);
  judge.report_lost(1, 3);
  judge.report_lost(0, 2);
  const Verdict verdict = judge.finish(perf_losses());
  EXPECT_TRUE(verdict.clean()) << verdict;
  EXPECT_EQ(verdict.accounting.reported_lost, 10u);
  EXPECT_EQ(verdict.accounting.failed, 12u);
}

TEST(PerfLosses, ThatTheConsumerForgetsAreMiscounted) {
  Judge judge(of_kind(RingKind::perf, 2));
  judge.report_lost(0, 7);
  const Verdict verdict = judge.finish(perf_losses());
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::loss_miscounted});
  EXPECT_EQ(verdict.defects[0].ring, 1u);
  EXPECT_EQ(verdict.defects[0].count, 3u);
  EXPECT_EQ(verdict.defects[0].detail, "ring 1: 0 records reported lost, the kernel counted 3");
}

TEST(PerfLosses, CountedByCallbacksAreMiscounted) {
  Judge judge(of_kind(RingKind::perf, 2));
  judge.report_lost(0, 1);
  judge.report_lost(1, 3);
  EXPECT_EQ(kinds_of(judge.finish(perf_losses())), Kinds{DefectKind::loss_miscounted});
}

TEST(PerfLosses, OfTheWrongRingAreMiscounted) {
  Judge judge(of_kind(RingKind::perf, 2));
  judge.report_lost(0, 3);
  judge.report_lost(1, 7);
  const Verdict verdict = judge.finish(perf_losses());
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::loss_miscounted});
  EXPECT_EQ(verdict.defects[0].count, 8u);  // 4 too few and 4 too many
}

TEST(PerfLosses, ThatTheKernelHasNotReportedYetAreNotDue) {
  Judge judge(of_kind(RingKind::perf, 2));
  judge.report_lost(0, 5);
  ProducerLedger ledger = perf_losses();
  ledger.unreported_losses = {2, 3};
  const Verdict verdict = judge.finish(ledger);
  EXPECT_TRUE(verdict.clean()) << verdict;
}

TEST(PerfLosses, OfARingWithoutLossAreAnInvention) {
  Judge judge(of_kind(RingKind::perf));
  judge.report_lost(4, 1);
  const Verdict verdict = judge.finish(committed({0}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::loss_miscounted});
  EXPECT_EQ(verdict.defects[0].ring, 4u);
}

TEST(PerfLosses, ThatOverflowTheirSumDoNotWrapToTheRightOne) {
  Judge judge(of_kind(RingKind::perf));
  judge.report_lost(0, UINT64_MAX);
  judge.report_lost(0, 1);
  EXPECT_EQ(kinds_of(judge.finish(committed({0}))), Kinds{DefectKind::loss_miscounted});
}

TEST(LossReports, OfZeroBreakTheContract) {
  Judge judge(of_kind(RingKind::perf));
  judge.report_lost(2, 0);
  const Verdict verdict = judge.finish(committed({0}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::protocol});
  EXPECT_EQ(verdict.defects[0].detail, "ring 2: lost(0) called");
}

TEST(LossReports, OfABpfRingAreAnInvention) {
  Judge judge(of_kind(RingKind::ringbuf));
  judge.report_lost(0, 5);
  ProducerLedger ledger = committed({0});
  ledger.sources[0] = {.attempts = 5, .failed = {{ENOSPC, 5}}};
  const Verdict verdict = judge.finish(ledger);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::loss_miscounted});
  EXPECT_EQ(verdict.defects[0].detail, "ring 0: 5 records reported lost, but a BPF ring carries no loss count");
  EXPECT_EQ(verdict.not_observable.size(), 1u);
}

TEST(LossReports, NobodyOwesForABpfRing) {
  Judge judge(of_kind(RingKind::ringbuf));
  ProducerLedger ledger = committed({0});
  ledger.sources[0] = {.attempts = 5, .failed = {{ENOSPC, 5}}};
  const Verdict verdict = judge.finish(ledger);
  EXPECT_TRUE(verdict.clean()) << verdict;
  EXPECT_EQ(
      verdict.not_observable,
      std::vector<std::string>{"loss in a BPF ring is told by nobody: only the producer's failure counters know"});
}

TEST(VerdictText, ShowsTheAccountThenEachDefect) {
  Judge judge(of_kind(RingKind::ringbuf));
  judge.deliver(0, record(1));
  judge.note("one look was enough");
  std::ostringstream out;
  out << judge.finish(committed({2}));
  EXPECT_EQ(out.str(),
            "defects: 2 attempts = 1 delivered + 0 discarded + 0 failed + 0 malformed + 0 left + 1 missing; 0 extra "
            "deliveries, 0 reported lost, 32 bytes delivered\n"
            "  lost: source 0: 1 of 2 records never came, the first is record 0\n"
            "  note: one look was enough");
}

TEST(VerdictText, NamesTheRingKinds) {
  EXPECT_EQ(name_of(RingKind::ringbuf), "ringbuf");
  EXPECT_EQ(name_of(RingKind::perf), "perf");
  EXPECT_EQ(name_of(RingKind::user_ringbuf), "user_ringbuf");
}

}  // namespace
}  // namespace ringside::ring
