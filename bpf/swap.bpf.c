// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// The programs' half of an A/B swap over two PERF_EVENT_ARRAYs: `script` carries out operations as in perf.bpf.c, each
// on the side that the transfer count names when it looks; `straggle` is one such program that is held between its look
// and its output. A source has one number on side 0 and another, swap_sources higher, on side 1; above those are the
// closing sources, one a ring, which are on one side each.
#include "bpf/swap.h"
#include "bpf/perf_output.bpf.h"

/* Side 1. */
struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u32));
} other_ring SEC(".maps");

/* The words that user space maps, as it would an array that is made to be mapped: a global variable lies in one. */
struct ringside_swap_state swap = {};

/* Sources of the workload; user space sets it. */
const volatile __u32 swap_sources = 1;
/* Rings of one side. */
const volatile __u32 swap_rings = 1;

/* The places of side 1 are behind those of side 0. */
static __always_inline void count_owed_loss_of(__u32 side, long result) {
  __u32 cpu = bpf_get_smp_processor_id();
  if (cpu >= RINGSIDE_CPUS / 2) return;
  count_owed_loss(result, side ? cpu + RINGSIDE_CPUS / 2 : cpu);
}

/* The first step of a program: what it takes for its side from now on. */
static __always_inline __u32 choose_side(void) {
  __u32 side = READ_NOW(swap.words.transfer_count) & 1;
  if (side)
    __sync_fetch_and_add(&swap.chosen[1], 1);
  else
    __sync_fetch_and_add(&swap.chosen[0], 1);
  return side;
}

/* The second step. */
static __always_inline void count_sample(__u32 side) {
  if (side)
    __sync_fetch_and_add(&swap.words.samples[1], 1);
  else
    __sync_fetch_and_add(&swap.words.samples[0], 1);
  __sync_fetch_and_add(&swap.counted, 1);
}

/* The third step. */
static __always_inline long put_out(void* ctx, __u32 side, __u32 source, __u32 size, __u8* buffer) {
  struct ringside_counters* counters = counters_of(source);
  if (size > scratch_bytes) return -E2BIG;
  begin_output(counters, source, size, buffer);
  long result = side ? bpf_perf_event_output(ctx, &other_ring, BPF_F_CURRENT_CPU, buffer, size)
                     : bpf_perf_event_output(ctx, &ring, BPF_F_CURRENT_CPU, buffer, size);
  count_owed_loss_of(side, result);
  end_output(counters, size, result);
  return result;
}

static __always_inline long finish_program(void* ctx, __u32 side, __u32 source, __u32 size, __u8* buffer) {
  count_sample(side);
  long result = put_out(ctx, side, side ? source + swap_sources : source, size, buffer);
  if (side)
    __sync_fetch_and_add(&swap.over[1], 1);
  else
    __sync_fetch_and_add(&swap.over[0], 1);
  return result;
}

struct script_run {
  void* ctx;
  __u8* buffer;
};

static __always_inline long run_op(const struct ringside_op* op, struct script_run* run) {
  if (op->action != RINGSIDE_OUTPUT) return -EINVAL;
  if (op->source < swap_sources) return finish_program(run->ctx, choose_side(), op->source, op->size, run->buffer);
  __u32 side = op->source - 2 * swap_sources >= swap_rings;
  count_sample(side);
  return put_out(run->ctx, side, op->source, op->size, run->buffer);
}

static long script_step(__u32 index, struct script_run* run) {
  struct ringside_op* op = op_of(index);
  op->result = run_op(op, run);
  return 0;
}

/* args[0]: how many operations. Returns 0, or -EINVAL as u32. */
SEC("raw_tp")
int script(struct bpf_raw_tracepoint_args* ctx) {
  struct script_run run = {.ctx = ctx, .buffer = scratch_buffer(SCRATCH_SCRIPT)};
  __u64 count = ctx->args[0];
  if (!run.buffer || count > RINGSIDE_SCRIPT_OPS) return -EINVAL;
  bpf_loop(count, script_step, &run, 0);
  return 0;
}

#define STRAGGLE_BOUND_NS 2000000000ull /* user space needs microseconds */

static long look_for_go(__u32 index, __u64* deadline) {
  if (READ_NOW(swap.go)) return 1;
  return (index & 0xff) == 0xff && bpf_ktime_get_ns() > *deadline;
}

/* One loop of the helper's may end before the bound does. */
static long look_long(__u32 index, __u64* deadline) {
  bpf_loop(1 << 22, look_for_go, deadline, 0);
  return READ_NOW(swap.go) || bpf_ktime_get_ns() > *deadline;
}

/* args[0]: the slot, whose source and min_size count. Returns what the output returned, as u32. It stays where it is
 * for as long as it is held: whoever lets it go is on another CPU. */
SEC("raw_tp")
int straggle(struct bpf_raw_tracepoint_args* ctx) {
  __u64 index = ctx->args[0];
  struct ringside_slot* slot = slot_of(index);
  __u8* buffer = scratch_buffer(index + SCRATCH_SLOT_0);
  if (!buffer) return -EINVAL;
  __u32 side = choose_side();
  __u64 deadline = bpf_ktime_get_ns() + STRAGGLE_BOUND_NS;
  WRITE_NOW(swap.straggler, RINGSIDE_STRAGGLER_CHOSEN);
  bpf_loop(1 << 12, look_long, &deadline, 0);
  if (!READ_NOW(swap.go)) WRITE_NOW(swap.straggler, RINGSIDE_STRAGGLER_LATE);
  return finish_program(ctx, side, slot->source, slot->min_size, buffer);
}
