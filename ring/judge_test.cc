// SPDX-License-Identifier: Apache-2.0
//
// The judge on single deliveries: what each is called. Sums and losses are in judge_losses_test.cc.
#include "ring/judge.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ring/judge_test_support.h"

namespace ringside::ring {
namespace {

using test::committed;
using test::Kinds;
using test::kinds_of;
using test::record;

constexpr RingKind ringbuf_ring = RingKind::ringbuf;

JudgeOptions sources(std::uint32_t count, RingKind kind = ringbuf_ring) {
  JudgeOptions options;
  options.kind = kind;
  options.source_count = count;
  return options;
}

/// Delivers those records of source 0 and gives the verdict on a producer that committed `numbered` of them.
Verdict judge_numbers(std::initializer_list<std::uint64_t> numbers, std::uint64_t numbered) {
  Judge judge(sources(1));
  for (const std::uint64_t number : numbers) judge.deliver(0, record(number));
  return judge.finish(committed({numbered}));
}

TEST(Judge, AcquitsADeliveryInOrder) {
  const Verdict verdict = judge_numbers({0, 1, 2, 3}, 4);
  EXPECT_TRUE(verdict.clean()) << verdict;
  EXPECT_EQ(verdict.accounting.delivered, 4u);
}

TEST(Judge, AcquitsAnyInterleavingOfSources) {
  Judge judge(sources(2));
  judge.deliver(0, record(0, 32, 1));
  judge.deliver(0, record(0, 64, 0));
  judge.deliver(0, record(1, 16, 1));
  judge.deliver(0, record(2, 17, 1));
  const Verdict verdict = judge.finish(committed({1, 3}));
  EXPECT_TRUE(verdict.clean()) << verdict;
}

TEST(Judge, ARecordThatNeverComesIsLost) {
  const Verdict verdict = judge_numbers({0, 1, 3}, 4);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::lost});
  EXPECT_EQ(verdict.defects[0].sequence, 2u);
  EXPECT_EQ(verdict.defects[0].count, 1u);
  EXPECT_EQ(verdict.defects[0].detail, "source 0: 1 of 4 records never came, the first is record 2");
}

TEST(Judge, ATailThatNeverComesIsLost) {
  const Verdict verdict = judge_numbers({0, 1}, 5);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::lost});
  EXPECT_EQ(verdict.defects[0].sequence, 2u);
  EXPECT_EQ(verdict.defects[0].count, 3u);
}

TEST(Judge, ARecordDeliveredTwiceIsADuplicate) {
  const Verdict verdict = judge_numbers({0, 1, 1, 2}, 3);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::duplicate});
  EXPECT_EQ(verdict.defects[0].sequence, 1u);
  EXPECT_EQ(verdict.accounting.extra, 1u);
}

TEST(Judge, ADefectSaysAfterHowManyRecordsItFirstOccurred) {
  Judge judge(sources(1));
  judge.accuse({.kind = DefectKind::leak, .detail = "a descriptor"});
  for (const std::uint64_t number : {0u, 1u, 1u, 2u, 2u, 7u}) judge.deliver(0, record(number));
  judge.accuse({.kind = DefectKind::hang, .detail = "close"});
  const Verdict verdict = judge.finish(committed({9}));
  ASSERT_EQ(kinds_of(verdict), (Kinds{DefectKind::lost, DefectKind::duplicate, DefectKind::hang, DefectKind::leak}));
  EXPECT_EQ(verdict.defects[0].records, 9u);  // only the accounts at the end show it: of all 9
  EXPECT_EQ(verdict.defects[1].records, 3u);  // the second 1 is the third record, whatever came after it
  EXPECT_EQ(verdict.defects[2].records, 6u);
  EXPECT_EQ(verdict.defects[3].records, 0u);
}

TEST(Judge, ARecordThatComesLateIsReorderedAndNotLost) {
  const Verdict verdict = judge_numbers({0, 2, 1, 3}, 4);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::reordered});
  EXPECT_EQ(verdict.defects[0].sequence, 1u);
  EXPECT_EQ(verdict.defects[0].detail, "source 0 record 1: delivered after record 2");
  EXPECT_EQ(verdict.accounting.delivered, 4u);
}

