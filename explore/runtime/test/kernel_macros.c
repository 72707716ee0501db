/* SPDX-License-Identifier: Apache-2.0 */
#include "explore/runtime/test/kernel_macros.h"

#include <linux/compiler.h>

int kernel_macros_failed;
int macro_data; /* not static: what is read back nowhere else is never written */
static unsigned long ready;

static void check(void) {
  if (unlikely(macro_data != 7)) kernel_macros_failed = 1;
}

void macro_release(void) {
  macro_data = 7;
  smp_store_release(&ready, 1);
}
void macro_acquire(void) {
  if (smp_load_acquire(&ready)) check();
}
void macro_write_once(void) {
  macro_data = 7;
  WRITE_ONCE(ready, 1);
}
void macro_read_once(void) {
  if (READ_ONCE(ready)) check();
}
void macro_write_behind_wmb(void) {
  macro_data = 7;
  smp_wmb();
  WRITE_ONCE(ready, 1);
}
void macro_read_before_rmb(void) {
  if (READ_ONCE(ready)) {
    smp_rmb();
    check();
  }
}
