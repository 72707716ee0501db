/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs for both kinds of ring have in common: the shared block, writing a test record, counting.
 *
 * A record of up to 64 bytes is written at once; a longer one in chunks of 64 bytes, so that no loop in a program needs
 * a bound known to the verifier. Whoever passes a buffer has room for whole chunks.
 */
#ifndef RINGSIDE_BPF_COMMON_BPF_H
#define RINGSIDE_BPF_COMMON_BPF_H

#include <linux/bpf.h>

#include <linux/errno.h>

#include <bpf/bpf_helpers.h>

#include "bpf/interrupt.bpf.h"
#include "bpf/shared.h"
#include "ring/record_format.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a test record is little endian, and these programs write it in host order"
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The block that user space maps. */
struct ringside_shared shared = {};

/* Bytes of a scratch buffer, a multiple of RINGSIDE_CHUNK; user space sets it and the map's value size alike. */
const volatile __u32 scratch_bytes = RINGSIDE_CHUNK;

/* Buffers in which records are made that are then copied into a ring: one for each slot, script and interrupt. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, RINGSIDE_CHUNK);
} scratch SEC(".maps");

/* The first scratch buffers are the script's and the interrupt's; slot n has buffer n + SCRATCH_SLOT_0. */
enum { SCRATCH_SCRIPT = 0, SCRATCH_NESTED = 1, SCRATCH_SLOT_0 = 2 };

struct record {
  __u32 source;
  __u32 state;
  __u32 length;
  __u64 sequence;
};

/* Volatile accesses: the other side is another thread or an interrupt, and the value must be read and written once. */
#define READ_NOW(place) (*(const volatile __typeof__(place)*)&(place))
#define WRITE_NOW(place, value) (*(volatile __typeof__(place)*)&(place) = (value))

/* Writes `count` payload words; `value` is the first one. */
static __always_inline void write_words(__u64* words, __u64 value, int count) {
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (i < count) {
      words[i] = value;
      value += RINGSIDE_RECORD_STRIDE;
    }
}

/* The first 64 bytes of a record of 16 bytes and more. */
static __always_inline void write_head(__u64* words, const struct record* record, __u64 key) {
  words[0] = record->length | (record->state << 30) | ((__u64)record->source << 32) | ((key & 0xffff) << 48);
  words[1] = record->sequence;
  write_words(words + 2, key + RINGSIDE_RECORD_STRIDE, 6);
}

/* A record of 1 to 15 bytes. */
static __always_inline void write_short(__u64* words, const struct record* record, __u64 key) {
  words[0] = ((record->state << 6) | ((record->source & 7) << 3) | (record->sequence & 7)) |
             (((record->sequence >> 3) & 0xffffffff) << 8) | (key << 40);
  words[1] = (key >> 24) | (key << 40);
}

struct chunks {
  __u8* bytes;
  __u64 key;
};

/* Chunk index + 1 of a record; the head is chunk 0. */
static long write_chunk(__u32 index, struct chunks* chunks) {
  __u32 at = (index + 1) * RINGSIDE_CHUNK;
  if (at > scratch_bytes - RINGSIDE_CHUNK) return 1;
  /* The head holds payload words 0 to 5, and word i is key + (i + 1) * stride. */
  write_words((__u64*)(chunks->bytes + at), chunks->key + (index * 8ull + 7) * RINGSIDE_RECORD_STRIDE, 8);
  return 0;
}

/* Writes the record into a scratch buffer. The length must not be above scratch_bytes. */
static __always_inline void write_record(__u8* bytes, const struct record* record) {
  __u64 key = ringside_record_key(record->source, record->state, record->length, record->sequence);
  if (record->length < RINGSIDE_RECORD_HEADER_BYTES) {
    write_short((__u64*)bytes, record, key);
    return;
  }
  write_head((__u64*)bytes, record, key);
  if (record->length > RINGSIDE_CHUNK) {
    struct chunks chunks = {.bytes = bytes, .key = key};
    bpf_loop((record->length - 1) / RINGSIDE_CHUNK, write_chunk, &chunks, 0);
  }
}

static __always_inline __u8* scratch_buffer(__u32 index) { return bpf_map_lookup_elem(&scratch, &index); }

/* User space has checked the numbers; the masks tell the verifier so. */
static __always_inline struct ringside_counters* counters_of(__u32 source) {
  return &shared.counters[source & (RINGSIDE_SOURCES - 1)];
}

static __always_inline struct ringside_slot* slot_of(__u64 slot) { return &shared.slots[slot & (RINGSIDE_SLOTS - 1)]; }