TEST(Judge, ALateRecordThatComesTwiceIsBothReorderedAndADuplicate) {
  EXPECT_EQ(kinds_of(judge_numbers({0, 2, 1, 1}, 3)), (Kinds{DefectKind::duplicate, DefectKind::reordered}));
}

TEST(Judge, CountsEachKindAndKeepsItsFirstOccurrence) {
  const Verdict verdict = judge_numbers({0, 0, 1, 1, 1}, 2);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::duplicate});
  EXPECT_EQ(verdict.defects[0].count, 3u);
  EXPECT_EQ(verdict.defects[0].sequence, 0u);
}

TEST(Judge, AWrongByteIsTornAndTheRecordIsNotLostAsWell) {
  Judge judge(sources(2));
  std::vector<std::byte> bytes = record(0, 64, 1);
  const auto right = static_cast<unsigned>(bytes[24]);
  bytes[24] = std::byte{0};
  EXPECT_EQ(judge.deliver(3, bytes).kind, RecordReading::Kind::torn);
  const Verdict verdict = judge.finish(committed({0, 1}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::torn});
  EXPECT_EQ(verdict.defects[0].ring, 3u);
  EXPECT_EQ(verdict.defects[0].source, 1u);
  char expected[64];
  std::snprintf(expected, sizeof expected, "source 1 record 0: byte 24 is 0x00, should be 0x%02x", right);
  EXPECT_EQ(verdict.defects[0].detail, expected);
}

TEST(Judge, ATornRecordInAGapCountsAsCome) {
  Judge judge(sources(1));
  judge.deliver(0, record(0));
  judge.deliver(0, record(2));
  std::vector<std::byte> bytes = record(1);
  bytes[20] ^= std::byte{1};
  judge.deliver(0, bytes);
  EXPECT_EQ(kinds_of(judge.finish(committed({3}))), (Kinds{DefectKind::reordered, DefectKind::torn}));
}

TEST(Judge, ATornRepetitionIsTornOnly) {
  Judge judge(sources(1));
  judge.deliver(0, record(0));
  std::vector<std::byte> bytes = record(0);
  bytes[20] ^= std::byte{1};
  judge.deliver(0, bytes);
  EXPECT_EQ(kinds_of(judge.finish(committed({1}))), Kinds{DefectKind::torn});
}

TEST(Judge, ADamagedHeaderIsTornAndTheRecordIsNotLostAsWell) {
  Judge judge(sources(1));
  judge.deliver(0, record(0));
  std::vector<std::byte> bytes = record(1);
  bytes[7] ^= std::byte{0x40};
  judge.deliver(0, bytes);
  judge.deliver(0, record(2));
  const Verdict verdict = judge.finish(committed({3}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::torn});
  EXPECT_NE(verdict.defects[0].detail.find("source 0 record 1: its header is damaged: byte 7"), std::string::npos)
      << verdict;
}

TEST(Judge, ARecordCutShortIsTorn) {
  Judge judge(sources(1));
  std::vector<std::byte> bytes = record(0, 64);
  bytes.resize(48);
  judge.deliver(0, bytes);
  const Verdict verdict = judge.finish(committed({1}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::torn});
  EXPECT_EQ(verdict.defects[0].detail, "source 0 record 0: cut short, 48 of 64 bytes");
}

TEST(Judge, ARecordMadeLongerIsTorn) {
  Judge judge(sources(1));
  std::vector<std::byte> bytes = record(0, 60);
  bytes.resize(64);  // a consumer that hands out the span and not the length
  judge.deliver(0, bytes);
  const Verdict verdict = judge.finish(committed({1}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::torn});
  EXPECT_EQ(verdict.defects[0].detail, "source 0 record 0: 64 bytes were delivered, it has 60");
}

