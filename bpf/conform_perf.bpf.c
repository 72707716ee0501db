// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// The kernel's side of conformance scripts for perf rings: outputs to the slots of a PERF_EVENT_ARRAY, an output within
// another one, and a look at what the kernel itself knows of the events and their rings. The kernel's types are found
// through its BTF when the programs are loaded.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

#include "bpf/conform_perf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct conform_perf_shared shared = {};

struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(max_entries, CONFORM_PERF_SLOTS);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u32));
} events SEC(".maps");

/* The payload of the next output; user space maps it. */
struct payload {
  __u8 bytes[CONFORM_PERF_MOST_PAYLOAD];
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct payload);
} payloads SEC(".maps");

/* args[0]: slot in the low 32 bits, other flags above them; args[1]: bytes. Returns what the helper returned. */
SEC("raw_tp")
int output(struct bpf_raw_tracepoint_args* ctx) {
  __u32 key = 0;
  struct payload* payload = bpf_map_lookup_elem(&payloads, &key);
  __u64 size = ctx->args[1];
  if (!payload || size > CONFORM_PERF_MOST_PAYLOAD) return 0;
  return bpf_perf_event_output(ctx, &events, ctx->args[0], payload->bytes, size);
}

/* As output, with the output within it that shared.nested_* orders. */
SEC("raw_tp")
int output_nested(struct bpf_raw_tracepoint_args* ctx) {
  shared.nested_thread = (__u32)bpf_get_current_pid_tgid();
  return output(ctx);
}

/* Attached to a breakpoint: runs when a store hits the word that is watched, in the midst of an output. */
SEC("perf_event")
int nested(void* ctx) {
  __u32 size = shared.nested_size;
  if (!shared.nested_armed || (__u32)bpf_get_current_pid_tgid() != shared.nested_thread) return 0;
  if (--shared.nested_armed) return 0;
  if (size > CONFORM_PERF_MOST_INNER) return 0;
  shared.nested_result = bpf_perf_event_output(ctx, &events, shared.nested_slot, shared.nested_payload, size);
  return 0;
}

/* The parts of the kernel's types that are read here. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
typedef struct {
  long counter;
} atomic_long_t;
typedef struct {
  atomic_long_t a;
} local_t;
typedef struct {
  int counter;
} atomic_t;
typedef struct {
  __s64 counter;
} atomic64_t;
struct perf_buffer {
  int nr_pages;
  int overwrite;
  int paused;
  atomic_t poll;
  local_t head;
  unsigned int nest;
  local_t events;
  local_t wakeup;
  local_t lost;
  long watermark;
  void* user_page;
};
struct perf_event {
  struct perf_buffer* rb;
  atomic64_t lost_samples;
};
struct bpf_event_entry {
  struct perf_event* event;
};
struct bpf_array {
  void* ptrs[0];
};
#pragma clang attribute pop

static __always_inline void look_at(struct bpf_array* array, __u32 slot, struct conform_perf_event* state) {
  struct bpf_event_entry* entry = 0;
  const void* place =
      (const void*)((__u64)array + bpf_core_field_offset(struct bpf_array, ptrs) + slot * sizeof(entry));
  bpf_probe_read_kernel(&entry, sizeof(entry), place);
  struct perf_event* event = BPF_CORE_READ(entry, event);
  struct perf_buffer* ring = BPF_CORE_READ(event, rb);
  state->lost_samples = BPF_CORE_READ(event, lost_samples.counter);
  state->ring = (__u64)ring;
  if (!ring) return;
  state->control_page = (__u64)BPF_CORE_READ(ring, user_page);
  state->head_address = (__u64)ring + bpf_core_field_offset(struct perf_buffer, head);
  state->nest_address = (__u64)ring + bpf_core_field_offset(struct perf_buffer, nest);
  state->head = BPF_CORE_READ(ring, head.a.counter);
  state->events = BPF_CORE_READ(ring, events.a.counter);
  state->wakeup = BPF_CORE_READ(ring, wakeup.a.counter);
  state->lost = BPF_CORE_READ(ring, lost.a.counter);
  state->watermark = BPF_CORE_READ(ring, watermark);
  state->nest = BPF_CORE_READ(ring, nest);
  state->poll = BPF_CORE_READ(ring, poll.counter);
  state->paused = BPF_CORE_READ(ring, paused);
  state->overwrite = BPF_CORE_READ(ring, overwrite);
  state->pages = BPF_CORE_READ(ring, nr_pages);
}

/* Fills shared.state and takes nothing. */
SEC("raw_tp")
int look(struct bpf_raw_tracepoint_args* ctx) {
  /* Through memory, so that the map's address becomes a number that kernel memory may be read from. */
  *(volatile __u64*)&shared.events_address = (__u64)&events;
  struct bpf_array* array = (struct bpf_array*)*(volatile __u64*)&shared.events_address;
  look_at(array, 0, &shared.state[0]);
  look_at(array, 1, &shared.state[1]);
  return 0;
}
