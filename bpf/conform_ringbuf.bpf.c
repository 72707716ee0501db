// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// The operations of a script on a BPF ring buffer, one program each, on whichever ring of an array of rings the order
// names: the programs are loaded once, the rings are fresh for each script. All but `hold` run by BPF_PROG_TEST_RUN on
// the CPU of the calling thread; `nested` runs there, too, in hardirq context on a software clock event.
//
// Everything that the helpers return goes back as it is; nothing here decides what is right.
#include <linux/bpf.h>

#include <linux/errno.h>

#include <bpf/bpf_helpers.h>

#include "bpf/conform_ringbuf.h"
#include "bpf/interrupt.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct fresh_ring {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, CONFORM_RINGBUF_RINGS);
  __uint(key_size, sizeof(__u32));
  __array(values, struct fresh_ring);
} rings SEC(".maps");

struct conform_ringbuf_shared shared = {};

/* Volatile accesses: the other side is an interrupt or user space, and the value must be read and written once. */
#define READ_NOW(place) (*(const volatile __typeof__(place)*)&(place))
#define WRITE_NOW(place, value) (*(volatile __typeof__(place)*)&(place) = (value))

static __always_inline void* ring_of(__u32 index) { return bpf_map_lookup_elem(&rings, &index); }

/* A size that the verifier sees to be within the payload buffer. */
static __always_inline __u32 bounded(__u32 size) {
  barrier_var(size);
  return size < CONFORM_RINGBUF_MOST_PAYLOAD ? size : CONFORM_RINGBUF_MOST_PAYLOAD;
}

static __always_inline void write_into(struct bpf_dynptr* place, __u32 size) {
  size = bounded(size);
  if (size) bpf_dynptr_write(place, 0, shared.payload, size, 0);
}

static __always_inline void settle(struct bpf_dynptr* place, __u32 discard, __u64 flags) {
  if (discard)
    bpf_ringbuf_discard_dynptr(place, flags);
  else
    bpf_ringbuf_submit_dynptr(place, flags);
}

SEC("raw_tp")
int output(void* ctx) {
  struct conform_ringbuf_order* order = &shared.order;
  void* ring = ring_of(order->ring);
  if (!ring) return -ENOENT;
  order->result = bpf_ringbuf_output(ring, shared.payload, bounded(order->size), order->flags);
  return 0;
}

SEC("raw_tp")
int query(void* ctx) {
  struct conform_ringbuf_order* order = &shared.order;
  void* ring = ring_of(order->ring);
  if (!ring) return -ENOENT;
  order->result = bpf_ringbuf_query(ring, order->what);
  return 0;
}

/* How much of a record of a constant size is written: bounded by it in a register that the verifier tracks. Without the
 * barriers clang folds the tests into one of another register, which verifiers from 6.19 on do not follow. */
static __always_inline __u32 written_of(__u32 written, const __u32 constant) {
  barrier_var(written);
  if (written > constant) written = constant;
  barrier_var(written);
  return written;
}

/* bpf_ringbuf_reserve wants its size as a constant. */
#define RESERVE_OF_SIZE(constant)                                             \
  case constant: {                                                            \
    void* record = bpf_ringbuf_reserve(ring, constant, order->reserve_flags); \
    WRITE_NOW(order->result, 0);                                              \
    if (!record) break;                                                       \
    WRITE_NOW(order->result, 1);                                              \
    __u32 written = written_of(order->written, MOST_WRITTEN(constant));       \
    if (written) bpf_probe_read_kernel(record, written, shared.payload);      \
    if (order->discard)                                                       \
      bpf_ringbuf_discard(record, order->flags);                              \
    else                                                                      \
      bpf_ringbuf_submit(record, order->flags);                               \
    break;                                                                    \
  }

/* The two sizes that no ring of a script grants are never written. */
#define MOST_WRITTEN(constant) ((constant) <= CONFORM_RINGBUF_MOST_PAYLOAD ? (constant) : 0)

