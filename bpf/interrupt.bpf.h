/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether interrupts get to run their program on this CPU now. They do not while the thread that a program's own thread
 * has preempted there is inside the kernel's bookkeeping of maps, and a program that runs by BPF_PROG_TEST_RUN cannot
 * be preempted in turn: waiting for the interrupt would wait in vain. So a program that needs one looks for a tick
 * first, before it has changed anything, and otherwise says -EAGAIN; user space yields and runs it again.
 */
#ifndef RINGSIDE_BPF_INTERRUPT_BPF_H
#define RINGSIDE_BPF_INTERRUPT_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct tick_wait {
  const __u64* ticks; /* that the interrupt's program counts up each time it runs */
  __u64 before;
  __u64 deadline;
};

static long look_for_tick(__u32 index, struct tick_wait* wait) {
  if (*(const volatile __u64*)wait->ticks != wait->before) return 1;
  return (index & 0xff) == 0xff && bpf_ktime_get_ns() > wait->deadline;
}

#define TICK_BOUND_NS 10000000ull /* it comes every 50 us, and after 4 ms at the latest when it is throttled */

static __always_inline int interrupts_come(const __u64* ticks) {
  struct tick_wait wait = {
      .ticks = ticks, .before = *(const volatile __u64*)ticks, .deadline = bpf_ktime_get_ns() + TICK_BOUND_NS};
  bpf_loop(1 << 22, look_for_tick, &wait, 0);
  return *(const volatile __u64*)ticks != wait.before;
}

#endif
