// SPDX-License-Identifier: Apache-2.0
//
// KERNEL-RINGS 2 held against the running kernel, where rings fed by BPF do not show it. A sample of these rings takes
// 16 bytes, the header and the address touched, and so do the vectors of KERNEL-RINGS 2.9.
#include "real/plain_perf_ring.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "real/epoll_set.h"
#include "real/kernel_test.h"

namespace ringside::real {
namespace {

constexpr std::uint64_t sample_bytes = 16;

/// One record as it lies in a ring. The least that shows every field.
struct Record {
  perf_event_header header{};
  std::vector<std::uint64_t> body;  ///< what follows the header; records are multiples of 8

  std::uint64_t address() const { return body.at(0); }  // PERF_RECORD_SAMPLE with PERF_SAMPLE_ADDR
  std::uint64_t id() const { return body.at(0); }       // PERF_RECORD_LOST
  std::uint64_t lost() const { return body.at(1); }
};

/// The record at `position`, which may wrap.
Record record_at(const ringside_ring& ring, std::uint64_t position) {
  const auto* const data = static_cast<const std::byte*>(ring.data);
  const auto copy = [&](void* to, std::uint64_t from, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) static_cast<std::byte*>(to)[i] = data[(from + i) & (ring.data_size - 1)];
  };
  Record record;
  copy(&record.header, position, sizeof(record.header));
  if (record.header.size < sizeof(record.header) || record.header.size % 8 != 0) {
    ADD_FAILURE() << "record of " << record.header.size << " bytes at " << position;
    record.header.size = sizeof(record.header);
  }
  record.body.resize((record.header.size - sizeof(record.header)) / 8);
  copy(record.body.data(), position + sizeof(record.header), record.body.size() * 8);
  return record;
}

/// The records of [from, to), in the order of their positions.
std::vector<Record> records_between(const ringside_ring& ring, std::uint64_t from, std::uint64_t to) {
  std::vector<Record> records;
  while (from != to && !testing::Test::HasFailure()) {
    records.push_back(record_at(ring, from));
    from += records.back().header.size;
  }
  return records;
}

/// Reads and consumes everything; of a backward ring the newest comes first.
std::vector<Record> drain(const PlainPerfRing& ring, bool backward = false) {
  const Positions at = positions_of(ring.ring());
  auto records = backward ? records_between(ring.ring(), at.producer, at.consumer)
                          : records_between(ring.ring(), at.consumer, at.producer);
  set_consumer_position(ring.ring(), at.producer);
  return records;
}

/// What poll(2) tells at once.
short poll_now(const PlainPerfRing& ring) {
  pollfd item{.fd = ring.fd(), .events = POLLIN, .revents = 0};
  ::poll(&item, 1, 0);
  return item.revents;
}

void take_name(const char* name) { ASSERT_EQ(::prctl(PR_SET_NAME, name), 0); }

/// Needs perf_event_open for the own thread and nothing else: no BPF, no privilege.
class PlainPerfRingTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto trial = PlainPerfRing::open({});
    if (trial) return;
    const int code = trial.error().code;
    const char* const required = std::getenv("RINGSIDE_REQUIRE_KERNEL");
    const bool lacking = code == EPERM || code == EACCES || code == ENOSYS;
    if (!lacking || (required != nullptr && std::string_view(required) == "1")) FAIL() << trial.error();
    GTEST_SKIP() << trial.error();
  }

  PlainPerfRing& open(const PlainPerfOptions& options, std::size_t pages = 1000) {
    auto opened = PlainPerfRing::open(options);
    if (!opened) throw std::runtime_error(ring::to_string(opened.error()));
    ring_.emplace(std::move(*opened));
    pages_.emplace(FreshPages::map(pages).value());
    return *ring_;
  }
  void touch(std::size_t count) { touch(*ring_, count); }
  void touch(PlainPerfRing& ring, std::size_t count) {
    const auto sampled = ring.sample_faults(*pages_, count);
    EXPECT_TRUE(sampled) << sampled.error();
  }
  Positions positions() const { return positions_of(ring_->ring()); }

  /// Which of the first `count` samples leave POLLIN, read by poll after each, the consumer draining.
  std::vector<int> woken_at(const PlainPerfOptions& options, int count) {
    open(options);
    std::vector<int> woken;
    for (int i = 1; i <= count; ++i) {
      touch(1);
      if (poll_now(*ring_) == POLLIN) woken.push_back(i);
      drain(*ring_, options.backward);
    }
    return woken;
  }

  std::optional<PlainPerfRing> ring_;
  std::optional<FreshPages> pages_;
};

