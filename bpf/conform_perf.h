/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs of bpf/conform_perf.bpf.c share with user space: orders in, the kernel's own state out.
 */
#ifndef RINGSIDE_BPF_CONFORM_PERF_H
#define RINGSIDE_BPF_CONFORM_PERF_H

#include <linux/types.h>

/* Slots of the PERF_EVENT_ARRAY: the script's events, an event of another type, one that stays empty. */
#define CONFORM_PERF_EVENTS 2
#define CONFORM_PERF_SLOT_OTHER 2
#define CONFORM_PERF_SLOT_EMPTY 3
#define CONFORM_PERF_SLOTS 4
/* Bytes of the longest payload, and of the longest one of an output within another. */
#define CONFORM_PERF_MOST_PAYLOAD (1u << 17)
#define CONFORM_PERF_MOST_INNER 1024u

/* One event as the kernel holds it, and the ring that it writes to [KERNEL-RINGS 2.3]. Without a ring (ring 0) the
 * numbers of the ring are those of an earlier look. */
struct conform_perf_event {
  __u64 ring; /* an address; the same for events that share a ring */
  __u64 control_page;
  __u64 head_address;
  __u64 nest_address;
  __u64 lost_samples;
  __u64 head;
  __u64 events;
  __u64 wakeup;
  __u64 lost;
  __u64 watermark;
  __u32 nest;
  __u32 poll;
  __u32 paused;
  __u32 overwrite;
  __u32 pages;
};

struct conform_perf_shared {
  /* The order for an output within another: it takes place when that many watched stores have been seen on the thread.
   * 0: there is none, or it has taken place. */
  __u32 nested_armed;
  __u32 nested_thread; /* as the first pid namespace numbers it */
  __u32 nested_slot;
  __u32 nested_size;
  __s32 nested_result;
  __u8 nested_payload[CONFORM_PERF_MOST_INNER];

  __u64 events_address; /* of the map `events`, as a plain number */
  struct conform_perf_event state[CONFORM_PERF_EVENTS];
};

#endif
