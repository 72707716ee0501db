// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Producers of a BPF ring buffer. `script` and `flood` run by BPF_PROG_TEST_RUN on the CPU of the calling thread,
// `hold` sleeps in a reservation, `nested` runs in hardirq context on a software clock event.
//
// Every record is written twice where it lies in the ring: as a draft as soon as it is reserved, and finally just
// before it is committed. So a consumer that reads it too early reads a draft, and says so.
//
// ringbuf_per_cpu.bpf.c compiles the same for one ring a CPU.
#include "bpf/common.bpf.h"

#ifdef RINGSIDE_PER_CPU
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u32));
} ring SEC(".maps");

/* enum ringside_stamp: what each record begins with. */
const volatile __u32 stamp = RINGSIDE_STAMP_NONE;

/* The ring of this CPU, or null where the CPU has none. */
static __always_inline void* ring_here(void) {
  __u32 cpu = bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&ring, &cpu);
}
#else
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} ring SEC(".maps");

#define stamp RINGSIDE_STAMP_NONE

static __always_inline void* ring_here(void) { return &ring; }
#endif

#define STAMP_BYTES (stamp == RINGSIDE_STAMP_NONE ? 0 : sizeof(__u64))

/* A look-up that found no ring counts as a failed attempt. */
static __always_inline long no_ring(struct ringside_counters* counters) {
  count_attempt(counters);
  count_failure(counters, -ENOENT);
  return -ENOENT;
}

/* What one record is to be; `final` is RINGSIDE_STATE_COMMITTED or RINGSIDE_STATE_DOOMED. */
struct order {
  __u32 source;
  __u32 size;
  __u32 final;
  __u32 flags;
};

/* Takes the final number and counts the record, which the caller then writes and publishes. */
static __always_inline __u64 settle(struct ringside_counters* counters, const struct order* order) {
  __u64 sequence = take_number(counters, order->final, order->size);
  if (order->final == RINGSIDE_STATE_DOOMED) {
    counters->discarded++;
  } else {
    count_committed(counters, order->size);
    if (order->size) announce(counters, sequence);
  }
  return sequence;
}

/* Writes a record of a size that the compiler knows, a multiple of a chunk, where it lies. */
static __always_inline void write_fixed(__u64* words, const struct record* record, const __u32 size) {
  __u64 key = ringside_record_key(record->source, record->state, size, record->sequence);
  __u64 value = ringside_record_word(key, 6); /* the head holds words 0 to 5 */
  write_head(words, record, key);
#pragma clang loop unroll(disable)
  for (__u32 at = RINGSIDE_CHUNK; at < size; at += RINGSIDE_CHUNK) {
    write_words(words + at / 8, value, 8);
    value += 8 * RINGSIDE_RECORD_STRIDE;
  }
}

/*
 * A record of a size that the verifier knows: the fast path. It is written in the reservation itself, and needs neither
 * a scratch buffer nor a copy.
 */
static __always_inline long put_fixed(struct ringside_counters* counters, const struct order* order, const __u32 size) {
  struct record record = {.source = order->source, .state = RINGSIDE_STATE_DRAFT, .length = size};
  void* here = ring_here();
  if (!here) return no_ring(counters);
  count_attempt(counters);
  __u64* words = bpf_ringbuf_reserve(here, size, 0);
  if (!words) {
    count_failure(counters, -ENOSPC);
    return -ENOSPC;
  }
  record.sequence = take_number(counters, RINGSIDE_STATE_DRAFT, size);
  write_fixed(words, &record, size);
  barrier(); /* the draft is not to be optimised away */
  record.state = order->final;
  record.sequence = settle(counters, order);
  write_fixed(words, &record, size);
  if (order->final == RINGSIDE_STATE_DOOMED)
    bpf_ringbuf_discard(words, order->flags);
  else
    bpf_ringbuf_submit(words, order->flags);
  return 0;
}

/* Makes a record in the scratch buffer and copies it into the reservation. */
static __always_inline void put_into(struct bpf_dynptr* place, __u8* buffer, const struct record* record) {
  __u32 length = record->length;
  if (!length || length > scratch_bytes) return;
  write_record(buffer, record);
  /* Said again where it matters: verifiers before 6.12 forget a bound that was spilled. */
  barrier_var(length);
  if (length > scratch_bytes) return;
  bpf_dynptr_write(place, STAMP_BYTES, buffer, length, 0);
}

