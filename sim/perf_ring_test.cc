// SPDX-License-Identifier: Apache-2.0
//
// The perf ring against the measured facts of KERNEL-RINGS 2: memory, space, LOST, samples, nonsense in data_tail.
#include "sim/perf_ring.h"

#include <gtest/gtest.h>

#include <limits>

#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using ring::perf::RecordHeader;
using test::drain;
using test::make_perf;
using test::perf_load;
using test::set_tail;

int output(PerfRingModel& ring, std::size_t size) { return ring.output(test::bytes_of(size, 0x11)); }

// Fills a perf ring with records of 16 bytes and returns how many fitted.
int fill(PerfRingModel& ring) {
  int fitted = 0;
  while (fitted < 1000 && output(ring, 4) == 0) ++fitted;
  return fitted;
}

struct Lost {
  std::uint64_t id;
  std::uint64_t lost;
  friend bool operator==(const Lost&, const Lost&) = default;
};

// The LOST record at a position; the test fails if there is none.
Lost lost_at(const PerfRingModel& ring, std::uint64_t position) {
  const auto header = perf_load<RecordHeader>(ring, position);
  EXPECT_EQ(header.type, ring::perf::type_lost);
  EXPECT_EQ(header.misc, 0u);
  EXPECT_EQ(header.size, 24u);
  return {perf_load<std::uint64_t>(ring, position + 8), perf_load<std::uint64_t>(ring, position + 16)};
}

// 2.1, 2.2

TEST(PerfCreate, RefusesFieldsThatAreNotModelled) {
  PerfRingOptions options;
  options.attr.sample_type = sample_raw | (1u << 5);  // CALLCHAIN
  const auto ring = PerfRingModel::create(options);
  ASSERT_FALSE(ring);
  EXPECT_NE(to_string(ring.error()).find("not modelled"), std::string::npos);
}

TEST(PerfCreate, RefusesSizesThatAreNoPowerOfTwoOfPages) {
  const auto ring = PerfRingModel::create({.data_size = 3 * 4096});
  ASSERT_FALSE(ring);
  EXPECT_EQ(ring.error().code, EINVAL);
}

TEST(PerfCreate, ControlPageSaysWhatMmapLeavesThere) {
  const auto ring = make_perf({}, {.data_size = 8192});
  const void* page = ring->memory().user_control_page();
  EXPECT_EQ(test::load<std::uint32_t>(page, 0), 0u);
  EXPECT_EQ(test::load<std::uint32_t>(page, 8), 2u);
  EXPECT_EQ(test::load<std::uint64_t>(page, 40), 2u);
  EXPECT_EQ(test::load<std::uint32_t>(page, 72), 96u);
  EXPECT_EQ(test::load<std::uint64_t>(page, 1040), 4096u);
  EXPECT_EQ(test::load<std::uint64_t>(page, 1048), 8192u);
}

TEST(PerfControlPage, AUsersDataHeadLastsUntilTheNextPublish) {
  const auto ring = make_perf();
  test::store(ring->memory().user_control_page(), 1024, std::uint64_t{777});
  EXPECT_EQ(ring->data_head(), 777u);
  ASSERT_EQ(output(*ring, 4), 0);
  EXPECT_EQ(ring->data_head(), 16u);
}

TEST(PerfControlPage, AUsersDataSizeIsIgnored) {
  const auto ring = make_perf();
  test::store(ring->memory().user_control_page(), 1040, std::uint64_t{1});
  test::store(ring->memory().user_control_page(), 1048, std::uint64_t{1});
  EXPECT_EQ(fill(*ring), 255);
}

// 2.4: space

TEST(PerfSpace, AtMostAllButEightBytesAreOutstanding) {
  EXPECT_EQ(fill(*make_perf()), 255);        // 4080 of 4096
  EXPECT_EQ(output(*make_perf(), 4076), 0);  // record 4088
  const auto ring = make_perf();
  EXPECT_EQ(output(*ring, 4084), -ENOSPC);  // record 4096, on an empty ring
  EXPECT_EQ(ring->state().lost, 1u);
}

TEST(PerfSpace, AfterALossTwentyFourBytesMoreAreNeeded) {
  // Full at 4080 of 4096. Free 16: space 31 < 16 + 24. Free 32: space 47 >= 40.
  const auto ring = make_perf();
  ASSERT_EQ(fill(*ring), 255);
  set_tail(*ring, 16);
  EXPECT_EQ(output(*ring, 4), -ENOSPC);
  set_tail(*ring, 32);
  EXPECT_EQ(output(*ring, 4), 0);
  EXPECT_EQ(lost_at(*ring, 4080), (Lost{1, 2}));
  EXPECT_EQ(ring->data_head(), 4080u + 40);
}

