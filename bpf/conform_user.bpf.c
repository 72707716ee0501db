// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// The kernel's side of conformance scripts for user ring buffers: a drain whose callback notes what it gets, and an
// interrupt that drains in the middle of it.
#include <linux/bpf.h>

#include <linux/errno.h>

#include <bpf/bpf_helpers.h>

#include "bpf/conform_user.h"
#include "bpf/interrupt.bpf.h"
#include "bpf/user_sample.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct conform_user_shared shared = {};

struct user_ring {
  __uint(type, BPF_MAP_TYPE_USER_RINGBUF);
  __uint(max_entries, 4096);
};
struct user_ring any_ring SEC(".maps");

/* User space sets the number of entries, and puts fresh rings there. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, __u32);
  __array(values, struct user_ring);
} rings SEC(".maps");

/* 8 words at a time: most samples are not longer. */
static long fold_words(__u32 index, const __u32* length) {
  const __u64* words = (const __u64*)shared.sample;
  __u64 hash = shared.hash;
#pragma unroll
  for (__u32 i = 0; i < 8; i++) {
    __u32 at = index * 8 + i;
    if (at < CONFORM_USER_MOST_SAMPLE / 8 && at * 8 < *length) hash = conform_user_fold(hash, words[at]);
  }
  shared.hash = hash;
  return 0;
}

static __always_inline void note(const struct bpf_dynptr* sample) {
  __u32 length = length_of_sample(sample, &shared.probed, 13);
  if (length > CONFORM_USER_MOST_SAMPLE) return;
  if (shared.samples < CONFORM_USER_LENGTHS) shared.lengths[shared.samples] = length;
  shared.bytes += (length + 15) & ~7u;
  shared.hash = conform_user_fold(shared.hash, length);
  if (!length) return;
  *(__u64*)&shared.sample[length & ~7u] = 0;
  bpf_dynptr_read(shared.sample, length, sample, 0, 0);
  if (length <= 64) {
    fold_words(0, &length);
  } else {
    bpf_loop((length + 63) / 64, fold_words, &length, 0);
  }
}

/* Waiting for the interrupt: one look; a look costs nanoseconds, so a run of them is bounded in time. */
static long look_for_interrupt(__u32 index, const __u64* deadline) {
  if (READ_NOW(shared.done)) return 1;
  return (index & 0xff) == 0xff && bpf_ktime_get_ns() > *deadline;
}

#define INTERRUPT_BOUND_NS 500000000ull /* it comes every 50 us to 4 ms */

/* Both run on this CPU, so program order is the order between them and volatile accesses are enough. */
static __always_inline void await_interrupt(void) {
  __u64 deadline = bpf_ktime_get_ns() + INTERRUPT_BOUND_NS;
  WRITE_NOW(shared.armed, 1);
  bpf_loop(1 << 23, look_for_interrupt, &deadline, 0);
  WRITE_NOW(shared.armed, 0);
}

static long take_sample(struct bpf_dynptr* sample, void* context) {
  note(sample);
  __u64 samples = ++shared.samples;
  if (samples == 1 && shared.nested) await_interrupt();
  return (shared.stop && samples >= shared.stop) || shared.bytes > CONFORM_USER_MOST_BYTES;
}

SEC("raw_tp")
int drain(void* ctx) {
  __u32 key = shared.ring;
  void* ring = bpf_map_lookup_elem(&rings, &key);
  if (!ring) return -ENOENT;
  if (shared.nested && !interrupts_come(&shared.ticks)) return -EAGAIN;
  shared.samples = 0;
  shared.bytes = 0;
  shared.hash = 0;
  shared.done = 0;
  shared.result = bpf_user_ringbuf_drain(ring, take_sample, NULL, shared.flags);
  return 0;
}

/* Gets no sample as long as the drain that it interrupts has the ring. */
static long take_none(struct bpf_dynptr* sample, void* context) { return 1; }

SEC("perf_event")
int interrupt(void* ctx) {
  shared.ticks++;
  if (!READ_NOW(shared.armed) || shared.cpu != bpf_get_smp_processor_id()) return 0;
  __u32 key = shared.ring;
  void* ring = bpf_map_lookup_elem(&rings, &key);
  WRITE_NOW(shared.armed, 0);
  if (!ring) return 0;
  shared.inner_result = bpf_user_ringbuf_drain(ring, take_none, NULL, shared.inner);
  WRITE_NOW(shared.done, 1);
  return 0;
}