/* The sizes are those of the verb `reserve`; any other one is -EINVAL. */
SEC("raw_tp")
int reserve(void* ctx) {
  struct conform_ringbuf_order* order = &shared.order;
  void* ring = ring_of(order->ring);
  if (!ring) return -ENOENT;
  switch (order->size) {
    RESERVE_OF_SIZE(0)
    RESERVE_OF_SIZE(1)
    RESERVE_OF_SIZE(2)
    RESERVE_OF_SIZE(3)
    RESERVE_OF_SIZE(4)
    RESERVE_OF_SIZE(5)
    RESERVE_OF_SIZE(6)
    RESERVE_OF_SIZE(7)
    RESERVE_OF_SIZE(8)
    RESERVE_OF_SIZE(9)
    RESERVE_OF_SIZE(16)
    RESERVE_OF_SIZE(24)
    RESERVE_OF_SIZE(32)
    RESERVE_OF_SIZE(64)
    RESERVE_OF_SIZE(100)
    RESERVE_OF_SIZE(1000)
    RESERVE_OF_SIZE(2040)
    RESERVE_OF_SIZE(4072)
    RESERVE_OF_SIZE(4079)
    RESERVE_OF_SIZE(4080)
    RESERVE_OF_SIZE(4081)
    RESERVE_OF_SIZE(4088)
    RESERVE_OF_SIZE(4096)
    RESERVE_OF_SIZE(4104)
    RESERVE_OF_SIZE(8176)
    RESERVE_OF_SIZE(8177)
    RESERVE_OF_SIZE(8184)
    RESERVE_OF_SIZE(8192)
    RESERVE_OF_SIZE(8200)
    RESERVE_OF_SIZE(16368)
    RESERVE_OF_SIZE(16369)
    RESERVE_OF_SIZE(16384)
    RESERVE_OF_SIZE(1073741823)
    RESERVE_OF_SIZE(1073741824)
    default:
      return -EINVAL;
  }
  return 0;
}

SEC("raw_tp")
int dynptr(void* ctx) {
  struct conform_ringbuf_order* order = &shared.order;
  struct bpf_dynptr place;
  void* ring = ring_of(order->ring);
  if (!ring) return -ENOENT;
  order->result = bpf_ringbuf_reserve_dynptr(ring, order->size, order->reserve_flags, &place);
  if (!order->result) write_into(&place, order->written);
  settle(&place, order->discard, order->flags);
  return 0;
}

static long look_for_interrupt(__u32 index, __u64* before) { return READ_NOW(shared.nested_done) != *before; }

/* One look is some nanoseconds, the interrupt comes every 50 us: a bound that only a fault reaches. */
#define MOST_LOOKS (1u << 23)

/* A record of which the payload is written after an interrupt has put out its own. */
SEC("raw_tp")
int outer(void* ctx) {
  struct conform_ringbuf_order* order = &shared.order;
  struct bpf_dynptr place;
  void* ring = ring_of(order->ring);
  int told = 0;
  if (!ring) return -ENOENT;
  if (!interrupts_come(&shared.ticks)) return -EAGAIN;
  order->result = bpf_ringbuf_reserve_dynptr(ring, order->size, 0, &place);
  if (!order->result) {
    __u64 before = shared.nested_done;
    WRITE_NOW(shared.nested_armed, 1);
    bpf_loop(MOST_LOOKS, look_for_interrupt, &before, 0);
    WRITE_NOW(shared.nested_armed, 0);
    if (READ_NOW(shared.nested_done) == before) told = -ETIMEDOUT;
    write_into(&place, order->written);
  }
  bpf_ringbuf_submit_dynptr(&place, order->flags);
  return told;
}

SEC("perf_event")
int nested(void* ctx) {
  struct conform_ringbuf_order* order = &shared.order;
  shared.ticks++;
  if (!READ_NOW(shared.nested_armed)) return 0;
  void* ring = ring_of(order->ring);
  __u32 size = order->inner;
  if (!ring || size > CONFORM_RINGBUF_MOST_INNER) return 0;
  for (__u32 i = 0; i < CONFORM_RINGBUF_MOST_NESTED; i++) {
    if (i >= order->count) break;
    shared.nested_results[i] = bpf_ringbuf_output(ring, shared.inner_payload[i], size, 0);
  }
  WRITE_NOW(shared.nested_armed, 0);
  WRITE_NOW(shared.nested_done, shared.nested_done + 1);
  return 0;
}

struct hold_args {
  __u64 slot;
};

/*
 * Holds a record BUSY. The program sleeps, it does not spin: `wait_address` lies on a page that user space supplies
 * only when the record is to be settled, and until then the copy from it sleeps in a page fault. A killed process ends
 * the sleep with an error, and the record is discarded.
 */
SEC("syscall")
int hold(struct hold_args* args) {
  __u64 slot = args->slot;
  struct bpf_dynptr place;
  if (slot >= CONFORM_RINGBUF_HELD) return -EINVAL;
  struct conform_ringbuf_hold* order = &shared.holds[slot];
  __u32 go_on = 0;
  void* ring = ring_of(order->ring);
  if (!ring) return -ENOENT;
  order->result = bpf_ringbuf_reserve_dynptr(ring, order->size, 0, &place);
  if (order->result) {
    bpf_ringbuf_discard_dynptr(&place, 0);
    return 0;
  }
  long failed = bpf_copy_from_user(&go_on, sizeof(go_on), (const void*)order->wait_address);
  if (!failed) write_into(&place, order->size);
  settle(&place, failed || READ_NOW(order->discard), READ_NOW(order->flags));
  return failed;
}
