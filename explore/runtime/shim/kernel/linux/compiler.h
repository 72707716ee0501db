/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the <linux/compiler.h> of libbpf, the kernel's tools and code like them, where their memory model's
 * accesses are volatile accesses and empty assembly, of which a compiler's instrumentation sees half. Here they are
 * atomic accesses and fences, as section 5 of docs/kernel-rings.md has them: READ_ONCE and WRITE_ONCE without order.
 */
#ifndef RINGSIDE_EXPLORE_RUNTIME_SHIM_KERNEL_LINUX_COMPILER_H
#define RINGSIDE_EXPLORE_RUNTIME_SHIM_KERNEL_LINUX_COMPILER_H

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
#define smp_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, value) __atomic_store_n((p), (value), __ATOMIC_RELEASE)

#endif
