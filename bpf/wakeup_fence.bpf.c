// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// One wake-up, ordered by a ring of its own, on the CPU that runs this.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} ring SEC(".maps");

SEC("raw_tp")
int mark(void* ctx) {
  __u64 nothing = 0;
  return bpf_ringbuf_output(&ring, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
}