std::vector<int> from_to(int first, int last, int step = 1) {
  std::vector<int> numbers;
  for (int i = first; i <= last; i += step) numbers.push_back(i);
  return numbers;
}

TEST_F(PlainPerfRingTest, EveryPageTouchedIsOneSampleOfItsAddress) {
  open({.data_pages = 8}, 2000);
  touch(2000);  // 32000 of 32768 bytes
  EXPECT_EQ(ring_->counts().value(), (PlainPerfRing::Counts{.events = 2000, .lost = 0}));
  EXPECT_EQ(positions(), (Positions{0, 32'000, 32'000}));
  const auto records = drain(*ring_);
  ASSERT_EQ(records.size(), 2000u);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].header.type, PERF_RECORD_SAMPLE);
    EXPECT_EQ(records[i].header.misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
    ASSERT_EQ(records[i].address(), pages_->address(i)) << i;
  }
}

TEST_F(PlainPerfRingTest, NothingIsRecordedWhileDisabled) {
  open({});
  pages_->touch(10);
  EXPECT_EQ(positions(), Positions{});
  EXPECT_EQ(ring_->counts().value(), PlainPerfRing::Counts{});
  touch(1);
  EXPECT_EQ(drain(*ring_).at(0).address(), pages_->address(10));
}

TEST_F(PlainPerfRingTest, FaultsOfTheKernelForTheThreadAreNotRecorded) {
  open({.data_pages = 1});
  ASSERT_TRUE(ring_->enable());
  const auto written = ::syscall(SYS_getrandom, pages_->address(0), 8, 0);
  ASSERT_TRUE(ring_->disable());
  EXPECT_EQ(written, 8);
  EXPECT_EQ(ring_->counts().value(), PlainPerfRing::Counts{});
  EXPECT_EQ(positions(), Positions{});
}

TEST_F(PlainPerfRingTest, SamplesAndLossesAccountForEveryFault) {
  // One page takes N - 8 = 4088 bytes: 255 samples of 16 (4080). The other 45 of 300 are lost.
  open({.data_pages = 1});
  touch(300);
  EXPECT_EQ(ring_->counts().value(), (PlainPerfRing::Counts{.events = 300, .lost = 45}));
  EXPECT_EQ(drain(*ring_).size(), 255u);
  touch(1);
  const auto records = drain(*ring_);
  ASSERT_EQ(records.size(), 2u) << "the loss is told directly before the next record";
  EXPECT_EQ(records[0].header.type, PERF_RECORD_LOST);
  EXPECT_EQ(records[0].lost(), 45u);
  EXPECT_EQ(records[1].address(), pages_->address(300));
  EXPECT_EQ(ring_->counts().value(), (PlainPerfRing::Counts{.events = 301, .lost = 45})) << "never reset";
}

TEST_F(PlainPerfRingTest, ManyOverflowsAddUp) {
  open({.data_pages = 1}, 6000);
  std::uint64_t samples = 0;
  std::uint64_t told = 0;
  for (int burst = 1; pages_->left() != 0; burst += 7) {
    touch(std::min<std::size_t>(pages_->left(), static_cast<std::size_t>(burst) * 5));
    for (const Record& record : drain(*ring_)) {
      if (record.header.type == PERF_RECORD_LOST) told += record.lost();
      if (record.header.type == PERF_RECORD_SAMPLE) ++samples;
    }
  }
  const auto before = ring_->counts().value();
  EXPECT_EQ(before.events, 6000u);
  EXPECT_EQ(samples + before.lost, 6000u);
  EXPECT_GT(before.lost, told) << "the last burst overflowed, and no record came that could tell it";
  *pages_ = FreshPages::map(1).value();
  touch(1);
  told += drain(*ring_).at(0).lost();
  EXPECT_EQ(told, before.lost);
}

