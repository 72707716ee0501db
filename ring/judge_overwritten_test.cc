// SPDX-License-Identifier: Apache-2.0
//
// What an overwrite ring takes from its consumer is a term of its own, and excuses nothing else.
#include <gtest/gtest.h>

#include <sstream>

#include "ring/judge.h"
#include "ring/judge_test_support.h"

namespace ringside::ring {
namespace {

using test::committed;
using test::Kinds;
using test::kinds_of;
using test::record;

JudgeOptions ringbuf(std::uint32_t sources = 1) {
  return {.kind = RingKind::ringbuf, .source_count = sources, .reserved_so_far = {}};
}

Overwritten numbers(std::initializer_list<std::uint64_t> of_source_0) {
  Overwritten overwritten;
  for (const std::uint64_t number : of_source_0) overwritten.add(0, number);
  return overwritten;
}

bool balances(const Accounting& a) {
  return a.attempts == a.delivered + a.discarded + a.failed + a.malformed + a.left + a.overwritten + a.missing;
}

TEST(Overwritten, RecordsThatTheRingTookAreNotLost) {
  Judge judge(ringbuf());
  judge.deliver(0, record(0));
  judge.deliver(0, record(3));
  const std::vector<std::uint64_t> left = {1};
  const Verdict verdict = judge.finish(committed({5}), left, numbers({1, 2}));
  EXPECT_TRUE(verdict.clean()) << verdict;
  EXPECT_EQ(verdict.accounting.overwritten, 2u);
  EXPECT_EQ(verdict.accounting.left, 1u);
  EXPECT_TRUE(balances(verdict.accounting)) << verdict;
}

TEST(Overwritten, ARecordThatTheConsumerPassedByIsLostAllTheSame) {
  Judge judge(ringbuf());
  judge.deliver(0, record(0));
  judge.deliver(0, record(4));
  const Verdict verdict = judge.finish(committed({5}), {}, numbers({1, 3}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::lost});
  EXPECT_EQ(verdict.defects[0].sequence, 2u);
  EXPECT_EQ(verdict.defects[0].count, 1u);
  EXPECT_EQ(verdict.accounting.overwritten, 2u);
  EXPECT_EQ(verdict.accounting.missing, 1u);
  EXPECT_TRUE(balances(verdict.accounting)) << verdict;
}

TEST(Overwritten, ARecordThatCameFromACopyIsDelivered) {
  Judge judge(ringbuf());
  for (std::uint64_t number = 0; number < 3; ++number) judge.deliver(0, record(number));
  const Verdict verdict = judge.finish(committed({3}), {}, numbers({1, 2}));
  EXPECT_TRUE(verdict.clean()) << verdict;
  EXPECT_EQ(verdict.accounting.delivered, 3u);
  EXPECT_EQ(verdict.accounting.overwritten, 0u);
}

TEST(Overwritten, DuplicatesAndTornRecordsStayDefects) {
  Judge judge(ringbuf());
  judge.deliver(0, record(0));
  judge.deliver(0, record(0));
  auto torn = record(1);
  torn[30] ^= std::byte{1};
  judge.deliver(0, torn);
  const Verdict verdict = judge.finish(committed({2}), {}, numbers({0, 1}));
  EXPECT_EQ(kinds_of(verdict), (Kinds{DefectKind::duplicate, DefectKind::torn}));
}

TEST(Overwritten, ZeroLengthRecordsAreCountedOverAllSources) {
  Judge judge(ringbuf(2));
  judge.deliver(0, {});
  ProducerLedger ledger = committed({3, 2});
  ledger.sources[0].empty = 3;
  ledger.sources[1].empty = 2;
  Overwritten overwritten;
  overwritten.empties = 3;
  const Verdict verdict = judge.finish(ledger, {}, overwritten);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::lost});
  EXPECT_EQ(verdict.accounting.overwritten, 3u);
  EXPECT_EQ(verdict.accounting.missing, 1u);  // 5 committed, 1 came, 3 were taken
  EXPECT_TRUE(balances(verdict.accounting)) << verdict;
}

TEST(Overwritten, WhereNobodySawWhichItWasThatIsSaidAloud) {
  Judge judge(ringbuf());
  judge.deliver(0, record(4));
  Overwritten overwritten;
  overwritten.known = false;
  const Verdict verdict = judge.finish(committed({5}), {}, overwritten);
  EXPECT_TRUE(verdict.clean()) << verdict;
  EXPECT_EQ(verdict.accounting.overwritten, 4u);
  EXPECT_EQ(verdict.not_observable,
            std::vector<std::string>{
                "which of the 4 records that never came the ring overwrote, and which the consumer passed by"});
}

TEST(Overwritten, AnAccountTellsItOnlyWhereThereIsSome) {
  std::ostringstream text;
  text << Accounting{.attempts = 3, .delivered = 1, .overwritten = 2} << '\n' << Accounting{};
  EXPECT_NE(text.str().find("0 left + 2 overwritten + 0 missing"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("0 left + 0 missing"), std::string::npos) << text.str();
}

}  // namespace
}  // namespace ringside::ring
