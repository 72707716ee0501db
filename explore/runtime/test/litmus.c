/* SPDX-License-Identifier: Apache-2.0 */
#include "explore/runtime/test/litmus.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static atomic_int c_x;
static atomic_int c_y;
static atomic_int c_flag;
static volatile int volatile_x;
static volatile int volatile_y;
static volatile int volatile_flag;
static int32_t c_payload[3];

unsigned char source[24]; /* not static: what is never read back is never written */
unsigned char target[24];

void c_sb_left(void) {
  atomic_store_explicit(&c_x, 1, memory_order_relaxed);
  litmus_seen[0] = atomic_load_explicit(&c_y, memory_order_relaxed);
}
void c_sb_right(void) {
  atomic_store_explicit(&c_y, 1, memory_order_relaxed);
  litmus_seen[1] = atomic_load_explicit(&c_x, memory_order_relaxed);
}

void volatile_sb_left(void) {
  volatile_x = 1;
  litmus_seen[0] = volatile_y;
}
void volatile_sb_right(void) {
  volatile_y = 1;
  litmus_seen[1] = volatile_x;
}

static void write_payload(void) {
  for (int i = 0; i < 3; ++i) c_payload[i] = i + 1;
}
static void check_payload(void) {
  if (c_payload[0] + c_payload[1] + c_payload[2] != 6) litmus_failed = 1;
}
void c_mp_send(void) {
  write_payload();
  atomic_store_explicit(&c_flag, 1, memory_order_release);
}
void c_mp_receive(void) {
  if (atomic_load_explicit(&c_flag, memory_order_acquire)) check_payload();
}
void volatile_mp_send(void) {
  write_payload();
  volatile_flag = 1;
}
void volatile_mp_receive(void) {
  if (volatile_flag) check_payload();
}

void c_copy_all(void) { memcpy(target, source, sizeof target); }
void c_write_one(void) { source[13] = 1; }
void c_fill_all(void) { memset(source, 0, sizeof source); }

void c_use_own_stack(void) {
  unsigned char mine[64];
  memset(mine, litmus_seen[3], sizeof mine);
  memcpy(mine + 8, mine, 24);
  if (mine[31] != mine[0]) litmus_failed = 1;
}
