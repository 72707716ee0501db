/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the producers of perf rings have in common: the ring's array, and the halves of one output before and behind the
 * helper's call.
 */
#ifndef RINGSIDE_BPF_PERF_OUTPUT_BPF_H
#define RINGSIDE_BPF_PERF_OUTPUT_BPF_H

#include "bpf/common.bpf.h"

/* Above this many bytes header.size no longer tells the size of the record, and success is reported all the same
 * [2.8]. */
#define MAX_PAYLOAD 65516

/* Of an A/B swap: side 0. */
struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u32));
} ring SEC(".maps");

/* A record takes its number before it is known whether it fits; if not, the next one has the same. */
static __always_inline void begin_output(struct ringside_counters* counters, __u32 source, __u32 size, __u8* buffer) {
  count_attempt(counters);
  struct record record = {.source = source,
                          .state = RINGSIDE_STATE_COMMITTED,
                          .length = size,
                          .sequence = counters->next[RINGSIDE_STATE_COMMITTED]};
  if (size) {
    write_record(buffer, &record);
    announce(counters, record.sequence);
  }
}

static __always_inline void end_output(struct ringside_counters* counters, __u32 size, long result) {
  if (result) {
    count_failure(counters, result);
  } else if (size > MAX_PAYLOAD) {
    counters->malformed++;
  } else {
    take_number(counters, RINGSIDE_STATE_COMMITTED, size);
    count_committed(counters, size);
  }
}

/* Losses that a PERF_RECORD_LOST of that place still owes: it comes with the next record that fits [2.7]. */
static __always_inline void count_owed_loss(long result, __u32 place) {
  if (place >= RINGSIDE_CPUS) return;
  if (!result)
    shared.unreported_losses[place] = 0;
  else if (result == -ENOSPC)
    shared.unreported_losses[place]++;
}

#endif
