/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs of an A/B swap share with user space beside the block of shared.h. The words are those of struct
 * ringside_swap in ring/consumer.h, which the consumer gets.
 *
 * Orderings. A program reads the transfer count plainly, adds to samples without asking for the result, and puts out:
 * nothing holds the three together. `chosen` and `over` are told by atomic additions, which other CPUs' programs make,
 * too; user space reads `chosen` first, so that it never takes a program for one under way that has not begun.
 */
#ifndef RINGSIDE_BPF_SWAP_H
#define RINGSIDE_BPF_SWAP_H

#include <linux/types.h>

struct ringside_swap_words {
  __u64 transfer_count;
  __u64 samples[2];
};

/* Where the program that is held between its choice and its output has come to. */
enum ringside_straggler_state {
  RINGSIDE_STRAGGLER_NONE = 0,
  RINGSIDE_STRAGGLER_CHOSEN = 1, /* it has read the transfer count, and waits for `go` */
  RINGSIDE_STRAGGLER_LATE = 2    /* nobody let it go in time; it went on by itself */
};

struct ringside_swap_state {
  struct ringside_swap_words words;
  __u64 chosen[2]; /* programs that chose the side */
  __u64 over[2];   /* and those of them whose output is over */
  __u64 counted;   /* programs that have counted themselves, and closing records */
  __u32 straggler; /* enum ringside_straggler_state */
  __u32 go;        /* written by user space */
};

#endif /* RINGSIDE_BPF_SWAP_H */
