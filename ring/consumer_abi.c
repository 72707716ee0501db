/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contracts in C: their shapes as a C compiler lays them out, and a consumer and a producer that are written in C.
 */
#include "ring/consumer.h"

#include <stddef.h>

#include "ring/consumer_abi.h"
#include "ring/producer.h"

static int echo_open(const struct ringside_ring_set* rings, const struct ringside_host* host, void** state) {
  (void)host;
  *state = NULL;
  return rings->ring_count == 0 ? -22 : 0;
}

static int64_t echo_drain(void* state, uint64_t max_records) {
  (void)state;
  return (int64_t)max_records;
}

static int echo_wait(void* state, int64_t timeout_ns) {
  (void)state;
  return timeout_ns < 0 ? RINGSIDE_WAIT_READY : RINGSIDE_WAIT_TIMEOUT;
}

static void echo_close(void* state) { (void)state; }

const struct ringside_consumer* ringside_c_consumer(void) {
  static const struct ringside_consumer consumer = {
      .abi_version = RINGSIDE_CONSUMER_ABI,
      .struct_size = sizeof(struct ringside_consumer),
      .name = "echo",
      .summary = "answers with what it was asked",
      .ring_kinds = RINGSIDE_RINGBUF | RINGSIDE_PERF,
      .open = echo_open,
      .drain = echo_drain,
      .wait = echo_wait,
      .close = echo_close,
  };
  return &consumer;
}

static int sink_open(const struct ringside_user_ring* ring, const struct ringside_producer_host* host, void** state) {
  (void)host;
  *state = NULL;
  return ring->data_size == 0 ? -22 : 0;
}

static int sink_send(void* state, const void* bytes, uint32_t size) {
  (void)state;
  (void)bytes;
  return size > RINGSIDE_LARGEST_SAMPLE ? -7 : 0;
}

static int sink_wait(void* state, uint32_t size, int64_t timeout_ns) {
  (void)size;
  return echo_wait(state, timeout_ns);
}

const struct ringside_producer* ringside_c_producer(void) {
  static const struct ringside_producer producer = {
      .abi_version = RINGSIDE_PRODUCER_ABI,
      .struct_size = sizeof(struct ringside_producer),
      .name = "sink",
      .summary = "takes what it is given",
      .open = sink_open,
      .send = sink_send,
      .wait = sink_wait,
      .close = echo_close,
  };
  return &producer;
}

struct ringside_c_layout ringside_layout_in_c(void) {
  struct ringside_c_layout layout = {
      .ring_size = sizeof(struct ringside_ring),
      .ring_data = offsetof(struct ringside_ring, data),
      .ring_set_size = sizeof(struct ringside_ring_set),
      .ring_set_swap = offsetof(struct ringside_ring_set, swap),
      .ring_set_stamp_bytes = offsetof(struct ringside_ring_set, stamp_bytes),
      .swap_size = sizeof(struct ringside_swap),
      .record_size = sizeof(struct ringside_record),
      .record_token = offsetof(struct ringside_record, token),
      .ready_size = sizeof(struct ringside_ready),
      .host_size = sizeof(struct ringside_host),
      .record_time_ns = offsetof(struct ringside_record, time_ns),
      .host_adopt = offsetof(struct ringside_host, adopt),
      .host_batch_begin = offsetof(struct ringside_host, batch_begin),
      .host_batch_end = offsetof(struct ringside_host, batch_end),
      .host_sleep = offsetof(struct ringside_host, sleep),
      .consumer_size = sizeof(struct ringside_consumer),
      .consumer_close = offsetof(struct ringside_consumer, close),
      .user_ring_size = sizeof(struct ringside_user_ring),
      .user_ring_data = offsetof(struct ringside_user_ring, data),
      .producer_host_size = sizeof(struct ringside_producer_host),
      .producer_host_yield = offsetof(struct ringside_producer_host, yield),
      .producer_size = sizeof(struct ringside_producer),
      .producer_close = offsetof(struct ringside_producer, close),
  };
  return layout;
}
