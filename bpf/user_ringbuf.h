/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the program of bpf/user_ringbuf.bpf.c shares with user space: how to drain, and what a drain came to. The
 * samples themselves go into the map `samples`, one after another: a u32 length, 4 bytes, the bytes, rounded up to 8.
 */
#ifndef RINGSIDE_BPF_USER_RINGBUF_H
#define RINGSIDE_BPF_USER_RINGBUF_H

#include <linux/types.h>

struct user_drain_shared {
  /* orders */
  __u64 flags;
  __u32 most_samples; /* the callback stops at this one; 0: it goes on */
  /* what came of it */
  __u32 taken;  /* samples that the callback got */
  __s64 result; /* of the helper */
  __u32 at;     /* bytes of the map `samples` that are filled */
  __u32 probed; /* length of the sample so far */
  __u32 cpu;    /* where the program ran */
  __u32 unused;
};

#endif
