/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs of bpf/conform_user.bpf.c share with user space: one order in, what came of it out.
 */
#ifndef RINGSIDE_BPF_CONFORM_USER_H
#define RINGSIDE_BPF_CONFORM_USER_H

#include <linux/types.h>

/* Bytes of the longest sample that a ring of a script can hold, rounded up to whole words. */
#define CONFORM_USER_MOST_SAMPLE 16384u
/* Samples of a drain whose lengths are told; all of them are in the hash. */
#define CONFORM_USER_LENGTHS 8u

/* The callback stops once it has got more than so many bytes, headers and padding included: less than a lap of the
 * ring is honest, and a producer_pos far beyond it would have a drain parse stale bytes for a second. As many empty
 * samples as one drain takes are not more. */
#define CONFORM_USER_MOST_BYTES (1u << 20)

struct conform_user_shared {
  /* orders */
  __u32 ring;   /* index in the ARRAY_OF_MAPS */
  __u32 stop;   /* the callback stops at this sample; 0 never */
  __u64 flags;  /* of the drain */
  __u32 nested; /* 1: from within the first callback an interrupt drains, too */
  __u32 cpu;    /* where */
  __u64 inner;  /* flags of the interrupt's drain */
  /* what came of it */
  __s64 result;
  __u64 samples; /* that the callback got */
  __u64 bytes;   /* of these, headers and padding included */
  __u64 hash;    /* of their lengths and bytes, see conform_user_fold */
  __u32 lengths[CONFORM_USER_LENGTHS];
  __u32 armed; /* 1: the next interrupt is to drain */
  __u32 done;  /* interrupts that have */
  __s64 inner_result;
  __u64 ticks;  /* interrupts */
  __u32 probed; /* length of the sample so far */
  __u32 unused;
  __u8 sample[CONFORM_USER_MOST_SAMPLE + 8]; /* its bytes, and zeros to the end of the last word */
};

/* One word more of what the callback got: the length of a sample, then its bytes, zeros behind them. */
static inline __u64 conform_user_fold(__u64 hash, __u64 word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 29);
}

#endif
