/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The producer contract: everything that Ringside asks of a program that fills a user ring buffer
 * (BPF_MAP_TYPE_USER_RINGBUF), which the kernel drains. As one C header, so that any language can meet it, in the
 * spirit of ring/consumer.h: a producer is a table of functions over an opaque state; the harness is a table of
 * callbacks. A producer knows this header and nothing of the world it runs in.
 *
 * The harness is the application: it says what is to be sent, fills the samples that `reserve` hands out, and stands
 * between reserve and commit, where the kernel may drain. A producer that copies as it sends has `send` instead, or as
 * well.
 *
 * Threads: the harness calls all functions from one thread, never two at once. A producer calls the host's functions
 * from that thread only.
 *
 * Errors: functions that can fail return a negative errno value; 0 or more is success.
 */
#ifndef RINGSIDE_RING_PRODUCER_H
#define RINGSIDE_RING_PRODUCER_H

#include <stdint.h>

#include "ring/consumer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. */
#define RINGSIDE_PRODUCER_ABI 1u

/* The ring kind, beside those of ring/consumer.h. */
#define RINGSIDE_USER_RINGBUF 0x4u

/* What a producer claims beyond the contract; a claim that does not hold is a defect, an unclaimed one a note. */
#define RINGSIDE_CLAIM_SLEEPS_WHEN_FULL 0x1u /* room that is there but too small puts it to sleep, it does not spin */

/* What becomes of a sample. */
#define RINGSIDE_SUBMIT_SAMPLE 0u
#define RINGSIDE_DISCARD_SAMPLE 1u

/* Above this many bytes no drain takes a sample, however large the ring: the kernel refuses the ring for ever. */
#define RINGSIDE_LARGEST_SAMPLE 0xffffffu

/*
 * One user ring buffer, mapped with the protections that the kernel grants. All sizes in bytes, all positions in host
 * byte order. A store to the consumer page is a `protocol` defect.
 */
struct ringside_user_ring {
  int32_t fd;                /* map fd; -1 in the model, which has none */
  uint32_t page_size;        /* bytes */
  uint64_t data_size;        /* bytes, a power of two */
  const void* consumer_page; /* consumer_pos: u64 at 0, written by the kernel */
  void* producer_page;       /* producer_pos: u64 at 0 */
  void* data;                /* 2 * data_size bytes, the second half the same memory as the first */
};

/* The harness's side. `context` is the first argument of every call. The kernel may drain within any of them. */
struct ringside_producer_host {
  uint32_t abi_version;
  uint32_t struct_size; /* sizeof(struct ringside_producer_host) of the caller */
  void* context;

  /*
   * Sleeps until the ring is writable, as epoll_wait does on a set that holds the ring for EPOLLOUT, armed with the
   * producer's `trigger`. The kernel calls a ring writable when any byte of it is free [KERNEL-RINGS 4.1]. timeout_ns
   * < 0 waits without a deadline. Returns 1, 0 when the deadline passed, -EINTR, or -ECANCELED: the run is over,
   * return it from ringside_producer.wait at once.
   */
  int (*wait)(void* context, int64_t timeout_ns);

  /* Nanoseconds on a monotonic clock, which is virtual. Use it for every deadline. */
  int64_t (*now_ns)(void* context);

  /* Lets the kernel drain, and some time pass, between two looks at the same place. */
  void (*yield)(void* context);
};

/*
 * A producer. Order of calls: open, then reserve / commit / send / wait as often as the host likes, then close exactly
 * once if open succeeded. When open fails it leaves nothing behind. Either reserve and commit, or send, or all three.
 */
struct ringside_producer {
  uint32_t abi_version; /* RINGSIDE_PRODUCER_ABI */
  uint32_t struct_size; /* sizeof(struct ringside_producer) */
  const char* name;     /* unique, [a-z0-9_]+ */
  const char* summary;  /* one line */
  uint32_t needs;       /* RINGSIDE_NEEDS_FD, or 0 */
  uint32_t trigger;     /* RINGSIDE_LEVEL or RINGSIDE_EDGE */
  uint32_t claims;

  /* Starts to produce. The positions may not be 0. `ring` and `host` live until close has returned. */
  int (*open)(const struct ringside_user_ring* ring, const struct ringside_producer_host* host, void** state);

  /*
   * Takes the next `size` bytes of the ring for a sample and hands out where its payload is to be written, without
   * blocking. Several samples may be open; the kernel passes none of them, nor what lies behind.
   * 0; -ENOSPC when there is no room for it now; -E2BIG when there never will be, or above RINGSIDE_LARGEST_SAMPLE.
   */
  int (*reserve)(void* state, uint32_t size, void** payload);

  /* Ends an open sample: `fate` is RINGSIDE_SUBMIT_SAMPLE or RINGSIDE_DISCARD_SAMPLE. Samples end in any order. */
  int (*commit)(void* state, void* payload, uint32_t fate);

  /* Copies `size` bytes into a sample and submits it, without blocking. Errors as for reserve. */
  int (*send)(void* state, const void* bytes, uint32_t size);

  /*
   * Sleeps until a sample of `size` bytes may have room, at most timeout_ns (< 0: no deadline), by host->wait.
   * Returns RINGSIDE_WAIT_READY (a spurious one is allowed, endless ones are busy_spin), RINGSIDE_WAIT_TIMEOUT (a
   * statement: at the deadline there was no room; telling it untested is early_timeout), -EINTR or -ECANCELED.
   */
  int (*wait)(void* state, uint32_t size, int64_t timeout_ns);

  /* Ends the producing and frees the state. Samples still open stay BUSY. */
  void (*close)(void* state);
};

#ifdef __cplusplus
}
#endif

#endif /* RINGSIDE_RING_PRODUCER_H */
