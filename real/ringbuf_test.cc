// SPDX-License-Identifier: Apache-2.0
#include "real/ringbuf.h"

#include <sys/mman.h>

#include "real/kernel_test.h"

namespace ringside::real {
namespace {

using RingbufMapTest = test::KernelTest;

TEST_F(RingbufMapTest, TakesPowersOfTwoFromOnePageOn) {
  for (const std::uint64_t size : {4096u, 8192u, 1u << 20}) {
    const auto ring = RingbufMap::create(size);
    ASSERT_TRUE(ring) << ring.error();
    EXPECT_EQ(ring->size_bytes(), size);
    EXPECT_EQ(ring->ring().data_size, size);
    EXPECT_EQ(positions_of(ring->ring()), Positions{});
  }
}

TEST_F(RingbufMapTest, RefusesEverySizeThatTheKernelRefuses) {
  // The last one is 2^32 + 4096, which a 32-bit size would take for 4096.
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2048}, std::uint64_t{12288},
                                   (std::uint64_t{1} << 32) + 4096}) {
    const auto ring = RingbufMap::create(size);
    ASSERT_FALSE(ring) << size;
    EXPECT_EQ(ring.error().code, EINVAL) << size;
    EXPECT_NE(ring.error().remedy.find("power of two"), std::string::npos);
  }
}

TEST_F(RingbufMapTest, OverwriteRingsAreThereOrTheKernelTheyNeedIsNamed) {
  const auto ring = RingbufMap::create(4096, RingbufMode::overwrite);
  if (!ring) {
    EXPECT_EQ(ring.error().code, EINVAL);
    EXPECT_NE(ring.error().remedy.find("6.19"), std::string::npos);
    return;
  }
  const auto producers = Producers::load(*ring);
  ASSERT_TRUE(producers) << producers.error();
  auto script = ScriptProducer::create(*producers);
  // Twice 4008 bytes: an ordinary ring has no space for the second.
  const std::vector<ring::Operation> twice(2, test::operation(ring::Action::submit, 4000));
  const auto results = script->run(twice);
  ASSERT_TRUE(results) << results.error();
  EXPECT_EQ(*results, (std::vector<int>{0, 0}));
  EXPECT_EQ(positions_of(ring->ring()).producer, 8016u);
}

TEST_F(RingbufMapTest, SecondHalfOfTheDataIsTheFirst) {
  const auto ring = RingbufMap::create(4096);
  ASSERT_TRUE(ring) << ring.error();
  const auto producers = Producers::load(*ring);
  ASSERT_TRUE(producers) << producers.error();
  auto script = ScriptProducer::create(*producers);
  const ring::Operation one = test::operation(ring::Action::submit, 100);
  ASSERT_TRUE(script->run({&one, 1}));
  EXPECT_EQ(std::memcmp(ring->ring().data, static_cast<const std::byte*>(ring->ring().data) + 4096, 4096), 0);
}

TEST_F(RingbufMapTest, ProducerPageAndDataCannotBeWritten) {
  const auto ring = RingbufMap::create(4096);
  ASSERT_TRUE(ring) << ring.error();
  for (const void* place : {ring->ring().producer_page, ring->ring().data}) {
    EXPECT_EQ(test::signal_of_store(place), SIGSEGV);
    EXPECT_EQ(::mprotect(const_cast<void*>(place), 4096, PROT_READ | PROT_WRITE), -1);
    EXPECT_EQ(errno, EACCES);
  }
  EXPECT_EQ(test::signal_of_store(ring->ring().consumer_page), 0);
}

TEST_F(RingbufMapTest, NothingIsLeftAfterAHundred) {
  {
    const auto warm_up = RingbufMap::create(4096);
  }
  const test::Holdings before = test::holdings();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(RingbufMap::create(8192));
  EXPECT_EQ(test::holdings(), before);
}

TEST_F(RingbufMapTest, MovingKeepsTheMappingsOnce) {
  auto ring = RingbufMap::create(4096);
  ASSERT_TRUE(ring);
  const test::Holdings before = test::holdings();
  RingbufMap moved = std::move(*ring);
  EXPECT_EQ(test::holdings(), before);
  EXPECT_EQ(moved.ring_set().rings, &moved.ring());
  EXPECT_EQ(head_of(moved.ring()), Head::empty);
}

}  // namespace
}  // namespace ringside::real
