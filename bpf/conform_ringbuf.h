/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs of bpf/conform_ringbuf.bpf.c share with user space: one block of memory with the order to carry out
 * and what came of it. Everything runs on one CPU. User space writes an order before the system call that runs the
 * program, or that lets a held one go on, and reads the answer after it: these calls order the two.
 */
#ifndef RINGSIDE_BPF_CONFORM_RINGBUF_H
#define RINGSIDE_BPF_CONFORM_RINGBUF_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define CONFORM_RINGBUF_RINGS 192u              /* rings that the programs find at once */
#define CONFORM_RINGBUF_MOST_PAYLOAD (1u << 17) /* bytes of one record */
#define CONFORM_RINGBUF_MOST_INNER 1024u        /* bytes of a record of the interrupt */
#define CONFORM_RINGBUF_MOST_NESTED 4u          /* records of one interrupt */
#define CONFORM_RINGBUF_HELD 3u                 /* records held at once */

struct conform_ringbuf_order {
  __u32 ring; /* index into the array of rings */
  __u32 size; /* bytes of the record */
  __u64 reserve_flags;
  __u64 flags;   /* of output, submit and discard */
  __u32 written; /* bytes to write of the payload */
  __u32 discard; /* 1: discard instead of submit */
  __u32 what;    /* of a query */
  __u32 inner;   /* bytes of each record of the interrupt */
  __u32 count;   /* of records of the interrupt */
  __u32 unused;
  __s64 result; /* what the helper returned */
};

/* A record that stays BUSY, and the order by which it ends. */
struct conform_ringbuf_hold {
  __u32 ring;
  __u32 size;
  __u64 wait_address; /* user memory; what lies there becomes readable once the record is to be settled */
  __u64 flags;
  __u32 discard;
  __u32 unused;
  __s64 result; /* of the reservation */
};

struct conform_ringbuf_shared {
  struct conform_ringbuf_order order;
  struct conform_ringbuf_hold holds[CONFORM_RINGBUF_HELD];
  __u32 nested_armed; /* 1: the next interrupt puts out its records */
  __u32 unused;
  __u64 nested_done; /* interrupts that did */
  __u64 ticks;       /* interrupts */
  __s64 nested_results[CONFORM_RINGBUF_MOST_NESTED];
  __u8 inner_payload[CONFORM_RINGBUF_MOST_NESTED][CONFORM_RINGBUF_MOST_INNER];
  __u8 payload[CONFORM_RINGBUF_MOST_PAYLOAD];
};

#endif /* RINGSIDE_BPF_CONFORM_RINGBUF_H */