TEST(Judge, ADraftIsAPhantom) {
  Judge judge(sources(1));
  judge.deliver(0, test::bytes_of({.source = 0, .state = RecordState::draft, .length = 32, .sequence = 4}));
  const Verdict verdict = judge.finish(committed({0}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::phantom});
  EXPECT_EQ(verdict.defects[0].detail, "source 0 record 4 of 32 bytes: a record that is not committed yet");
}

TEST(Judge, ADiscardedRecordIsAPhantom) {
  for (const std::uint32_t length : {1u, 4u, 15u, 16u, 64u}) {
    Judge judge(sources(1));
    judge.deliver(0, test::bytes_of({.source = 0, .state = RecordState::doomed, .length = length, .sequence = 4}));
    const Verdict verdict = judge.finish(committed({0}));
    ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::phantom}) << length;
    EXPECT_NE(verdict.defects[0].detail.find("a discarded record"), std::string::npos) << verdict;
  }
}

TEST(Judge, BytesOfNoRecordAreAPhantom) {
  Judge judge(sources(1));
  judge.deliver(0, std::vector<std::byte>(24));
  const Verdict verdict = judge.finish(committed({0}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::phantom});
  EXPECT_EQ(verdict.defects[0].detail, "24 bytes of no record: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 ...");
}

TEST(Judge, ARecordOfAnUnknownSourceIsAPhantom) {
  Judge judge(sources(2));
  judge.deliver(0, record(0, 32, 2));
  const Verdict verdict = judge.finish(committed({0, 0}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::phantom});
  EXPECT_EQ(verdict.defects[0].detail, "source 2 record 0: there is no such source, only 2");
}

TEST(Judge, ANumberThatWasNotReservedYetIsAPhantom) {
  std::uint64_t reserved = 2;
  JudgeOptions options = sources(1);
  options.reserved_so_far = [&](std::uint32_t) { return reserved; };
  Judge judge(options);
  judge.deliver(0, record(0));
  judge.deliver(0, record(2));
  reserved = 3;
  judge.deliver(0, record(1));
  judge.deliver(0, record(2));
  const Verdict verdict = judge.finish(committed({3}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::phantom});
  EXPECT_EQ(verdict.defects[0].detail, "source 0 record 2: delivered when its source had reserved only 2");
}

TEST(Judge, AsksHowManyWereReservedOnlyWhenANumberIsNew) {
  int asked = 0;
  JudgeOptions options = sources(1);
  options.reserved_so_far = [&](std::uint32_t) {
    ++asked;
    return std::uint64_t{50};
  };
  Judge judge(options);
  for (std::uint64_t number = 0; number < 50; ++number) judge.deliver(0, record(number));
  EXPECT_EQ(asked, 1);
}

TEST(Judge, ANumberBeyondTheRunsLimitIsAPhantomAtOnce) {
  JudgeOptions options = sources(1);
  options.max_records_per_source = 5;
  Judge judge(options);
  judge.deliver(0, record(std::uint64_t{1} << 50));
  EXPECT_EQ(kinds_of(judge.finish(committed({0}))), Kinds{DefectKind::phantom});
}

TEST(Judge, ANumberThatWasNeverCommittedIsAPhantomAtTheEnd) {
  const Verdict verdict = judge_numbers({0, 1, 2}, 2);
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::phantom});
  EXPECT_EQ(verdict.defects[0].sequence, 2u);
  EXPECT_EQ(verdict.accounting.delivered, 2u);
  EXPECT_EQ(verdict.accounting.extra, 1u);
}

TEST(Judge, ShortRecordsAreToldApartByTheirLowBits) {
  for (const std::uint32_t length : {1u, 2u, 5u, 15u}) {
    Judge judge(sources(1));
    for (std::uint64_t number = 0; number < 1000; ++number) judge.deliver(0, record(number, length));
    const Verdict verdict = judge.finish(committed({1000}));
    EXPECT_TRUE(verdict.clean()) << length << ": " << verdict;
  }
}

TEST(Judge, ALostShortRecordIsNamed) {
  Judge judge(sources(1));
  for (std::uint64_t number = 0; number < 100; ++number) {
    if (number != 42) judge.deliver(0, record(number, 1));
  }
  const Verdict verdict = judge.finish(committed({100}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::lost});
  EXPECT_EQ(verdict.defects[0].sequence, 42u);
}