static __always_inline void put_draft(struct bpf_dynptr* place, __u8* buffer, struct ringside_counters* counters,
                                      const struct order* order) {
  struct record record = {.source = order->source,
                          .state = RINGSIDE_STATE_DRAFT,
                          .length = order->size,
                          .sequence = take_number(counters, RINGSIDE_STATE_DRAFT, order->size)};
  put_into(place, buffer, &record);
}

static __always_inline void put_final(struct bpf_dynptr* place, __u8* buffer, struct ringside_counters* counters,
                                      const struct order* order) {
  struct record record = {
      .source = order->source, .state = order->final, .length = order->size, .sequence = settle(counters, order)};
  put_into(place, buffer, &record);
}

/*
 * The stamp of a BUSY record. The exchange is a full barrier between the reservation and the reading of the clock,
 * which is none: without it the new producer_pos may still be hidden from who has seen a younger stamp.
 */
static __always_inline void put_stamp(struct bpf_dynptr* place, __u64 time_ns) {
  if (stamp == RINGSIDE_STAMP_INSIDE) {
    __u64 word = 0;
    __sync_lock_test_and_set(&word, 1);
    time_ns = bpf_ktime_get_ns();
  }
  bpf_dynptr_write(place, 0, &time_ns, sizeof(time_ns), 0);
}

/*
 * Reserves any size, and stamps what begins with its time. A failed reservation is told as ENOSPC, whatever the
 * helper's errno [1.7].
 */
static __always_inline long reserve(struct ringside_counters* counters, void* here, __u32 size,
                                    struct bpf_dynptr* place) {
  __u64 time_ns = stamp == RINGSIDE_STAMP_BEFORE ? bpf_ktime_get_ns() : 0;
  count_attempt(counters);
  if (!bpf_ringbuf_reserve_dynptr(here, size + STAMP_BYTES, 0, place)) {
    if (stamp != RINGSIDE_STAMP_NONE) put_stamp(place, time_ns);
    return 0;
  }
  count_failure(counters, -ENOSPC);
  return -ENOSPC;
}

/* A record of any size; `nested` is the operation whose nested records are put out while this one is open, or 0. */
static __always_inline long put_any(struct ringside_counters* counters, const struct order* order, __u8* buffer,
                                    const struct ringside_op* nested) {
  struct bpf_dynptr place;
  void* here = ring_here();
  if (!here) return no_ring(counters);
  long result = reserve(counters, here, order->size, &place);
  if (result) {
    bpf_ringbuf_discard_dynptr(&place, 0);
    return result;
  }
  put_draft(&place, buffer, counters, order);
  if (nested && nested->nested) result = await_nested(nested);
  put_final(&place, buffer, counters, order);
  if (order->final == RINGSIDE_STATE_DOOMED)
    bpf_ringbuf_discard_dynptr(&place, order->flags);
  else
    bpf_ringbuf_submit_dynptr(&place, order->flags);
  return result;
}

/* bpf_ringbuf_output. The record is complete before it is reserved, so it takes its number first. It has no stamp. */
static __always_inline long put_output(struct ringside_counters* counters, const struct order* order, __u8* buffer) {
  __u32 size = order->size;
  void* here = ring_here();
  if (size > scratch_bytes) return -E2BIG;
  if (!here) return no_ring(counters);
  count_attempt(counters);
  struct record record = {.source = order->source,
                          .state = RINGSIDE_STATE_COMMITTED,
                          .length = size,
                          .sequence = counters->next[RINGSIDE_STATE_COMMITTED]};
  if (size) {
    write_record(buffer, &record);
    announce(counters, record.sequence);
  }
  long result = bpf_ringbuf_output(here, buffer, size, order->flags);
  if (result) {
    count_failure(counters, result);
    return result;
  }
  take_number(counters, RINGSIDE_STATE_COMMITTED, size);
  count_committed(counters, size);
  return 0;
}

