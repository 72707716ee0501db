// SPDX-License-Identifier: Apache-2.0
//
// Producers of user ring buffers on a ring in plain memory: what they store, where, and what they tell.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "consumers/mutants/mutants.h"
#include "consumers/strategies.h"
#include "ring/layout.h"
#include "ring/producer.h"

namespace ringside::consumers {
namespace {

using ring::ringbuf::busy_bit;
using ring::ringbuf::discard_bit;

constexpr std::uint64_t size = 4096;

/// A ring whose data is mapped twice, as the kernel's is, and a host that plays a list of answers.
class Ring {
 public:
  Ring() {
    const int file = memfd_create("user-ring", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(file, size), 0);
    void* both = mmap(nullptr, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data_ = static_cast<std::byte*>(both);
    for (const std::uint64_t at : {std::uint64_t{0}, size}) {
      EXPECT_EQ(mmap(data_ + at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0), data_ + at);
    }
    close(file);
    host = {.abi_version = RINGSIDE_PRODUCER_ABI,
            .struct_size = sizeof(ringside_producer_host),
            .context = this,
            .wait = [](void* self, std::int64_t timeout_ns) { return as(self).next_answer(timeout_ns); },
            .now_ns = [](void* self) { return as(self).now_ns; },
            .yield = [](void* self) { as(self).now_ns += 10; }};
    view = {.fd = -1,
            .page_size = size,
            .data_size = size,
            .consumer_page = &consumer_pos,
            .producer_page = &producer_pos,
            .data = data_};
  }
  ~Ring() {
    if (state != nullptr) table->close(state);
    munmap(data_, 2 * size);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void open(const ringside_producer& producer) {
    table = &producer;
    ASSERT_EQ(table->open(&view, &host, &state), 0);
  }
  std::uint32_t header(std::uint64_t position) const {
    std::uint32_t word = 0;
    std::memcpy(&word, data_ + (position & (size - 1)), sizeof(word));
    return word;
  }
  int reserve(std::uint32_t bytes, void** payload = nullptr) {
    void* ignored = nullptr;
    return table->reserve(state, bytes, payload != nullptr ? payload : &ignored);
  }
  std::byte* data() const { return data_; }

  std::uint64_t consumer_pos = 0;
  std::uint64_t producer_pos = 0;
  std::int64_t now_ns = 0;
  struct Answer {
    int woken;
    std::uint64_t consumer_pos;  // where the kernel's drain has come to
  };
  std::vector<Answer> answers;
  std::vector<std::int64_t> timeouts;
  ringside_user_ring view{};
  ringside_producer_host host{};
  const ringside_producer* table = nullptr;
  void* state = nullptr;

 private:
  static Ring& as(void* self) { return *static_cast<Ring*>(self); }
  int next_answer(std::int64_t timeout_ns) {
    timeouts.push_back(timeout_ns);
    if (answers.empty()) return -ECANCELED;
    const Answer answer = answers.front();
    answers.erase(answers.begin());
    consumer_pos = answer.consumer_pos;
    now_ns += 100;
    return answer.woken;
  }

  std::byte* data_ = nullptr;
};

TEST(UserReserve, ASampleIsBusyUntilItEnds) {
  Ring ring;
  ring.open(user_reserve());
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(ring.reserve(5, &first), 0);
  EXPECT_EQ(first, ring.data() + 8);
  EXPECT_EQ(ring.header(0), 5 | busy_bit);
  EXPECT_EQ(ring.producer_pos, 16u);
  ASSERT_EQ(ring.reserve(0, &second), 0);
  EXPECT_EQ(ring.producer_pos, 24u);
  EXPECT_EQ(ring.table->commit(ring.state, second, RINGSIDE_DISCARD_SAMPLE), 0);
  EXPECT_EQ(ring.header(16), discard_bit);
  EXPECT_EQ(ring.header(0), 5 | busy_bit);
  EXPECT_EQ(ring.table->commit(ring.state, first, RINGSIDE_SUBMIT_SAMPLE), 0);
  EXPECT_EQ(ring.header(0), 5u);
}

TEST(UserReserve, SendsACopy) {
  Ring ring;
  ring.open(user_reserve());
  EXPECT_EQ(ring.table->send(ring.state, "hello", 5), 0);
  EXPECT_EQ(ring.header(0), 5u);
  EXPECT_EQ(std::memcmp(ring.data() + 8, "hello", 5), 0);
  EXPECT_EQ(ring.table->send(ring.state, nullptr, 0), 0);
  EXPECT_EQ(ring.producer_pos, 24u);
}

TEST(UserReserve, FillsTheRingToTheLastByteAndTellsWhatNeverFits) {
  Ring ring;
  ring.open(user_reserve());
  EXPECT_EQ(ring.reserve(4089), -E2BIG);
  EXPECT_EQ(ring.reserve(RINGSIDE_LARGEST_SAMPLE + 1), -E2BIG);
  EXPECT_EQ(ring.reserve(4080), 0);
  EXPECT_EQ(ring.reserve(1), -ENOSPC);  // 8 bytes are free
  EXPECT_EQ(ring.reserve(0), 0);
  EXPECT_EQ(ring.reserve(0), -ENOSPC);
  ring.consumer_pos = 4088;
  EXPECT_EQ(ring.reserve(4080), 0);
}

TEST(UserReserve, StartsWhereTheRingStands) {
  Ring ring;
  ring.consumer_pos = ring.producer_pos = (1ull << 32) - 8;
  ring.open(user_reserve());
  void* payload = nullptr;
  ASSERT_EQ(ring.reserve(16, &payload), 0);
  EXPECT_EQ(payload, ring.data());  // the header lies in the ring's last 8 bytes
  EXPECT_EQ(ring.producer_pos, (1ull << 32) + 16);
}

TEST(UserReserve, WaitsUntilThereIsRoomForTheSample) {
  Ring ring;
  ring.open(user_reserve());
  ASSERT_EQ(ring.reserve(4080), 0);
  ring.answers = {{1, 16}, {1, 64}};  // 8 + 16 bytes, then 8 + 64
  EXPECT_EQ(ring.table->wait(ring.state, 40, -1), RINGSIDE_WAIT_READY);
  EXPECT_EQ(ring.timeouts, (std::vector<std::int64_t>{-1, -1}));
  EXPECT_EQ(ring.table->wait(ring.state, 40, -1), RINGSIDE_WAIT_READY) << "room that is there is not slept for";
  EXPECT_EQ(ring.timeouts.size(), 2u);
}

TEST(UserReserve, TellsATimeoutOnlyAfterALook) {
  Ring ring;
  ring.open(user_reserve());
  ASSERT_EQ(ring.reserve(4080), 0);
  ring.answers = {{1, 0}, {0, 0}};
  EXPECT_EQ(ring.table->wait(ring.state, 100, 1000), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(ring.timeouts, (std::vector<std::int64_t>{1000, 900}));
  ring.answers = {{0, 4088}};  // a drain that woke nobody
  EXPECT_EQ(ring.table->wait(ring.state, 100, 1000), RINGSIDE_WAIT_READY);
  ring.consumer_pos = 0;
  ring.answers = {{-EINTR, 0}};
  EXPECT_EQ(ring.table->wait(ring.state, 100, 1000), -EINTR);
}

TEST(UserReserve, RefusesAnotherContract) {
  Ring ring;
  ring.host.abi_version = 99;
  EXPECT_EQ(user_reserve().open(&ring.view, &ring.host, &ring.state), -EINVAL);
  EXPECT_EQ(libbpf_user().open(&ring.view, &ring.host, &ring.state), -EINVAL);
  ring.host.abi_version = RINGSIDE_PRODUCER_ABI;
  EXPECT_EQ(libbpf_user().open(&ring.view, &ring.host, &ring.state), -EBADF) << "there is no descriptor";
}

TEST(UserMutants, EachDoesWhatItsNameSays) {
  {
    Ring ring;
    ring.open(mutant::commit_before_write());
    ASSERT_EQ(ring.reserve(8), 0);
    EXPECT_EQ(ring.header(0), 8u);
  }
  {
    Ring ring;
    ring.open(mutant::forget_space());
    ASSERT_EQ(ring.reserve(4088), 0);
    EXPECT_EQ(ring.reserve(8), 0);
  }
  {
    Ring ring;
    ring.open(mutant::unrounded_span());
    ASSERT_EQ(ring.reserve(5), 0);
    EXPECT_EQ(ring.producer_pos, 13u);
  }
  {
    Ring ring;
    ring.open(mutant::drop_when_full());
    const std::vector<std::byte> bytes(4088);
    EXPECT_EQ(ring.table->send(ring.state, bytes.data(), 4088), 0);
    EXPECT_EQ(ring.table->send(ring.state, bytes.data(), 8), 0);
    EXPECT_EQ(ring.producer_pos, 4096u);
  }
  {
    Ring ring;
    ring.open(mutant::swallow_wakeup());
    ring.answers = {{1, 4096}};
    EXPECT_EQ(ring.table->wait(ring.state, 8, -1), -ECANCELED) << "it slept though it was told of room";
  }
  {
    Ring ring;
    ring.open(mutant::two_handles());
    for (int i = 0; i < 15; ++i) ASSERT_EQ(ring.reserve(8), 0);
    EXPECT_EQ(ring.producer_pos, 15u * 16);
    ASSERT_EQ(ring.reserve(8), 0);
    EXPECT_EQ(ring.producer_pos, 15u * 16) << "the late handle took the place of the sample before";
  }
}

}  // namespace
}  // namespace ringside::consumers
