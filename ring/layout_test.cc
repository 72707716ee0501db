// SPDX-License-Identifier: Apache-2.0
//
// Figures measured on kernels, as the specification of kernel ring semantics gives them (sections in brackets).
#include "ring/layout.h"

#include <gtest/gtest.h>

namespace ringside::ring {
namespace {

TEST(RingbufLayout, ASpanIsHeaderAndPayloadRoundedUpTo8) {
  EXPECT_EQ(ringbuf::span_of(0), 8u);  // [1.4]: lengths 0 and 1..8 give spans 8 and 16
  EXPECT_EQ(ringbuf::span_of(1), 16u);
  EXPECT_EQ(ringbuf::span_of(8), 16u);
  EXPECT_EQ(ringbuf::span_of(9), 24u);
}

TEST(RingbufLayout, ASpanIgnoresBothFlagBits) {
  EXPECT_EQ(ringbuf::span_of(24 | ringbuf::busy_bit | ringbuf::discard_bit), 32u);
}

TEST(RingbufLayout, TheLargestLengthDoesNotOverflow) {
  EXPECT_EQ(ringbuf::span_of(ringbuf::length_mask), (std::uint64_t{1} << 30) + 8);  // 0x3fffffff + 8 = 2^30 + 7
}

TEST(RingbufLayout, TheLargestPayloadLeaves8BytesFree) {
  EXPECT_EQ(ringbuf::max_payload(4096), 4080u);  // [1.5]
  EXPECT_EQ(ringbuf::span_of(static_cast<std::uint32_t>(ringbuf::max_payload(4096))), 4096u - 8);
}

TEST(RingbufLayout, PageOffsetCountsFromTheKernelsPrivatePage) {
  EXPECT_EQ(ringbuf::page_offset(0, 8192, 4096), 3u);  // [1.4]
  EXPECT_EQ(ringbuf::page_offset(4088, 8192, 4096), 3u);
  EXPECT_EQ(ringbuf::page_offset(4096, 8192, 4096), 4u);
  EXPECT_EQ(ringbuf::page_offset(8192 + 4096, 8192, 4096), 4u);
}

TEST(PerfLayout, ASampleIsHeaderSizeAndPayloadRoundedUpTo8) {
  EXPECT_EQ(perf::sample_bytes(0), 16u);  // [2.8]: 0..4 -> 16, 5..12 -> 24, 13..20 -> 32
  EXPECT_EQ(perf::sample_bytes(4), 16u);
  EXPECT_EQ(perf::sample_bytes(5), 24u);
  EXPECT_EQ(perf::sample_bytes(12), 24u);
  EXPECT_EQ(perf::sample_bytes(13), 32u);
  EXPECT_EQ(perf::sample_bytes(20), 32u);
}

TEST(PerfLayout, RawSizeIncludesThePadding) {
  EXPECT_EQ(perf::raw_size(0), 4u);  // [2.8]: 4, 12, 20 ...
  EXPECT_EQ(perf::raw_size(5), 12u);
  EXPECT_EQ(perf::raw_size(32), 36u);
}

TEST(PerfLayout, TheLargestPayloadIsTheLastWhoseSizeFits16Bits) {
  EXPECT_EQ(perf::sample_bytes(perf::max_payload), 65528u);  // [2.8]
  EXPECT_EQ(perf::sample_bytes(perf::max_payload + 1), 65536u);
}

}  // namespace
}  // namespace ringside::ring