static __always_inline long run_op(const struct ringside_op* op, __u8* buffer) {
  struct ringside_counters* counters = counters_of(op->source);
  struct order order = {.source = op->source,
                        .size = op->size,
                        .final = op->action == RINGSIDE_DISCARD ? RINGSIDE_STATE_DOOMED : RINGSIDE_STATE_COMMITTED,
                        .flags = op->flags};
  if (op->action == RINGSIDE_OUTPUT) return put_output(counters, &order, buffer);
  if (op->size == 64 && !op->nested && stamp == RINGSIDE_STAMP_NONE) return put_fixed(counters, &order, 64);
  return put_any(counters, &order, buffer, op);
}

static long script_step(__u32 index, __u8** buffer) {
  struct ringside_op* op = op_of(index);
  op->result = run_op(op, *buffer);
  return 0;
}

/* args[0]: how many operations. Returns 0, or -EINVAL as u32; -EAGAIN when an operation needs an interrupt and none
 * comes now: nothing was done. */
SEC("raw_tp")
int script(struct bpf_raw_tracepoint_args* ctx) {
  __u8* buffer = scratch_buffer(SCRATCH_SCRIPT);
  __u64 count = ctx->args[0];
  if (!buffer || count > RINGSIDE_SCRIPT_OPS) return -EINVAL;
  if (shared.nested.wanted && !interrupts_come(&shared.nested.ticks)) return -EAGAIN;
  bpf_loop(count, script_step, &buffer, 0);
  return 0;
}

/* One run of a flood. */
struct flood {
  struct ringside_slot* slot;
  struct ringside_counters* counters;
  __u8* buffer;
  __u64 ordinal; /* counts records, not attempts: a failed one is tried again as it was */
  __u32 failures;
  int end;
};

static __always_inline struct order flood_order(const struct flood* flood, __u32 size) {
  const struct ringside_slot* slot = flood->slot;
  struct order order = {.source = slot->source, .size = size, .flags = slot->flags, .final = RINGSIDE_STATE_COMMITTED};
  if (is_nth(slot->discard_every, flood->ordinal)) order.final = RINGSIDE_STATE_DOOMED;
  if (is_nth(slot->force_every, flood->ordinal)) order.flags |= BPF_RB_FORCE_WAKEUP;
  return order;
}

static __always_inline long flood_next(struct flood* flood, long result) {
  if (result) {
    flood->failures++;
  } else {
    flood->failures = 0;
    flood->ordinal++;
  }
  flood->end = flood_end(flood->slot, flood->counters, flood->failures);
  return flood->end != RINGSIDE_FLOOD_BATCH;
}

/* A flood of one fixed size. */
#define DEFINE_FIXED_STEP(size)                                         \
  static long flood_##size##_step(__u32 index, struct flood* flood) {   \
    struct order order = flood_order(flood, size);                      \
    return flood_next(flood, put_fixed(flood->counters, &order, size)); \
  }
DEFINE_FIXED_STEP(64)
DEFINE_FIXED_STEP(128)
DEFINE_FIXED_STEP(256)
DEFINE_FIXED_STEP(512)
DEFINE_FIXED_STEP(1024)
DEFINE_FIXED_STEP(2048)

static long flood_step(__u32 index, struct flood* flood) {
  struct order order = flood_order(flood, drawn_size(flood->slot, flood->ordinal));
  long result;
  if (flood->slot->action == RINGSIDE_OUTPUT && order.final == RINGSIDE_STATE_COMMITTED)
    result = put_output(flood->counters, &order, flood->buffer);
  else
    result = put_any(flood->counters, &order, flood->buffer, 0);
  return flood_next(flood, result);
}

static __always_inline int begin_flood(struct flood* flood, __u64 slot) {
  flood->slot = slot_of(slot);
  flood->counters = counters_of(flood->slot->source);
  flood->buffer = scratch_buffer(slot + SCRATCH_SLOT_0);
  if (!flood->buffer) return -EINVAL;
  flood->ordinal = records_done(flood->counters);
  flood->failures = 0;
  flood->end = flood_end(flood->slot, flood->counters, 0);
  return 0;
}