TEST(Judge, PerfRecordsMayCarryTheirPadding) {
  Judge judge(sources(1, RingKind::perf));
  for (std::uint32_t length = 16; length < 40; ++length) judge.deliver(0, test::padded(record(length - 16, length)));
  const Verdict verdict = judge.finish(committed({24}));
  EXPECT_TRUE(verdict.clean()) << verdict;
}

TEST(Judge, APerfRecordOf8BytesTooManyIsTorn) {
  Judge judge(sources(1, RingKind::perf));
  std::vector<std::byte> bytes = record(0, 20);
  bytes.resize(28);
  judge.deliver(0, bytes);
  EXPECT_EQ(kinds_of(judge.finish(committed({1}))), Kinds{DefectKind::torn});
}

TEST(Judge, AnEmptyPerfDeliveryIsNoSample) {
  // A lost record taken for an empty sample (case B2): the smallest sample carries four bytes.
  Judge judge(sources(1, RingKind::perf));
  judge.deliver(0, {});
  EXPECT_EQ(kinds_of(judge.finish(committed({0}))), Kinds{DefectKind::phantom});
}

TEST(Judge, TakesWhatOthersSaw) {
  Judge judge(sources(1));
  judge.accuse({.kind = DefectKind::hang, .count = 1, .detail = "drain did not return"});
  judge.accuse({.kind = DefectKind::hang, .count = 2, .detail = "another one"});
  const Verdict verdict = judge.finish(committed({0}));
  EXPECT_EQ(verdict.defects,
            (std::vector<Defect>{{.kind = DefectKind::hang, .count = 3, .detail = "drain did not return"}}));
  EXPECT_TRUE(verdict.has(DefectKind::hang));
  EXPECT_FALSE(verdict.has(DefectKind::lost));
}

TEST(Judge, KeepsASentenceOnce) {
  Judge judge(sources(1));
  for (int i = 0; i < 3; ++i) judge.note("spurious wake-ups");
  for (int i = 0; i < 3; ++i) judge.not_observable("data races");
  const Verdict verdict = judge.finish(committed({0}));
  EXPECT_EQ(verdict.notes, std::vector<std::string>{"spurious wake-ups"});
  EXPECT_EQ(verdict.not_observable, std::vector<std::string>{"data races"});
  EXPECT_TRUE(verdict.clean());
}

TEST(Judge, AFaithfulConsumerCostsAFewBytesASource) {
  Judge judge(sources(16));
  for (std::uint64_t number = 0; number < 10'000; ++number)
    judge.deliver(0, record(number, 16, number % 16 == 0 ? 0 : 1));
  Judge quiet(sources(16));
  for (std::uint64_t number = 0; number < 100'000; ++number) quiet.deliver(0, record(number, 16));
  EXPECT_LT(quiet.memory_bytes(), 4096u);
  EXPECT_GT(judge.memory_bytes(), quiet.memory_bytes());  // it was given numbers with gaps
}

TEST(Judge, AConsumerThatSkipsEverySecondRecordCostsABitARecord) {
  Judge judge(sources(1));
  std::vector<std::byte> bytes(16);
  const std::uint64_t numbers = 4'000'000;
  for (std::uint64_t number = 1; number < numbers; number += 2) {
    write_record(bytes, {.source = 0, .state = RecordState::committed, .length = 16, .sequence = number});
    judge.deliver(0, bytes);
  }
  EXPECT_LT(judge.memory_bytes(), numbers / 8 + numbers / 8 / 50 + 4096);
  const Verdict verdict = judge.finish(committed({numbers}));
  ASSERT_EQ(kinds_of(verdict), Kinds{DefectKind::lost});
  EXPECT_EQ(verdict.defects[0].count, numbers / 2);
  EXPECT_EQ(verdict.defects[0].sequence, 0u);
}

}  // namespace
}  // namespace ringside::ring