TEST(PerfSpace, OnlyTheTailModuloTheRingCounts) {
  struct Row {
    std::uint64_t tail;
    int accepted;
  };
  const std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  const Row rows[] = {{1, 255},    {8, 255},    {16, 255},
                      {24, 0},     {4095, 254}, {4096, 254},
                      {4112, 255}, {top, 254},  {std::uint64_t{1} << 63, 254}};
  for (const Row& row : rows) {  // KERNEL-RINGS 2.13
    const auto ring = make_perf();
    ASSERT_EQ(output(*ring, 4), 0);
    set_tail(*ring, row.tail);
    int accepted = 0;
    while (accepted < 1000 && output(*ring, 4) == 0) ++accepted;
    EXPECT_EQ(accepted, row.accepted) << "tail " << row.tail;
  }
}

// 2.5, 2.8: samples

TEST(PerfSample, SizesAreThoseOfTheRule) {
  for (std::size_t n = 0; n <= 40; ++n) {
    const auto ring = make_perf();
    ASSERT_EQ(output(*ring, n), 0);
    const std::uint64_t up8 = (n + 4 + 7) / 8 * 8;
    EXPECT_EQ(perf_load<std::uint32_t>(*ring, 0), 9u);
    EXPECT_EQ(perf_load<std::uint16_t>(*ring, 4), 1u);
    EXPECT_EQ(perf_load<std::uint16_t>(*ring, 6), 8 + up8) << n;
    EXPECT_EQ(perf_load<std::uint32_t>(*ring, 8), up8 - 4) << n;
    EXPECT_EQ(ring->data_head(), 8 + up8);
  }
}

TEST(PerfSample, PaddingKeepsWhatAnEarlierLapLeft) {
  const auto ring = make_perf();
  ASSERT_EQ(ring->output(test::bytes_of(4076, 0xee)), 0);
  drain(*ring);
  ASSERT_EQ(ring->output(test::bytes_of(4, 0xee)), 0);  // head at 4104 = 8 in the second lap
  drain(*ring);
  ASSERT_EQ(ring->output(test::bytes_of(1, 0x11)), 0);
  const std::uint64_t data = 4104 + 12;
  EXPECT_EQ(perf_load<std::uint32_t>(*ring, data), 0xeeeeee11u);
}

TEST(PerfSample, BodiesWrapAtTheEndAndHeadersDoNot) {
  const auto ring = make_perf();
  ASSERT_EQ(output(*ring, 4068), 0);  // head 4080
  drain(*ring);
  std::vector<std::byte> payload;
  for (int i = 0; i < 100; ++i) payload.push_back(std::byte(i));
  ASSERT_EQ(ring->output(payload), 0);
  EXPECT_EQ(perf_load<RecordHeader>(*ring, 4080).size, 112u);
  EXPECT_EQ(test::perf_bytes(*ring, 4092, 100), payload);
  EXPECT_EQ(test::load<unsigned char>(ring->memory().user_data(), 0), 4);  // 4096 - 4092 bytes were before the end
}