/* args[0]: the slot. Returns enum ringside_flood_end, or -EINVAL as u32. */
SEC("raw_tp")
int flood_fixed(struct bpf_raw_tracepoint_args* ctx) {
  struct flood flood;
  int error = begin_flood(&flood, ctx->args[0]);
  if (error || flood.end != RINGSIDE_FLOOD_BATCH) return error ? error : flood.end;
  __u32 batch = flood.slot->batch;
  switch (flood.slot->min_size) {
    case 64:
      bpf_loop(batch, flood_64_step, &flood, 0);
      break;
    case 128:
      bpf_loop(batch, flood_128_step, &flood, 0);
      break;
    case 256:
      bpf_loop(batch, flood_256_step, &flood, 0);
      break;
    case 512:
      bpf_loop(batch, flood_512_step, &flood, 0);
      break;
    case 1024:
      bpf_loop(batch, flood_1024_step, &flood, 0);
      break;
    case 2048:
      bpf_loop(batch, flood_2048_step, &flood, 0);
      break;
    default:
      return -EINVAL;
  }
  return flood.end;
}

SEC("raw_tp")
int flood(struct bpf_raw_tracepoint_args* ctx) {
  struct flood flood;
  int error = begin_flood(&flood, ctx->args[0]);
  if (error || flood.end != RINGSIDE_FLOOD_BATCH) return error ? error : flood.end;
  bpf_loop(flood.slot->batch, flood_step, &flood, 0);
  return flood.end;
}

struct hold_args {
  __u64 slot;
  __s64 result; /* 0 or a negative errno */
};

/*
 * Holds a record BUSY. The program sleeps, it does not spin: `wait_address` lies on a page that user space supplies
 * only when the record is to be settled, and until then the copy from it sleeps in a page fault. A killed process ends
 * the sleep with an error, and the record is discarded.
 */
SEC("syscall")
int hold(struct hold_args* args) {
  struct ringside_slot* slot = slot_of(args->slot);
  struct ringside_counters* counters = counters_of(slot->source);
  __u8* buffer = scratch_buffer(args->slot + SCRATCH_SLOT_0);
  args->result = -EINVAL;
  if (!buffer) return 0;
  struct order order = {.source = slot->source, .size = slot->min_size, .flags = slot->flags};
  struct bpf_dynptr place;
  void* here = ring_here();
  if (!here) {
    args->result = no_ring(counters);
    return 0;
  }
  long result = reserve(counters, here, order.size, &place);
  if (result) {
    bpf_ringbuf_discard_dynptr(&place, 0);
    args->result = result;
    return 0;
  }
  counters->open = 1;
  put_draft(&place, buffer, counters, &order);
  /* An exchange is a full barrier: who sees BUSY sees the draft. */
  __sync_lock_test_and_set(&slot->state, RINGSIDE_HOLD_BUSY);
  __u32 command = RINGSIDE_SETTLE_DISCARD;
  result = bpf_copy_from_user(&command, sizeof(command), (const void*)slot->wait_address);
  order.final = !result && command == RINGSIDE_SETTLE_SUBMIT ? RINGSIDE_STATE_COMMITTED : RINGSIDE_STATE_DOOMED;
  counters->open = 0;
  put_final(&place, buffer, counters, &order);
  if (order.final == RINGSIDE_STATE_DOOMED)
    bpf_ringbuf_discard_dynptr(&place, order.flags);
  else
    bpf_ringbuf_submit_dynptr(&place, order.flags);
  __sync_lock_test_and_set(&slot->state, RINGSIDE_HOLD_SETTLED);
  args->result = result;
  return 0;
}

static long nested_step(__u32 index, __u8** buffer) {
  struct ringside_counters* counters = counters_of(shared.nested.source);
  struct order order = {.source = shared.nested.source, .size = shared.nested.size, .final = RINGSIDE_STATE_COMMITTED};
  if (stamp == RINGSIDE_STAMP_NONE)
    put_output(counters, &order, *buffer);
  else
    put_any(counters, &order, *buffer, 0);
  return 0;
}

SEC("perf_event")
int nested(void* ctx) {
  __u8* buffer = scratch_buffer(SCRATCH_NESTED);
  if (!take_nested_order() || !buffer) return 0;
  bpf_loop(shared.nested.count, nested_step, &buffer, 0);
  WRITE_NOW(shared.nested.done, shared.nested.done + 1);
  return 0;
}
