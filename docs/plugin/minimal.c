/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest faithful consumer of a BPF ring buffer: hands each record to the host where it lies and gives its space
 * back at once. docs/consumers.md explains it line by line; a test builds it against an installed Ringside and has it
 * judged.
 *
 * Built with GNU C's __atomic functions; the numbers in brackets pair the orderings. "kernel" is the producer's side,
 * KERNEL-RINGS 5.1 (docs/kernel-rings.md).
 */
#include <errno.h>
#include <stdlib.h>

#include "ring/consumer.h"

#define BUSY 0x80000000u
#define DISCARD 0x40000000u
#define LENGTH 0x3fffffffu
#define HEADER_BYTES 8u

struct reader {
  const struct ringside_ring* ring;
  const struct ringside_host* host;
  uint64_t position; /* consumer_pos: nobody else writes it */
};

static int reader_open(const struct ringside_ring_set* rings, const struct ringside_host* host, void** state) {
  if (rings->ring_count != 1) return -EINVAL;
  struct reader* reader = malloc(sizeof(*reader));
  if (reader == NULL) return -ENOMEM;
  reader->ring = &rings->rings[0];
  reader->host = host;
  /* A ring may have been read before: go on where the last reader stopped. */
  reader->position = *(const uint64_t*)reader->ring->consumer_page;
  *state = reader;
  return 0;
}

/* Bytes between the reader's position and the producer's. */
static uint64_t published_bytes(const struct reader* reader) {
  /* (1) acquire, pairs with the kernel's release of producer_pos: the header below it is this lap's. */
  return __atomic_load_n((const uint64_t*)reader->ring->producer_page, __ATOMIC_ACQUIRE) - reader->position;
}

/* The header at the reader's position, or BUSY when there is nothing committed to read. */
static uint32_t next_header(const struct reader* reader) {
  if (published_bytes(reader) == 0) return BUSY;
  const char* data = reader->ring->data;
  /* (2) acquire, pairs with the kernel's exchange that clears BUSY: the payload is complete. */
  return __atomic_load_n((const uint32_t*)(data + (reader->position & (reader->ring->data_size - 1))),
                         __ATOMIC_ACQUIRE);
}

static int64_t reader_drain(void* state, uint64_t max_records) {
  struct reader* reader = state;
  const char* data = reader->ring->data;
  int64_t delivered = 0;
  int stop = 0;
  while (!stop && (uint64_t)delivered < max_records) {
    const uint32_t header = next_header(reader);
    if (header & BUSY) break;
    const uint32_t length = header & LENGTH;
    const uint64_t span = ((uint64_t)length + HEADER_BYTES + 7u) & ~(uint64_t)7u;
    /* No record is longer than what is published: a length that is, is none, and nothing behind it can be found. */
    if (span > published_bytes(reader)) return delivered > 0 ? delivered : -EBADMSG;
    if (!(header & DISCARD)) {
      const struct ringside_record record = {
          .data = data + (reader->position & (reader->ring->data_size - 1)) + HEADER_BYTES, .size = length};
      stop = reader->host->deliver(reader->host->context, &record);
      ++delivered;
    }
    reader->position += span;
    /* (3) release, pairs with the kernel's acquire of consumer_pos: the payload was read before its space is free. */
    __atomic_store_n((uint64_t*)reader->ring->consumer_page, reader->position, __ATOMIC_RELEASE);
  }
  return delivered;
}

static int reader_wait(void* state, int64_t timeout_ns) {
  struct reader* reader = state;
  /*
   * (4) full fence between the store (3) and the loads (1) and (2). The kernel clears BUSY, with a full barrier, and
   * then looks at consumer_pos to decide on a wake-up; we publish consumer_pos and then look at BUSY. Without the fence
   * both may see the other's old value, and nobody wakes us (KERNEL-RINGS 5.3).
   */
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (!(next_header(reader) & BUSY)) return RINGSIDE_WAIT_READY;
  struct ringside_ready ready;
  const int count = reader->host->wait(reader->host->context, &ready, 1, timeout_ns);
  if (count < 0) return count;
  if (count > 0) return RINGSIDE_WAIT_READY;
  /* The deadline passed; a record committed with NO_WAKEUP may wait all the same. */
  return next_header(reader) & BUSY ? RINGSIDE_WAIT_TIMEOUT : RINGSIDE_WAIT_READY;
}

static void reader_close(void* state) { free(state); }

static const struct ringside_consumer minimal = {
    .abi_version = RINGSIDE_CONSUMER_ABI,
    .struct_size = sizeof(struct ringside_consumer),
    .name = "minimal",
    .summary = "the smallest faithful reader of a BPF ring buffer",
    .ring_kinds = RINGSIDE_RINGBUF,
    .needs = RINGSIDE_NEEDS_ONE_RING,
    .trigger = RINGSIDE_LEVEL,
    .open = reader_open,
    .drain = reader_drain,
    .wait = reader_wait,
    .close = reader_close,
};

const struct ringside_consumer* ringside_consumer_entry(void) { return &minimal; }