TEST_F(PlainPerfRingTest, AfterALossTheNextRecordNeedsRoomForThePerfRecordLost) {
  // KERNEL-RINGS 2.4: space (t - h - 1) & M after a full ring of 4080: 15 and what was consumed. 16 + 24 are needed.
  open({.data_pages = 1});
  touch(256);
  ASSERT_EQ(ring_->counts()->lost, 1u);
  set_consumer_position(ring_->ring(), 16);  // space 31
  touch(1);
  EXPECT_EQ(ring_->counts()->lost, 2u);
  set_consumer_position(ring_->ring(), 32);  // space 47
  touch(1);
  EXPECT_EQ(ring_->counts()->lost, 2u);
  EXPECT_EQ(positions().producer, 4080u + 24 + 16);
  EXPECT_EQ(record_at(ring_->ring(), 4080).lost(), 2u);
}

TEST_F(PlainPerfRingTest, LostIs24BytesWithoutTrailerWhateverSamplesCarry) {
  constexpr std::uint64_t identity = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                                     PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  open({.data_pages = 1, .sample_type = identity});
  touch(74);  // 8 + 6 * 8 = 56 bytes: 73 fit
  drain(*ring_);
  touch(1);
  const Record lost = drain(*ring_).at(0);
  EXPECT_EQ(lost.header.type, PERF_RECORD_LOST);
  EXPECT_EQ(lost.header.misc, 0);
  EXPECT_EQ(lost.header.size, 24);
  EXPECT_EQ(lost.body, (std::vector{ring_->id().value(), std::uint64_t{1}}));
}

TEST_F(PlainPerfRingTest, TheTrailerOfLostHasTheIdentityFieldsInTheirOrder) {
  // KERNEL-RINGS 2.7: TID TIME ID STREAM_ID CPU IDENTIFIER, each if asked for; ADDR is of samples only.
  open({.data_pages = 1,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                       PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR,
        .sample_id_all = true});
  touch(64);  // 64 bytes: 63 fit in 4088
  drain(*ring_);
  touch(1);
  const auto records = drain(*ring_);
  ASSERT_EQ(records.size(), 2u);
  const Record& lost = records[0];
  const Record& sample = records[1];  // IDENTIFIER TID TIME ADDR ID STREAM_ID CPU
  ASSERT_EQ(lost.header.size, 24 + 6 * 8);
  ASSERT_EQ(sample.header.size, 64);
  const std::uint64_t id = ring_->id().value();
  const auto pid = static_cast<std::uint64_t>(::getpid());
  const auto tid = static_cast<std::uint64_t>(::gettid());
  EXPECT_EQ(lost.id(), id);
  EXPECT_EQ(lost.lost(), 1u);
  EXPECT_EQ(lost.body[2], pid | tid << 32);
  EXPECT_EQ(lost.body[3], sample.body[2]) << "both were written by the same output";
  EXPECT_EQ(lost.body[4], id);
  EXPECT_EQ(lost.body[5], sample.body[5]);
  EXPECT_EQ(lost.body[6], sample.body[6]);
  EXPECT_EQ(lost.body[7], id);
  EXPECT_EQ(sample.body[0], id);
  EXPECT_EQ(sample.body[3], pages_->address(64));
}

TEST_F(PlainPerfRingTest, EachIdentityFieldTakes8BytesOfTheTrailer) {
  for (const std::uint64_t field : {PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID,
                                    PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_ADDR}) {
    open({.data_pages = 1, .sample_type = field, .sample_id_all = true});
    touch(256);
    drain(*ring_);
    touch(1);
    EXPECT_EQ(drain(*ring_).at(0).header.size, field == PERF_SAMPLE_ADDR ? 24 : 32) << field;
  }
}

