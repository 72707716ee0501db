// SPDX-License-Identifier: Apache-2.0
#include "sim/ring_memory.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>

#include "sim/test_support.h"

namespace ringside::sim {
namespace {

using test::must;

sigjmp_buf escape;
void* fault_address;

void on_fault(int, siginfo_t* info, void*) {
  fault_address = info->si_addr;
  siglongjmp(escape, 1);
}

// Runs `access` and returns the address at which it faulted, or null when it did not.
void* fault_of(const std::function<void()>& access) {
  struct sigaction action = {};
  struct sigaction before_segv = {};
  struct sigaction before_bus = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
  fault_address = nullptr;
  if (sigsetjmp(escape, 1) == 0) access();
  sigaction(SIGSEGV, &before_segv, nullptr);
  sigaction(SIGBUS, &before_bus, nullptr);
  return fault_address;
}

void poke(const void* at, std::uint64_t offset) {
  volatile char* place = static_cast<char*>(const_cast<void*>(at)) + offset;
  *place = 1;
}

void peek(const void* at, std::int64_t offset) {
  const volatile char* place = static_cast<const char*>(at) + offset;
  static_cast<void>(*place);
}

TEST(RingMemory, AUserThatProducesWritesItsPagesAndNotTheConsumers) {
  const RingbufMemory memory = must(RingbufMemory::create(8192, UserMapping::own, UserRole::producer));
  const void* const consumer_page = memory.user_consumer_page();
  EXPECT_EQ(fault_of([&] { poke(consumer_page, 0); }), consumer_page);  // KERNEL-RINGS 1.3
  EXPECT_EQ(fault_of([&] { peek(consumer_page, 0); }), nullptr);
  EXPECT_EQ(fault_of([&] { poke(memory.produced_page(), 0); }), nullptr);
  EXPECT_EQ(fault_of([&] { poke(memory.produced_data(), 2 * 8192 - 1); }), nullptr);
  EXPECT_EQ(std::to_integer<int>(memory.kernel_data()[8191]), 1) << "the second mapping is the first again";
  EXPECT_NE(fault_of([&] { poke(memory.produced_data(), 2 * 8192); }), nullptr) << "the guard page";
}

TEST(RingMemory, RingbufTakesPowersOfTwoOfPagesUpTo2GiB) {
  for (const std::uint64_t size : {0ull, 1ull, 2048ull, 4095ull, 12288ull, 1ull << 32}) {  // KERNEL-RINGS 1.2
    const auto memory = RingbufMemory::create(size);
    ASSERT_FALSE(memory) << size;
    EXPECT_EQ(memory.error().code, EINVAL);
    EXPECT_NE(to_string(memory.error()).find("power of two"), std::string::npos);
  }
  for (const std::uint64_t size : {4096ull, 8192ull, 1ull << 20, 1ull << 31}) {
    EXPECT_TRUE(RingbufMemory::create(size, UserMapping::own)) << size;
  }
}

TEST(RingMemory, PerfTakesPowersOfTwoOfPages) {
  for (const std::uint64_t size : {0ull, 100ull, 12288ull}) {
    const auto memory = PerfMemory::create(size, true);
    ASSERT_FALSE(memory) << size;
    EXPECT_EQ(memory.error().code, EINVAL);
  }
  EXPECT_TRUE(PerfMemory::create(8192, true));
}

TEST(RingMemory, TheRingbufDataIsTheSameMemoryFourTimes) {
  const RingbufMemory memory = must(RingbufMemory::create(8192, UserMapping::own));
  memory.kernel_data()[8191] = std::byte{7};
  EXPECT_EQ(memory.kernel_data()[8192 + 8191], std::byte{7});
  EXPECT_EQ(test::load<char>(memory.user_data(), 8191), 7);
  EXPECT_EQ(test::load<char>(memory.user_data(), 8192 + 8191), 7);
}

TEST(RingMemory, TheConsumerPageIsSharedAndWritable) {
  const RingbufMemory memory = must(RingbufMemory::create(4096, UserMapping::own));
  test::store(memory.user_consumer_page(), 0, std::uint64_t{99});
  EXPECT_EQ(test::load<std::uint64_t>(memory.kernel_consumer_page(), 0), 99u);
  EXPECT_EQ(fault_of([&] { poke(memory.user_consumer_page(), 4095); }), nullptr);
}

TEST(RingMemory, StoresThatTheKernelRefusesFaultAndAreDescribed) {
  const RingbufMemory memory = must(RingbufMemory::create(8192, UserMapping::own));
  const auto where = [&](const void* at, std::uint64_t offset) {
    const void* fault = fault_of([&] { poke(at, offset); });
    const auto place = memory.locate(fault);
    return place ? describe(*place) : std::string("no fault");
  };
  EXPECT_EQ(where(memory.user_producer_page(), 8), "producer page, offset 8");
  EXPECT_EQ(where(memory.user_data(), 128), "data page 0, offset 128");
  EXPECT_EQ(where(memory.user_data(), 4096 + 5), "data page 1, offset 5");
  EXPECT_EQ(where(memory.user_data(), 8192 + 16), "second mapping of data page 0, offset 16");
  EXPECT_EQ(where(memory.user_data(), 16384), "guard page outside the ring, offset 0");
  EXPECT_EQ(where(memory.user_consumer_page(), 4096), "guard page outside the ring, offset 0");
}

TEST(RingMemory, ReadsOutsideTheRingFault) {
  const RingbufMemory memory = must(RingbufMemory::create(4096, UserMapping::own));
  EXPECT_EQ(fault_of([&] { peek(memory.user_data(), 2 * 4096 - 1); }), nullptr);
  EXPECT_NE(fault_of([&] { peek(memory.user_data(), 2 * 4096); }), nullptr);
  EXPECT_NE(fault_of([&] { peek(memory.user_consumer_page(), -1); }), nullptr);
  EXPECT_NE(fault_of([&] { peek(memory.user_producer_page(), -1); }), nullptr);
}

TEST(RingMemory, ReadOnlyPagesCannotBeMadeWritable) {
  const RingbufMemory memory = must(RingbufMemory::create(4096, UserMapping::own));
  EXPECT_EQ(mprotect(const_cast<void*>(memory.user_data()), 4096, PROT_READ | PROT_WRITE), -1);
  EXPECT_EQ(errno, EACCES);  // KERNEL-RINGS 1.3
}

TEST(RingMemory, PerfDataIsReadOnlyAndMappedOnce) {
  const PerfMemory memory = must(PerfMemory::create(4096, true, UserMapping::own));
  EXPECT_EQ(fault_of([&] { poke(memory.user_control_page(), 1032); }), nullptr);
  const void* fault = fault_of([&] { poke(memory.user_data(), 40); });
  EXPECT_EQ(memory.locate(fault), (Place{Region::data, 40}));
  fault = fault_of([&] { peek(memory.user_data(), 4096); });
  EXPECT_EQ(memory.locate(fault), (Place{Region::guard, 0}));
}

TEST(RingMemory, AnOverwriteRingsControlPageIsReadOnly) {
  const PerfMemory memory = must(PerfMemory::create(4096, false, UserMapping::own));
  const void* fault = fault_of([&] { poke(memory.user_control_page(), 1032); });
  EXPECT_EQ(memory.locate(fault), (Place{Region::control_page, 1032}));
}

TEST(RingMemory, AddressesElsewhereAreNotIts) {
  const RingbufMemory memory = must(RingbufMemory::create(4096, UserMapping::own));
  int elsewhere = 0;
  EXPECT_EQ(memory.locate(&elsewhere), std::nullopt);
  EXPECT_EQ(memory.locate(nullptr), std::nullopt);
  EXPECT_EQ(memory.locate(memory.kernel_data()), std::nullopt);
}

TEST(RingMemory, TheKernelsMappingCanBeHandedOutForThreadSanitizer) {
  const RingbufMemory memory = must(RingbufMemory::create(4096, UserMapping::kernels));
  EXPECT_EQ(memory.user_data(), memory.kernel_data());
  EXPECT_EQ(memory.user_consumer_page(), memory.kernel_consumer_page());
}

}  // namespace
}  // namespace ringside::sim
