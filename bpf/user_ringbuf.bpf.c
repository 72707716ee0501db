// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Drains a user ring buffer, by BPF_PROG_TEST_RUN, and copies each sample out for user space to judge.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/user_ringbuf.h"
#include "bpf/user_sample.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct user_drain_shared shared = {};

/* Replaced by user space's. */
struct {
  __uint(type, BPF_MAP_TYPE_USER_RINGBUF);
  __uint(max_entries, 4096);
} ring SEC(".maps");

/* Half of the bytes of `samples`: what one sample takes at most, and where the drain stops for want of room. */
const volatile __u32 half_bytes = 4096;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, 8192);
} samples SEC(".maps");

static long take_sample(struct bpf_dynptr* sample, void* context) {
  __u32 key = 0;
  __u8* bytes = bpf_map_lookup_elem(&samples, &key);
  __u32 length = length_of_sample(sample, &shared.probed, 23);
  __u32 at = shared.at;
  if (!bytes || at > half_bytes - 8 || length > half_bytes) return 1;
  *(__u32*)(bytes + at) = length;
  bpf_dynptr_read(bytes + at + 8, length, sample, 0, 0);
  shared.at = at + ((length + 15) & ~7u);
  shared.taken++;
  return (shared.most_samples && shared.taken >= shared.most_samples) || shared.at > half_bytes - 8;
}

SEC("raw_tp")
int drain(void* ctx) {
  shared.taken = 0;
  shared.at = 0;
  shared.cpu = bpf_get_smp_processor_id();
  shared.result = bpf_user_ringbuf_drain(&ring, take_sample, NULL, shared.flags);
  return 0;
}
