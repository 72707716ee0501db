// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Producers of perf event rings through a PERF_EVENT_ARRAY: `script`, `flood` and `nested` as in ringbuf.bpf.c. There
// is nothing to hold: a perf record is made inside the helper, so the hardirq program's records are put out between two
// outputs of the task, not inside one.
#include "bpf/perf_output.bpf.h"

static __always_inline long put(void* ctx, struct ringside_counters* counters, __u32 source, __u32 size, __u8* buffer) {
  if (size > scratch_bytes) return -E2BIG;
  begin_output(counters, source, size, buffer);
  long result = bpf_perf_event_output(ctx, &ring, BPF_F_CURRENT_CPU, buffer, size);
  count_owed_loss(result, bpf_get_smp_processor_id());
  end_output(counters, size, result);
  return result;
}

struct script_run {
  void* ctx;
  __u8* buffer;
};

static __always_inline long run_op(const struct ringside_op* op, struct script_run* run) {
  struct ringside_counters* counters = counters_of(op->source);
  if (op->action != RINGSIDE_OUTPUT) return -EINVAL;
  long waited = op->nested ? await_nested(op) : 0;
  long result = put(run->ctx, counters, op->source, op->size, run->buffer);
  return result ? result : waited;
}

static long script_step(__u32 index, struct script_run* run) {
  struct ringside_op* op = op_of(index);
  op->result = run_op(op, run);
  return 0;
}

/* args[0]: how many operations. Returns 0, or -EINVAL as u32; -EAGAIN when an operation needs an interrupt and none
 * comes now: nothing was done. */
SEC("raw_tp")
int script(struct bpf_raw_tracepoint_args* ctx) {
  struct script_run run = {.ctx = ctx, .buffer = scratch_buffer(SCRATCH_SCRIPT)};
  __u64 count = ctx->args[0];
  if (!run.buffer || count > RINGSIDE_SCRIPT_OPS) return -EINVAL;
  if (shared.nested.wanted && !interrupts_come(&shared.nested.ticks)) return -EAGAIN;
  bpf_loop(count, script_step, &run, 0);
  return 0;
}

/* One run of a flood. */
struct flood {
  void* ctx;
  struct ringside_slot* slot;
  struct ringside_counters* counters;
  __u8* buffer;
  __u64 ordinal; /* counts records, not attempts: a failed one is tried again as it was */
  __u32 failures;
  int end;
};

static long flood_step(__u32 index, struct flood* flood) {
  struct ringside_slot* slot = flood->slot;
  if (put(flood->ctx, flood->counters, slot->source, drawn_size(slot, flood->ordinal), flood->buffer)) {
    flood->failures++;
  } else {
    flood->failures = 0;
    flood->ordinal++;
  }
  flood->end = flood_end(slot, flood->counters, flood->failures);
  return flood->end != RINGSIDE_FLOOD_BATCH;
}

/* args[0]: the slot. Returns enum ringside_flood_end, or -EINVAL as u32. */
SEC("raw_tp")
int flood(struct bpf_raw_tracepoint_args* ctx) {
  __u64 index = ctx->args[0];
  struct ringside_slot* slot = slot_of(index);
  struct flood flood = {.ctx = ctx,
                        .slot = slot,
                        .counters = counters_of(slot->source),
                        .buffer = scratch_buffer(index + SCRATCH_SLOT_0)};
  if (!flood.buffer) return -EINVAL;
  flood.ordinal = records_done(flood.counters);
  flood.end = flood_end(slot, flood.counters, 0);
  if (flood.end == RINGSIDE_FLOOD_BATCH) bpf_loop(slot->batch, flood_step, &flood, 0);
  return flood.end;
}

static long nested_step(__u32 index, struct script_run* run) {
  struct ringside_counters* counters = counters_of(shared.nested.source);
  put(run->ctx, counters, shared.nested.source, shared.nested.size, run->buffer);
  return 0;
}

SEC("perf_event")
int nested(void* ctx) {
  struct script_run run = {.ctx = ctx, .buffer = scratch_buffer(SCRATCH_NESTED)};
  if (!take_nested_order() || !run.buffer) return 0;
  bpf_loop(shared.nested.count, nested_step, &run, 0);
  WRITE_NOW(shared.nested.done, shared.nested.done + 1);
  return 0;
}
