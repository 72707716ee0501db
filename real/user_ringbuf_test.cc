// SPDX-License-Identifier: Apache-2.0
#include "real/user_ringbuf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "real/kernel_test.h"

namespace ringside::real {
namespace {

using ring::ringbuf::busy_bit;
using ring::ringbuf::discard_bit;

class UserRingbuf : public test::KernelTest {
 protected:
  static void store(const UserRingbufMap& ring, std::uint64_t position, std::uint32_t header, const char* bytes) {
    auto* const at = static_cast<std::byte*>(ring.ring().data) + (position & (ring.ring().data_size - 1));
    std::memcpy(at, &header, sizeof(header));
    std::memcpy(at + 8, bytes, std::strlen(bytes));
  }
  static void produce_to(const UserRingbufMap& ring, std::uint64_t position) {
    // Release, as a producer publishes.
    __atomic_store_n(static_cast<std::uint64_t*>(ring.ring().producer_page), position, __ATOMIC_RELEASE);
  }
  static std::uint64_t consumer_pos(const UserRingbufMap& ring) {
    return __atomic_load_n(static_cast<const std::uint64_t*>(ring.ring().consumer_page), __ATOMIC_ACQUIRE);
  }
};

TEST_F(UserRingbuf, IsMappedAsTheKernelAllows) {
  const auto ring = UserRingbufMap::create(8192);
  ASSERT_TRUE(ring) << ring.error();
  EXPECT_EQ(test::signal_of_store(ring->ring().consumer_page), SIGSEGV);
  EXPECT_EQ(test::signal_of_store(ring->ring().producer_page), 0);
  auto* const data = static_cast<std::byte*>(ring->ring().data);
  EXPECT_EQ(test::signal_of_store(data + 8191), 0);
  EXPECT_EQ(data[2 * 8192 - 1], data[8191]) << "the second mapping is the first again";
}

TEST_F(UserRingbuf, RefusesSizesThatTheKernelRefuses) {
  for (const std::uint64_t size : {0ull, 2048ull, 12288ull, 1ull << 40}) {
    const auto ring = UserRingbufMap::create(size);
    ASSERT_FALSE(ring) << size;
    EXPECT_EQ(ring.error().code, EINVAL) << size;
  }
}

TEST_F(UserRingbuf, ADrainHandsOutWhatItsCallbackGot) {
  const auto ring = UserRingbufMap::create(4096);
  ASSERT_TRUE(ring) << ring.error();
  auto drain = UserDrain::load(*ring);
  ASSERT_TRUE(drain) << drain.error();
  store(*ring, 0, 5, "hello");
  store(*ring, 16, 3 | discard_bit, "not");
  store(*ring, 32, 0, "");
  store(*ring, 40, 8 | busy_bit, "not yet");
  produce_to(*ring, 56);
  std::vector<std::string> got;
  const auto take = [&](std::span<const std::byte> sample) {
    got.emplace_back(reinterpret_cast<const char*>(sample.data()), sample.size());
  };
  EXPECT_EQ(drain->drain(0, 1, take), 1);
  EXPECT_EQ(got, (std::vector<std::string>{"hello"}));
  EXPECT_EQ(drain->drain(0, 0, take), 1);
  EXPECT_EQ(got, (std::vector<std::string>{"hello", ""}));
  EXPECT_EQ(consumer_pos(*ring), 40u);
  EXPECT_EQ(drain->drain(8, 0, take), -EINVAL);
  EXPECT_EQ(got.size(), 2u);
}

TEST_F(UserRingbuf, ADrainHandsOutTheLargestSampleThroughTheRingsEnd) {
  constexpr std::uint64_t size = 1u << 20;
  const auto ring = UserRingbufMap::create(size);
  ASSERT_TRUE(ring) << ring.error();
  auto drain = UserDrain::load(*ring);
  ASSERT_TRUE(drain) << drain.error();
  store(*ring, 0, 4088 | discard_bit, "");
  produce_to(*ring, 4096);
  ASSERT_EQ(drain->drain(0, 0, [](auto) { FAIL(); }), 0);
  auto* const data = static_cast<std::byte*>(ring->ring().data);
  for (std::uint64_t at = 4096 + 8; at < 4096 + size; ++at) data[at] = static_cast<std::byte>(at * 7 >> 3);
  const auto header = static_cast<std::uint32_t>(size - 8);
  std::memcpy(data + 4096, &header, sizeof(header));
  produce_to(*ring, 4096 + size);
  std::vector<std::byte> got;
  EXPECT_EQ(drain->drain(0, 0, [&](auto sample) { got.assign(sample.begin(), sample.end()); }), 1);
  ASSERT_EQ(got.size(), size - 8);
  EXPECT_EQ(std::memcmp(got.data(), data + 4096 + 8, got.size()), 0);
}

TEST_F(UserRingbuf, LeavesNothingBehind) {
  const auto before = test::holdings();
  {
    const auto ring = UserRingbufMap::create(4096);
    ASSERT_TRUE(ring) << ring.error();
    const auto drain = UserDrain::load(*ring);
    ASSERT_TRUE(drain) << drain.error();
    EXPECT_NE(test::holdings(), before);
  }
  EXPECT_EQ(test::holdings(), before);
}

}  // namespace
}  // namespace ringside::real
