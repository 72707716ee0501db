// SPDX-License-Identifier: Apache-2.0
#include "ring/consumer_abi.h"

#include <gtest/gtest.h>

namespace {

TEST(ConsumerContract, LaysOutTheSameInCAndInCpp) {
  const ringside_c_layout c = ringside_layout_in_c();
  EXPECT_EQ(c.ring_size, sizeof(ringside_ring));
  EXPECT_EQ(c.ring_data, offsetof(ringside_ring, data));
  EXPECT_EQ(c.ring_set_size, sizeof(ringside_ring_set));
  EXPECT_EQ(c.ring_set_swap, offsetof(ringside_ring_set, swap));
  EXPECT_EQ(c.ring_set_stamp_bytes, offsetof(ringside_ring_set, stamp_bytes));
  EXPECT_EQ(c.swap_size, sizeof(ringside_swap));
  EXPECT_EQ(c.record_size, sizeof(ringside_record));
  EXPECT_EQ(c.record_token, offsetof(ringside_record, token));
  EXPECT_EQ(c.ready_size, sizeof(ringside_ready));
  EXPECT_EQ(c.host_size, sizeof(ringside_host));
  EXPECT_EQ(c.host_adopt, offsetof(ringside_host, adopt));
  EXPECT_EQ(c.host_batch_begin, offsetof(ringside_host, batch_begin));
  EXPECT_EQ(c.host_batch_end, offsetof(ringside_host, batch_end));
  EXPECT_EQ(c.consumer_size, sizeof(ringside_consumer));
  EXPECT_EQ(c.consumer_close, offsetof(ringside_consumer, close));
}

TEST(ProducerContract, LaysOutTheSameInCAndInCpp) {
  const ringside_c_layout c = ringside_layout_in_c();
  EXPECT_EQ(c.user_ring_size, sizeof(ringside_user_ring));
  EXPECT_EQ(c.user_ring_data, offsetof(ringside_user_ring, data));
  EXPECT_EQ(c.producer_host_size, sizeof(ringside_producer_host));
  EXPECT_EQ(c.producer_host_yield, offsetof(ringside_producer_host, yield));
  EXPECT_EQ(c.producer_size, sizeof(ringside_producer));
  EXPECT_EQ(c.producer_close, offsetof(ringside_producer, close));
}

TEST(ProducerContract, AProducerWrittenInCIsCalledFromCpp) {
  const ringside_producer* producer = ringside_c_producer();
  ASSERT_EQ(producer->abi_version, RINGSIDE_PRODUCER_ABI);
  EXPECT_EQ(producer->reserve, nullptr);
  ringside_user_ring ring{};
  void* state = nullptr;
  EXPECT_EQ(producer->open(&ring, nullptr, &state), -22);
  ring.data_size = 4096;
  EXPECT_EQ(producer->open(&ring, nullptr, &state), 0);
  EXPECT_EQ(producer->send(state, nullptr, RINGSIDE_LARGEST_SAMPLE), 0);
  EXPECT_EQ(producer->send(state, nullptr, RINGSIDE_LARGEST_SAMPLE + 1), -7);
  EXPECT_EQ(producer->wait(state, 8, 0), RINGSIDE_WAIT_TIMEOUT);
  producer->close(state);
}

TEST(ConsumerContract, AConsumerWrittenInCIsCalledFromCpp) {
  const ringside_consumer* consumer = ringside_c_consumer();
  ASSERT_EQ(consumer->abi_version, RINGSIDE_CONSUMER_ABI);
  EXPECT_EQ(consumer->struct_size, sizeof(ringside_consumer));
  EXPECT_EQ(consumer->release, nullptr);
  ringside_ring_set rings{};
  void* state = nullptr;
  EXPECT_EQ(consumer->open(&rings, nullptr, &state), -22);
  rings.ring_count = 1;
  EXPECT_EQ(consumer->open(&rings, nullptr, &state), 0);
  EXPECT_EQ(consumer->drain(state, 7), 7);
  EXPECT_EQ(consumer->wait(state, 0), RINGSIDE_WAIT_TIMEOUT);
  EXPECT_EQ(consumer->wait(state, -1), RINGSIDE_WAIT_READY);
  consumer->close(state);
}

}  // namespace
