/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses as the kernel's tools spell them.
 */
#ifndef RINGSIDE_EXPLORE_RUNTIME_TEST_KERNEL_MACROS_H
#define RINGSIDE_EXPLORE_RUNTIME_TEST_KERNEL_MACROS_H

#ifdef __cplusplus
extern "C" {
#endif

extern int kernel_macros_failed;

void macro_release(void);
void macro_acquire(void);
void macro_write_once(void);
void macro_read_once(void);
void macro_write_behind_wmb(void);
void macro_read_before_rmb(void);

#ifdef __cplusplus
}
#endif

#endif
