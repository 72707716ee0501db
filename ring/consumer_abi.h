/* SPDX-License-Identifier: Apache-2.0 */
/* Test support: the contracts as C sees them, for a comparison with what C++ sees. */
#ifndef RINGSIDE_RING_CONSUMER_ABI_H
#define RINGSIDE_RING_CONSUMER_ABI_H

#include <stddef.h>

#include "ring/consumer.h"
#include "ring/producer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes and offsets in bytes. */
struct ringside_c_layout {
  size_t ring_size;
  size_t ring_data;
  size_t ring_set_size;
  size_t ring_set_swap;
  size_t ring_set_stamp_bytes;
  size_t swap_size;
  size_t record_size;
  size_t record_token;
  size_t record_time_ns;
  size_t ready_size;
  size_t host_size;
  size_t host_adopt;
  size_t host_batch_begin;
  size_t host_batch_end;
  size_t host_sleep;
  size_t consumer_size;
  size_t consumer_close;
  size_t user_ring_size;
  size_t user_ring_data;
  size_t producer_host_size;
  size_t producer_host_yield;
  size_t producer_size;
  size_t producer_close;
};

struct ringside_c_layout ringside_layout_in_c(void);

/* A consumer that is written in C and has no `release`. */
const struct ringside_consumer* ringside_c_consumer(void);

/* A producer that is written in C and only sends. */
const struct ringside_producer* ringside_c_producer(void);

#ifdef __cplusplus
}
#endif

#endif /* RINGSIDE_RING_CONSUMER_ABI_H */