TEST_F(PlainPerfRingTest, ANameTakenIsOneCommRecordAndNoSample) {
  open({.event = PlainEvent::thread_names, .data_pages = 1, .wakeup_events = 1});
  ASSERT_TRUE(ring_->enable());
  for (int i = 1; i <= 86; ++i) {
    take_name("ring");
    // KERNEL-RINGS 2.9: 24 bytes each count for the half-ring watermark (86 * 24 = 2064 > 2048), never for events.
    EXPECT_EQ(poll_now(*ring_), i == 86 ? POLLIN : 0) << i;
  }
  ASSERT_TRUE(ring_->disable());
  take_name("other");
  const auto records = drain(*ring_);
  ASSERT_EQ(records.size(), 86u);
  for (const Record& record : records) {
    EXPECT_EQ(record.header.type, PERF_RECORD_COMM);
    ASSERT_EQ(record.header.size, 24);
    EXPECT_STREQ(reinterpret_cast<const char*>(&record.body[1]), "ring");
  }
}

TEST_F(PlainPerfRingTest, RecordsThatAreNoSamplesAreLostAndToldAlike) {
  open({.event = PlainEvent::thread_names, .data_pages = 1, .sample_type = PERF_SAMPLE_TID, .sample_id_all = true});
  ASSERT_TRUE(ring_->enable());
  for (int i = 0; i < 130; ++i) take_name("ring");  // 24 + 8 bytes: 127 fit
  EXPECT_EQ(ring_->counts().value(), (PlainPerfRing::Counts{.events = 0, .lost = 3}));
  EXPECT_EQ(drain(*ring_).size(), 127u);
  take_name("ring");
  const auto records = drain(*ring_);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].header.type, PERF_RECORD_LOST);
  EXPECT_EQ(records[0].lost(), 3u);
  EXPECT_EQ(records[1].header.type, PERF_RECORD_COMM);
  EXPECT_EQ(records[1].body.back(), records[0].body.back()) << "the same TID trailer";
}

TEST_F(PlainPerfRingTest, AReadOnlyMappingNeverFails) {
  open({.data_pages = 1, .overwrite = true});
  touch(1000);
  EXPECT_EQ(ring_->counts().value(), (PlainPerfRing::Counts{.events = 1000, .lost = 0}));
  EXPECT_EQ(positions(), (Positions{0, 16'000, 16'000}));
  // The last 256 lie there; the next one would be written over the oldest.
  const auto records = records_between(ring_->ring(), 16'000 - 4096, 16'000);
  ASSERT_EQ(records.size(), 256u);
  for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(records[i].address(), pages_->address(744 + i));
}

TEST_F(PlainPerfRingTest, NothingOfAReadOnlyMappingCanBeWritten) {
  open({.data_pages = 1, .overwrite = true});
  EXPECT_EQ(test::signal_of_store(ring_->ring().consumer_page), SIGSEGV);
  EXPECT_EQ(test::signal_of_store(ring_->ring().data), SIGSEGV);
}

TEST_F(PlainPerfRingTest, AWritableMappingLendsItsControlPageOnly) {
  open({.data_pages = 2});
  EXPECT_EQ(test::signal_of_store(static_cast<const std::byte*>(ring_->ring().consumer_page) + 2048), 0);
  EXPECT_EQ(test::signal_of_store(ring_->ring().data), SIGBUS);
  EXPECT_EQ(test::signal_of_store(static_cast<const std::byte*>(ring_->ring().data) + 8191), SIGBUS);
}

TEST_F(PlainPerfRingTest, ABackwardRingGrowsDownAndItsNewestIsAtDataHead) {
  open({.data_pages = 1, .backward = true});
  for (std::uint64_t i = 1; i <= 255; ++i) {
    touch(1);
    ASSERT_EQ(positions().producer, 0 - i * sample_bytes);
    ASSERT_EQ(record_at(ring_->ring(), positions().producer).address(), pages_->address(i - 1));
  }
  touch(1);
  EXPECT_EQ(ring_->counts()->lost, 1u) << "space (head - tail - 1) & M is 15";
  const auto records = drain(*ring_, true);
  ASSERT_EQ(records.size(), 255u);
  for (std::size_t i = 0; i < 255; ++i) ASSERT_EQ(records[i].address(), pages_->address(254 - i));
  touch(1);
  const auto after = drain(*ring_, true);
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0].header.type, PERF_RECORD_LOST) << "at the new head, its record behind it";
  EXPECT_EQ(after[1].address(), pages_->address(256));
}

