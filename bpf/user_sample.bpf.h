/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the callbacks of bpf_user_ringbuf_drain have in common: how long a sample is. No helper tells it before kernel
 * 6.5, so it is found by what can be read of the sample.
 */
#ifndef RINGSIDE_BPF_USER_SAMPLE_BPF_H
#define RINGSIDE_BPF_USER_SAMPLE_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* Volatile accesses: an interrupt of this CPU or user space writes or reads the place meanwhile, or the verifier is not
 * to know what was written. */
#define READ_NOW(place) (*(const volatile __typeof__(place)*)&(place))
#define WRITE_NOW(place, value) (*(volatile __typeof__(place)*)&(place) = (value))

/* Whether the sample has more than `offset` bytes. */
static __always_inline int is_longer(const struct bpf_dynptr* sample, __u32 offset) {
  __u8 byte;
  return bpf_dynptr_read(&byte, 1, sample, offset, 0) == 0;
}

/*
 * The length of a sample below 2^(top_bit + 1) bytes, bit by bit from above; most samples are short, and cost few
 * looks. The number lives in memory, at `place`, so that the verifier does not follow each of its values.
 */
static __always_inline __u32 length_of_sample(const struct bpf_dynptr* sample, __u32* place, const int top_bit) {
  if (!is_longer(sample, 0)) return 0;
  int is_long = is_longer(sample, 63);
  WRITE_NOW(*place, 0);
#pragma unroll
  for (int bit = 23; bit >= 0; bit--) {
    if (bit > top_bit || (bit > 5 && !is_long)) continue;
    __u32 longer = READ_NOW(*place) + (1u << bit);
    if (is_longer(sample, longer - 1)) WRITE_NOW(*place, longer);
  }
  return READ_NOW(*place);
}

#endif /* RINGSIDE_BPF_USER_SAMPLE_BPF_H */