static __always_inline struct ringside_op* op_of(__u32 index) { return &shared.ops[index & (RINGSIDE_SCRIPT_OPS - 1)]; }

static __always_inline void count_attempt(struct ringside_counters* counters) {
  counters->attempts++;
  counters->cpu = bpf_get_smp_processor_id();
}

/* `error` is a negative errno. */
static __always_inline void count_failure(struct ringside_counters* counters, long error) {
  __u64 number = -error;
  counters->failed[number < RINGSIDE_ERRNOS ? number : 0]++;
}

/* Takes the next number of a state; a record without bytes carries none. */
static __always_inline __u64 take_number(struct ringside_counters* counters, __u32 state, __u32 length) {
  return length ? counters->next[state & 3]++ : 0;
}

/* Says that a record of number `sequence` may from now on be seen. Before the record is published (see shared.h). */
static __always_inline void announce(struct ringside_counters* counters, __u64 sequence) {
  if (counters->reserved < sequence + 1) WRITE_NOW(counters->reserved, sequence + 1);
}

static __always_inline void count_committed(struct ringside_counters* counters, __u32 length) {
  counters->committed++;
  if (!length) counters->empty++;
}

/* The size of a flood's record: fixed, or drawn from [min_size, max_size] by its ordinal. */
static __always_inline __u32 drawn_size(const struct ringside_slot* slot, __u64 ordinal) {
  __u32 min_size = slot->min_size, max_size = slot->max_size;
  if (min_size >= max_size) return min_size;
  __u64 drawn = ringside_record_key(slot->source, 0, 0, ordinal) >> 32;
  return min_size + (__u32)((drawn * (max_size - min_size + 1ull)) >> 32);
}

/* Attempts that did not fail. */
static __always_inline __u64 records_done(const struct ringside_counters* counters) {
  return counters->committed + counters->discarded + counters->malformed;
}

/* Whether a flood is to end before its next record, and why; RINGSIDE_FLOOD_BATCH to go on. */
static __always_inline int flood_end(const struct ringside_slot* slot, const struct ringside_counters* counters,
                                     __u32 failures) {
  __u64 reached = slot->goal_kind == RINGSIDE_GOAL_ATTEMPTED ? counters->attempts : records_done(counters);
  if (reached >= slot->goal) return RINGSIDE_FLOOD_GOAL;
  if (slot->give_up && failures >= slot->give_up) return RINGSIDE_FLOOD_FULL;
  return READ_NOW(slot->command) == RINGSIDE_STOP ? RINGSIDE_FLOOD_STOPPED : RINGSIDE_FLOOD_BATCH;
}

static __always_inline int is_nth(__u32 every, __u64 ordinal) { return every && ordinal % every == every - 1; }

/* Waiting for the hardirq program: one look; a look costs nanoseconds, so a run of them is bounded in time. */
struct nested_wait {
  __u64 done_before;
  __u64 deadline;
};

static long look_for_nested(__u32 index, struct nested_wait* wait) {
  if (READ_NOW(shared.nested.done) != wait->done_before) return 1;
  return (index & 0xff) == 0xff && bpf_ktime_get_ns() > wait->deadline;
}

#define NESTED_BOUND_NS 200000000ull /* the interrupt comes every 10 us to 4 ms */

/*
 * Has the hardirq program put out its records now, in the middle of this program. Both run on this CPU, so program
 * order is the order between them and volatile accesses are enough. 0 or -ETIMEDOUT.
 */
static __always_inline long await_nested(const struct ringside_op* op) {
  struct nested_wait wait = {.done_before = shared.nested.done, .deadline = bpf_ktime_get_ns() + NESTED_BOUND_NS};
  shared.nested.cpu = bpf_get_smp_processor_id();
  shared.nested.source = op->nested_source;
  shared.nested.size = op->nested_size;
  shared.nested.count = op->nested;
  WRITE_NOW(shared.nested.armed, 1);
  bpf_loop(1 << 23, look_for_nested, &wait, 0);
  WRITE_NOW(shared.nested.armed, 0);
  return READ_NOW(shared.nested.done) == wait.done_before ? -ETIMEDOUT : 0;
}

/* The hardirq side of the order: whether there is one for this CPU, which is then taken. */
static __always_inline int take_nested_order(void) {
  shared.nested.ticks++;
  if (!READ_NOW(shared.nested.armed) || shared.nested.cpu != bpf_get_smp_processor_id()) return 0;
  WRITE_NOW(shared.nested.armed, 0);
  return 1;
}

#endif /* RINGSIDE_BPF_COMMON_BPF_H */