TEST_F(PlainPerfRingTest, ABackwardOverwriteRingIsReadFromItsHeadWithoutAnyOtherPosition) {
  open({.data_pages = 1, .backward = true, .overwrite = true});
  touch(700);
  EXPECT_EQ(ring_->counts()->lost, 0u);
  const std::uint64_t head = positions().producer;
  EXPECT_EQ(head, 0 - 700 * sample_bytes);
  const auto records = records_between(ring_->ring(), head, head + 4096);
  ASSERT_EQ(records.size(), 256u);
  for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(records[i].address(), pages_->address(699 - i));
}

TEST_F(PlainPerfRingTest, WhatComesWhilePausedIsLostAndToldAfterResume) {
  for (const bool overwrite : {false, true}) {
    SCOPED_TRACE(overwrite);
    open({.data_pages = 1, .wakeup_events = 1, .overwrite = overwrite});
    touch(1);
    ASSERT_EQ(poll_now(*ring_), POLLIN);
    ASSERT_TRUE(ring_->pause());
    touch(5);
    EXPECT_EQ(poll_now(*ring_), 0);
    EXPECT_EQ(ring_->counts().value(), (PlainPerfRing::Counts{.events = 6, .lost = 5}));
    EXPECT_EQ(positions().producer, sample_bytes);
    ASSERT_TRUE(ring_->resume());
    touch(1);
    const auto records = records_between(ring_->ring(), sample_bytes, positions().producer);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].header.type, PERF_RECORD_LOST);
    EXPECT_EQ(records[0].lost(), 5u);
    EXPECT_EQ(records[1].address(), pages_->address(6));
  }
}

TEST_F(PlainPerfRingTest, DataPagesArePowersOfTwo) {
  const test::Holdings before = test::holdings();
  for (const std::uint32_t pages : {3u, 5u, 6u, 7u, 12u}) {
    const auto ring = PlainPerfRing::open({.data_pages = pages});
    ASSERT_FALSE(ring) << pages;
    EXPECT_EQ(ring.error().code, EINVAL);
    EXPECT_EQ(ring.error().attempt, "map " + std::to_string((pages + 1) * 4096) + " bytes of plain perf ring");
    EXPECT_EQ(ring.error().remedy, "take a power of two");
  }
  EXPECT_EQ(test::holdings(), before);
  for (const std::uint32_t pages : {1u, 2u, 4u, 16u}) {
    EXPECT_EQ(open({.data_pages = pages}).ring().data_size, pages * 4096u);
  }
}

TEST_F(PlainPerfRingTest, RefusesASampleTypeThatTheKernelRefuses) {
  const auto ring = PlainPerfRing::open({.sample_type = std::uint64_t{1} << 62});
  ASSERT_FALSE(ring);
  EXPECT_EQ(ring.error().code, EINVAL);
  EXPECT_EQ(ring.error().attempt, "open page-fault event of this thread");
}

TEST_F(PlainPerfRingTest, ARingWithoutDataPagesStoresAndCountsNothing) {
  open({.data_pages = 0, .wakeup_events = 1});
  touch(3);
  EXPECT_EQ(ring_->counts().value(), (PlainPerfRing::Counts{.events = 3, .lost = 0}));
  EXPECT_EQ(positions(), Positions{});
  EXPECT_EQ(poll_now(*ring_), 0) << "not POLLHUP";
  const auto paused = ring_->pause();
  ASSERT_FALSE(paused);
  EXPECT_EQ(paused.error().code, EINVAL);
}

