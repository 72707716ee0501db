/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer contract in C: its shapes as a C compiler lays them out, and a consumer that is written in C.
 */
#include "ring/consumer.h"

#include <stddef.h>

#include "ring/consumer_abi.h"

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

struct ringside_c_layout ringside_layout_in_c(void) {
  struct ringside_c_layout layout = {
      .ring_size = sizeof(struct ringside_ring),
      .ring_data = offsetof(struct ringside_ring, data),
      .ring_set_size = sizeof(struct ringside_ring_set),
      .record_size = sizeof(struct ringside_record),
      .record_token = offsetof(struct ringside_record, token),
      .ready_size = sizeof(struct ringside_ready),
      .host_size = sizeof(struct ringside_host),
      .host_adopt = offsetof(struct ringside_host, adopt),
      .consumer_size = sizeof(struct ringside_consumer),
      .consumer_close = offsetof(struct ringside_consumer, close),
  };
  return layout;
}
