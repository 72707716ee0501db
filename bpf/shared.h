/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the BPF programs and user space share: one block of memory (the programs' global variables, mapped by user
 * space) that holds the orders to the programs and what they did. A source is written by one context at a time, so its
 * counters need no atomic additions; user space only reads them.
 *
 * Orderings. User space writes orders before the system call that runs the program, which orders them. Counters that
 * user space reads while a program runs are stored before the record they count becomes visible, and the kernel
 * publishes a record with a full barrier or a release: who has seen the record sees the counter.
 */
#ifndef RINGSIDE_BPF_SHARED_H
#define RINGSIDE_BPF_SHARED_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define RINGSIDE_SOURCES 64u     /* sources of one load of the programs; the last one is for prefilling */
#define RINGSIDE_ERRNOS 128u     /* failures are counted by positive errno below this; others under 0 */
#define RINGSIDE_SLOTS 256u      /* floods and holds that may run at once */
#define RINGSIDE_SCRIPT_OPS 512u /* operations of one script run */
#define RINGSIDE_CPUS 512u       /* CPU ids with a loss counter; a higher id is refused by user space */
#define RINGSIDE_CHUNK 64u       /* bytes that a program writes of a record at once */

/* What one source did; the fields are those of ring::SourceLedger. */
struct ringside_counters {
  __u64 attempts;
  __u64 committed;
  __u64 empty;
  __u64 discarded;
  __u64 malformed;
  __u64 open;
  __u64 cpu;       /* CPU of the last attempt */
  __u64 next[4];   /* by state: the number of its next record */
  __u64 unused[5]; /* up to here only the program touches the cache lines in a run */
  __u64 reserved;  /* no record of this or a higher number can be in the ring; never falls */
  __u64 unused_after[7];
  __u64 failed[RINGSIDE_ERRNOS];
};

/* ring::Operation, as the programs take it. `action` has the values of ring::Action. */
enum ringside_action { RINGSIDE_SUBMIT = 0, RINGSIDE_DISCARD = 1, RINGSIDE_OUTPUT = 2 };

struct ringside_op {
  __u32 action;
  __u32 flags;
  __u32 source;
  __u32 size;
  __u32 nested;
  __u32 nested_source;
  __u32 nested_size;
  __s32 result; /* 0 or a negative errno: ETIMEDOUT when the nested interrupt did not come in time */
};

/* ring::Stamp, as the programs take it. */
enum ringside_stamp { RINGSIDE_STAMP_NONE = 0, RINGSIDE_STAMP_BEFORE = 1, RINGSIDE_STAMP_INSIDE = 2 };

/* Why a flood program returned: its return value. */
enum ringside_flood_end {
  RINGSIDE_FLOOD_BATCH = 0,   /* the batch is done, run it again */
  RINGSIDE_FLOOD_GOAL = 1,    /* `goal` records are done */
  RINGSIDE_FLOOD_FULL = 2,    /* `give_up` attempts in a row failed */
  RINGSIDE_FLOOD_STOPPED = 3, /* `command` was set */
};

/* What `goal` counts: attempts that did not fail, or all. */
enum ringside_flood_goal { RINGSIDE_GOAL_DONE = 0, RINGSIDE_GOAL_ATTEMPTED = 1 };

/* Commands of user space to a running program. */
enum ringside_command {
  RINGSIDE_GO_ON = 0,
  RINGSIDE_SETTLE_SUBMIT = 1,
  RINGSIDE_SETTLE_DISCARD = 2,
  RINGSIDE_STOP = 3
};

/* Progress of a hold. */
enum ringside_hold_state { RINGSIDE_HOLD_NONE = 0, RINGSIDE_HOLD_BUSY = 1, RINGSIDE_HOLD_SETTLED = 2 };

/* Orders and progress of one flood thread or one hold. */
struct ringside_slot {
  /* orders */
  __u32 source;
  __u32 flags; /* wake-up flags of every record */
  __u32 action;
  __u32 min_size;
  __u32 max_size;
  __u32 force_every;   /* every n-th record forces a wake-up; 0 never */
  __u32 discard_every; /* every n-th record is discarded; 0 never */
  __u32 give_up;       /* failures in a row that end the run; 0 never */
  __u32 goal_kind;
  __u32 batch;        /* records of one run at most */
  __u64 goal;         /* total of the source to reach, over all its floods */
  __u64 wait_address; /* hold: user memory that holds a ringside_command once the record is to be settled */
  /* progress */
  __u32 command; /* written by user space while the program runs */
  __u32 state;
  __u32 unused[16];
};

/* The order to the hardirq program, which is one for each load. */
struct ringside_nested {
  __u32 armed; /* 1: at the next interrupt on `cpu` put out `count` records */
  __u32 cpu;
  __u32 source;
  __u32 size;
  __u32 count;
  __u32 wanted; /* 1: an operation of the script needs the interrupt */
  __u64 done;   /* interrupts that carried out an order */
  __u64 ticks;  /* interrupts */
};

struct ringside_shared {
  struct ringside_counters counters[RINGSIDE_SOURCES];
  struct ringside_slot slots[RINGSIDE_SLOTS];
  struct ringside_op ops[RINGSIDE_SCRIPT_OPS];
  struct ringside_nested nested;
  /* perf: outputs of a CPU that failed for want of space since its last output that did not */
  __u64 unreported_losses[RINGSIDE_CPUS];
};

#endif /* RINGSIDE_BPF_SHARED_H */