TEST_F(PlainPerfRingTest, ASecondMappingOfTheSameSizeSharesTheRingAndOfAnotherIsRefused) {
  open({.data_pages = 2});
  for (const std::size_t pages : {1u, 2u, 5u}) {
    const auto second = Mapping::of_file(ring_->fd(), pages * 4096, PROT_READ | PROT_WRITE, 0, "second");
    ASSERT_FALSE(second) << pages;
    EXPECT_EQ(second.error().code, EINVAL);
  }
  const auto second = Mapping::of_file(ring_->fd(), 3ul * 4096, PROT_READ, 0, "second");
  ASSERT_TRUE(second) << second.error();
  touch(1);
  EXPECT_EQ(std::memcmp(second->data() + 4096, ring_->ring().data, sample_bytes), 0);
  touch(600);
  EXPECT_EQ(ring_->counts()->lost, 601u - 511) << "a read-only second mapping makes no overwrite ring";
}

TEST_F(PlainPerfRingTest, APrivateMappingIsRefused) {
  open({.data_pages = 1});
  EXPECT_EQ(::mmap(nullptr, 2ul * 4096, PROT_READ, MAP_PRIVATE, ring_->fd(), 0), MAP_FAILED);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(PlainPerfRingTest, TheRingEndsWithItsLastMapping) {
  open({.data_pages = 1, .wakeup_events = 1});
  touch(300);
  auto second = Mapping::of_file(ring_->fd(), 2ul * 4096, PROT_READ | PROT_WRITE, 0, "second");
  ASSERT_TRUE(second) << second.error();
  EXPECT_EQ(poll_now(*ring_), POLLIN);
  ring_->unmap();
  EXPECT_EQ(ring_->ring().consumer_page, nullptr);
  EXPECT_EQ(ring_->ring().data, nullptr);
  EXPECT_EQ(ring_->ring().data_size, 0u);
  EXPECT_EQ(poll_now(*ring_), 0) << "one mapping is left";
  second->reset();
  EXPECT_EQ(poll_now(*ring_), POLLHUP);
  EXPECT_EQ(poll_now(*ring_), POLLHUP) << "a level, not an edge";
  touch(7);
  EXPECT_EQ(ring_->counts().value(), (PlainPerfRing::Counts{.events = 307, .lost = 45})) << "not counted as lost";

  ASSERT_TRUE(ring_->map());
  EXPECT_EQ(positions(), Positions{});
  touch(1);
  const auto records = drain(*ring_);
  ASSERT_EQ(records.size(), 1u) << "the old ring's losses went with it";
  EXPECT_EQ(ring_->counts().value(), (PlainPerfRing::Counts{.events = 308, .lost = 45})) << "the event's stay";
}

TEST_F(PlainPerfRingTest, AnExitedThreadsRingHangsUpWithItsDataUnread) {
  std::thread([&] {
    open({.data_pages = 1});
    touch(3);
  }).join();
  // Nothing is asked for, so this ends with POLLHUP only. The thread may still be on its way out.
  pollfd item{.fd = ring_->fd(), .events = 0, .revents = 0};
  ASSERT_EQ(::poll(&item, 1, -1), 1);
  EXPECT_EQ(item.revents, POLLHUP);
  EXPECT_EQ(drain(*ring_).size(), 3u);
}

TEST_F(PlainPerfRingTest, WakesByWakeupEventsAsSpecified) {
  // KERNEL-RINGS 2.9, N = 4096.
  EXPECT_EQ(woken_at({.data_pages = 1, .wakeup_events = 1}, 300), from_to(1, 300));
  EXPECT_EQ(woken_at({.data_pages = 1, .wakeup_events = 3}, 120), from_to(3, 120, 3));
  EXPECT_EQ(woken_at({.data_pages = 1, .wakeup_events = 1u << 31}, 300), from_to(1, 300));
  EXPECT_EQ(woken_at({.data_pages = 1, .wakeup_events = 0}, 700), (std::vector{129, 257, 385, 513, 641}));
  EXPECT_EQ(woken_at({.data_pages = 1, .wakeup_events = 100}, 600),
            (std::vector{100, 129, 200, 257, 300, 385, 400, 500, 513, 600}));
  EXPECT_EQ(woken_at({.data_pages = 1, .wakeup_events = 3, .backward = true}, 12), from_to(3, 12, 3));
}

TEST_F(PlainPerfRingTest, WakesByTheWatermarkAsSpecified) {
  // KERNEL-RINGS 2.9, N = 4096.
  EXPECT_EQ(woken_at({.data_pages = 1, .watermark_bytes = 1}, 50), from_to(1, 50));
  EXPECT_EQ(woken_at({.data_pages = 1, .watermark_bytes = 15}, 50), from_to(1, 50));
  EXPECT_EQ(woken_at({.data_pages = 1, .watermark_bytes = 16}, 50), from_to(2, 50));
  auto all_but_17 = from_to(2, 30);
  std::erase(all_but_17, 17);
  EXPECT_EQ(woken_at({.data_pages = 1, .watermark_bytes = 17}, 30), all_but_17);
  EXPECT_EQ(woken_at({.data_pages = 1, .watermark_bytes = 32}, 20), from_to(3, 20, 2));
  EXPECT_EQ(woken_at({.data_pages = 1, .watermark_bytes = 100}, 40), (std::vector{7, 13, 19, 26, 32, 38}));
  EXPECT_EQ(woken_at({.data_pages = 1, .watermark_bytes = 4096}, 600), (std::vector{257, 513}));
  EXPECT_EQ(woken_at({.data_pages = 1, .watermark_bytes = 1u << 20}, 600), (std::vector{257, 513}));
  EXPECT_EQ(woken_at({.data_pages = 1, .watermark_bytes = 32, .backward = true}, 11), from_to(3, 11, 2));
}

TEST_F(PlainPerfRingTest, ReadinessIsToldOnceWhateverIsUnread) {
  open({.data_pages = 1, .wakeup_events = 1});
  touch(1);
  EXPECT_EQ(poll_now(*ring_), POLLIN);
  EXPECT_EQ(poll_now(*ring_), 0) << "data is unread, and yet";
  touch(1);
  drain(*ring_);
  EXPECT_EQ(poll_now(*ring_), POLLIN) << "it is all read, and yet";
  touch(3);
  EXPECT_EQ(poll_now(*ring_), POLLIN);
  EXPECT_EQ(poll_now(*ring_), 0) << "three wake-ups were one";
}

TEST_F(PlainPerfRingTest, AddingToAnEpollSetEatsThePendingWakeup) {
  open({.data_pages = 1, .wakeup_events = 1});
  const ringside_ring ring = ring_->ring();
  touch(1);
  auto late = EpollSet::create({&ring, 1}, RINGSIDE_LEVEL);
  ASSERT_TRUE(late) << late.error();
  ringside_ready ready{};
  EXPECT_EQ(late->wait(&ready, 1, 0), 0);
  touch(1);
  EXPECT_EQ(late->wait(&ready, 1, 10'000'000'000), 1);  // on PREEMPT_RT it may come a moment later
  EXPECT_EQ(late->wait(&ready, 1, 0), 0);
}

TEST_F(PlainPerfRingTest, ALostRecordWakesNobody) {
  open({.data_pages = 1, .wakeup_events = 1});
  touch(255);
  EXPECT_EQ(poll_now(*ring_), POLLIN);
  touch(20);
  EXPECT_EQ(ring_->counts()->lost, 20u);
  EXPECT_EQ(poll_now(*ring_), 0);
  drain(*ring_);
  touch(1);
  EXPECT_EQ(poll_now(*ring_), POLLIN);
}

TEST_F(PlainPerfRingTest, TwoEventsOfOneRingShareItsCountTowardsAWakeup) {
  // KERNEL-RINGS 2.9: the owner asks for 4, the other for 2. The count after each: 1 2 3 2 1 0 1 2 3 0 1 0.
  open({.data_pages = 1, .wakeup_events = 4});
  auto other = PlainPerfRing::open({.wakeup_events = 2});
  ASSERT_TRUE(other) << other.error();
  ASSERT_TRUE(other->redirect_to(*ring_));
  const std::string order = "eeebbbbeeeeb";
  std::vector<int> woken;
  for (std::size_t i = 0; i < order.size(); ++i) {
    touch(order[i] == 'e' ? *ring_ : *other, 1);
    if (poll_now(i % 2 == 0 ? *ring_ : *other) == POLLIN) woken.push_back(static_cast<int>(i + 1));
  }
  EXPECT_EQ(woken, (std::vector{4, 5, 6, 10, 12}));
  EXPECT_EQ(drain(*ring_).size(), 12u);
}

TEST_F(PlainPerfRingTest, LostIsOfTheRingAndNamesWhoWroteItWhileTheCountIsOfTheEvent) {
  open({.data_pages = 1});
  auto other = PlainPerfRing::open({});
  ASSERT_TRUE(other) << other.error();
  ASSERT_TRUE(other->redirect_to(*ring_));
  touch(*ring_, 255 + 3);
  touch(*other, 4);
  EXPECT_EQ(ring_->counts()->lost, 3u);
  EXPECT_EQ(other->counts()->lost, 4u);
  drain(*ring_);
  touch(*other, 1);
  const Record lost = drain(*ring_).at(0);
  EXPECT_EQ(lost.header.type, PERF_RECORD_LOST);
  EXPECT_EQ(lost.lost(), 7u);
  EXPECT_EQ(lost.id(), other->id().value());
  ring_->unmap();
  EXPECT_EQ(poll_now(*other), POLLHUP) << "the ring's end detaches it";
}

TEST_F(PlainPerfRingTest, RedirectingToARingOfTheOtherDirectionIsRefused) {
  open({.data_pages = 1, .backward = true});
  auto other = PlainPerfRing::open({});
  ASSERT_TRUE(other) << other.error();
  const auto redirected = other->redirect_to(*ring_);
  ASSERT_FALSE(redirected);
  EXPECT_EQ(redirected.error().code, EINVAL);
}

TEST_F(PlainPerfRingTest, DataHeadIsNeverReadByTheKernel) {
  // KERNEL-RINGS 2.2: what user space stores there is kept until the next publish.
  open({.data_pages = 1});
  touch(2);
  auto* const head = reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(ring_->ring().consumer_page) +
                                                      ring::perf::data_head_offset);
  *head = 12'345;
  EXPECT_EQ(positions().producer, 12'345u);
  touch(1);
  EXPECT_EQ(positions().producer, 3 * sample_bytes);
}

TEST_F(PlainPerfRingTest, ATailAheadOfTheHeadMakesTheRingLookFull) {
  // KERNEL-RINGS 2.13: head 16; tail 24 leaves space 7, tail 4112 (ahead by N) leaves all of it.
  open({.data_pages = 1});
  touch(1);
  set_consumer_position(ring_->ring(), 24);
  touch(1);
  EXPECT_EQ(ring_->counts()->lost, 1u);
  set_consumer_position(ring_->ring(), 16 + 4096);
  touch(254);  // and 24 for the PERF_RECORD_LOST: 4088 bytes
  EXPECT_EQ(ring_->counts()->lost, 1u);
  EXPECT_EQ(positions().producer, 16u + 24 + 254 * 16);
}

TEST_F(PlainPerfRingTest, MovingKeepsTheRing) {
  open({.data_pages = 1});
  PlainPerfRing moved = std::move(*ring_);
  touch(moved, 2);
  EXPECT_EQ(drain(moved).size(), 2u);
  EXPECT_EQ(moved.ring_set().rings, &moved.ring());
  EXPECT_EQ(moved.ring_set().ring_count, 1u);
}

TEST_F(PlainPerfRingTest, NothingIsLeftAfterAHundred) {
  const test::Holdings before = test::holdings();
  for (int i = 0; i < 100; ++i) {
    const auto first = PlainPerfRing::open({.overwrite = i % 2 == 0});
    ASSERT_TRUE(first) << first.error();
    auto second = PlainPerfRing::open({});
    ASSERT_TRUE(second) << second.error();
    EXPECT_EQ(test::holdings().descriptors, before.descriptors + 2);
    EXPECT_EQ(test::holdings().ring_mappings, before.ring_mappings + 2);
    if (i % 4 == 0) second->unmap();
    ASSERT_FALSE(PlainPerfRing::open({.data_pages = 3}));
    *second = PlainPerfRing::open({}).value();
  }
  EXPECT_EQ(test::holdings(), before);
}

}  // namespace
}  // namespace ringside::real