TEST(PerfSample, FieldsStandInTheKernelsOrder) {
  const auto ring = make_perf({.sample_type = sample_known}, {.event_id = 77});
  PerfSampleValues values{
      .ip = 0x1001, .pid = 12, .tid = 13, .time_ns = 0x1002, .addr = 0x1003, .cpu = 5, .period = 0x1004};
  ASSERT_EQ(ring->output(test::bytes_of(4, 0xaa), values), 0);
  const std::uint64_t expected[] = {77, 0x1001, std::uint64_t{13} << 32 | 12, 0x1002, 0x1003, 77, 77,
                                    5,  0x1004, 0xaaaaaaaaull << 32 | 4};
  EXPECT_EQ(perf_load<RecordHeader>(*ring, 0).size, 8 + sizeof(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(perf_load<std::uint64_t>(*ring, 8 + 8 * i), expected[i]) << i;
  }
}

TEST(PerfSample, WithoutRawTheDataIsDropped) {
  const auto ring = make_perf({.sample_type = 0});
  ASSERT_EQ(output(*ring, 100), 0);
  EXPECT_EQ(ring->data_head(), 8u);
  EXPECT_EQ(perf_load<RecordHeader>(*ring, 0).size, 8u);
}

TEST(PerfSample, OversizeSaysSuccessAndReservesOnlyTheLowBitsOfItsSize) {
  struct Row {
    std::size_t payload;
    std::uint64_t reserved;
  };
  for (const Row& row :
       {Row{65516, 65528}, {65517, 0}, {65524, 0}, {65525, 8}, {65532, 8}, {65536, 16}, {70000, 4480}}) {
    const auto ring = make_perf({}, {.data_size = std::uint64_t{1} << 17});
    ASSERT_EQ(output(*ring, row.payload), 0);
    EXPECT_EQ(ring->data_head(), row.reserved) << row.payload;
    EXPECT_EQ(perf_load<std::uint16_t>(*ring, 6), row.reserved) << row.payload;
    EXPECT_EQ(perf_load<std::uint32_t>(*ring, 8), ring::perf::raw_size(row.payload)) << row.payload;
    EXPECT_EQ(perf_load<unsigned char>(*ring, 12 + row.payload - 1), 0x11) << "all of it is written";
  }
}

TEST(PerfSample, A4096RingTakes65536BytesAndLosesWhatItHeld) {
  const auto ring = make_perf();
  ASSERT_EQ(ring->output(test::bytes_of(4, 0x77)), 0);
  ASSERT_EQ(output(*ring, 65536), 0);
  EXPECT_EQ(ring->data_head(), 32u);
  EXPECT_EQ(perf_load<std::uint32_t>(*ring, 0), 0x11111111u);  // the unread record's header
}

TEST(PerfRecordOfAnotherType, CarriesItsBodyAndTheIdTrailer) {
  const auto ring = make_perf({.sample_type = sample_raw | sample_tid | sample_cpu, .sample_id_all = true});
  const auto body = test::bytes_of(16, 0x33);
  ASSERT_EQ(ring->write({.type = 3, .misc = 0, .payload = body, .values = {.pid = 1, .tid = 2, .cpu = 9}}), 0);
  EXPECT_EQ(perf_load<RecordHeader>(*ring, 0).size, 8u + 16 + 16);
  EXPECT_EQ(perf_load<std::uint64_t>(*ring, 24), std::uint64_t{2} << 32 | 1);
  EXPECT_EQ(perf_load<std::uint64_t>(*ring, 32), 9u);
}

// 2.7: LOST

TEST(PerfLost, CountsRecordsAndStandsBeforeTheNextOneThatFits) {
  const auto ring = make_perf({}, {.event_id = 42});
  ASSERT_EQ(fill(*ring), 255);  // one loss
  for (int i = 0; i < 9; ++i) ASSERT_EQ(output(*ring, 4), -ENOSPC);
  EXPECT_EQ(ring->state().lost, 10u);
  drain(*ring);
  ASSERT_EQ(output(*ring, 4), 0);
  EXPECT_EQ(lost_at(*ring, 4080), (Lost{42, 10}));
  EXPECT_EQ(perf_load<RecordHeader>(*ring, 4104).type, ring::perf::type_sample);
  EXPECT_EQ(ring->state().lost, 0u);
  ASSERT_EQ(output(*ring, 4), 0);
  EXPECT_EQ(perf_load<RecordHeader>(*ring, 4120).type, ring::perf::type_sample);  // told once
}

TEST(PerfLost, NeverReachesTheRingWhenNothingFitsAgain) {
  const auto ring = make_perf();
  fill(*ring);
  EXPECT_EQ(ring->state().lost, 1u);
  EXPECT_EQ(ring->event().lost_samples, 1u);  // PERF_FORMAT_LOST knows it
  EXPECT_EQ(ring->data_head(), 4080u);
}

TEST(PerfLost, FormatLostIsNeverReset) {
  const auto ring = make_perf();
  for (int round = 1; round <= 3; ++round) {
    fill(*ring);
    EXPECT_EQ(ring->event().lost_samples, static_cast<std::uint64_t>(round));
    drain(*ring);
    ASSERT_EQ(output(*ring, 4), 0);
    EXPECT_EQ(ring->state().lost, 0u);
  }
}

TEST(PerfLost, CarriesTheIdTrailerOfSampleIdAll) {
  const auto ring =
      make_perf({.sample_type = sample_raw | sample_time | sample_identifier, .sample_id_all = true}, {.event_id = 6});
  ring->pause(true);
  ASSERT_EQ(output(*ring, 4), -ENOSPC);
  ring->pause(false);
  ASSERT_EQ(ring->output(test::bytes_of(4, 1), {.time_ns = 1234}), 0);
  const auto header = perf_load<RecordHeader>(*ring, 0);
  EXPECT_EQ(header.type, ring::perf::type_lost);
  EXPECT_EQ(header.size, 24u + 16);
  EXPECT_EQ(perf_load<std::uint64_t>(*ring, 24), 1234u);
  EXPECT_EQ(perf_load<std::uint64_t>(*ring, 32), 6u);
}

TEST(PerfLost, NamesTheEventThatWritesNextNotTheOneThatLost) {
  const auto ring = make_perf({}, {.event_id = 1});
  PerfEventState other{.attr = {}, .id = 2};
  fill(*ring);
  drain(*ring);
  const auto payload = test::bytes_of(4, 1);
  ASSERT_EQ(ring->write({.payload = payload}, other), 0);
  EXPECT_EQ(lost_at(*ring, 4080), (Lost{2, 1}));
  EXPECT_EQ(ring->event().lost_samples, 1u);
  EXPECT_EQ(other.lost_samples, 0u);
}

TEST(PerfPause, CountsAsLostAndShowsAfterResume) {
  for (const bool writable : {true, false}) {  // also in an overwrite ring
    const auto ring = make_perf({}, {.writable = writable});
    ring->pause(true);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(output(*ring, 4), -ENOSPC);
    EXPECT_EQ(ring->data_head(), 0u);
    EXPECT_EQ(ring->poll(), 0u);
    ring->pause(false);
    ASSERT_EQ(output(*ring, 4), 0);
    EXPECT_EQ(lost_at(*ring, 0), (Lost{1, 3}));
  }
}

// 2.10

TEST(PerfOverwrite, NeverFails) {
  const auto ring = make_perf({}, {.writable = false});
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(output(*ring, 4), 0);
  EXPECT_EQ(ring->data_head(), 16000u);
  EXPECT_EQ(output(*ring, 5000), 0);  // larger than the ring: it wraps over itself
}

TEST(PerfBackward, GrowsDownwards) {
  const auto ring = make_perf({.write_backward = true}, {.writable = false});
  ASSERT_EQ(output(*ring, 4), 0);
  EXPECT_EQ(ring->data_head(), std::uint64_t{0} - 16);
  EXPECT_EQ(perf_load<RecordHeader>(*ring, ring->data_head()).size, 16u);
}

TEST(PerfBackward, PutsLostBelowTheRecordThatFollowsIt) {
  const auto ring = make_perf({.write_backward = true});
  EXPECT_EQ(fill(*ring), 255);
  drain(*ring);
  ASSERT_EQ(output(*ring, 4), 0);
  const std::uint64_t head = ring->data_head();
  EXPECT_EQ(head, std::uint64_t{0} - 4080 - 40);
  EXPECT_EQ(lost_at(*ring, head), (Lost{1, 1}));
  EXPECT_EQ(perf_load<RecordHeader>(*ring, head + 24).type, ring::perf::type_sample);
}

// Faults, and the model's own walk

TEST(PerfFault, AHeaderCanBeMadeToLie) {
  const auto ring = make_perf();
  const auto payload = test::bytes_of(4, 1);
  ASSERT_EQ(ring->write({.payload = payload, .false_size = std::uint16_t{0}}), 0);
  EXPECT_EQ(perf_load<RecordHeader>(*ring, 0).size, 0u);
  EXPECT_EQ(ring->data_head(), 16u);
  int seen = 0;
  ring->visit_unread([&](std::uint64_t, const RecordHeader&) { ++seen; });
  EXPECT_EQ(seen, 0);
}

TEST(PerfStart, ARingGoesOnOver2To32AndOver2To64) {
  for (const std::uint64_t start : {(std::uint64_t{1} << 32) - 4096, std::uint64_t{0} - 4096}) {
    const auto ring = make_perf({}, {.start_position = start});
    EXPECT_EQ(ring->data_head(), start);
    for (std::uint64_t i = 1; i <= 1000; ++i) {
      ASSERT_EQ(output(*ring, 4), 0);
      ASSERT_EQ(ring->data_head(), start + 16 * i);
      ASSERT_EQ(ring->poll(), poll_readable);
      drain(*ring);
    }
  }
}

}  // namespace
}  // namespace ringside::sim
