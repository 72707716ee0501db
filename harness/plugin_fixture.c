/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin for the tests of the loader. It is built once for each FAULT_ macro, with that one fault; FAULT_NONE keeps
 * the contract. As a consumer it reads nothing: it is loaded and looked at, never run.
 */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "ring/consumer.h"

#ifdef FAULT_SYMBOL
/* Nobody defines it: RTLD_NOW must find that out. */
extern int ringside_symbol_that_nobody_defines(void);
#endif

static int open_nothing(const struct ringside_ring_set* rings, const struct ringside_host* host, void** state) {
  (void)rings;
  (void)host;
  *state = NULL;
#ifdef FAULT_SYMBOL
  return ringside_symbol_that_nobody_defines();
#else
  return 0;
#endif
}

static int64_t drain_nothing(void* state, uint64_t max_records) {
  (void)state;
  (void)max_records;
  return 0;
}

static int wait_for_nothing(void* state, int64_t timeout_ns) {
  (void)state;
  (void)timeout_ns;
  return RINGSIDE_WAIT_TIMEOUT;
}

static void close_nothing(void* state) { (void)state; }

static const struct ringside_consumer consumer = {
    .abi_version = RINGSIDE_CONSUMER_ABI,
    .struct_size = sizeof(struct ringside_consumer),
    .name = "fixture",
    .summary = "reads nothing",
    .ring_kinds = RINGSIDE_RINGBUF,
    .open = open_nothing,
    .drain = drain_nothing,
    .wait = wait_for_nothing,
    .close = close_nothing,
};

#ifdef FAULT_CONSTRUCTOR
__attribute__((constructor)) static void leave(void) { _exit(3); }
#endif

#ifdef FAULT_ENTRY
#define ringside_consumer_entry another_name
#endif

const struct ringside_consumer* ringside_consumer_entry(void);

const struct ringside_consumer* ringside_consumer_entry(void) {
  static struct ringside_consumer changed;
  changed = consumer;
#if defined(FAULT_ABI)
  changed.abi_version = RINGSIDE_CONSUMER_ABI + 1;
#elif defined(FAULT_SIZE)
  changed.struct_size -= 8;
#elif defined(FAULT_NAME)
  changed.name = "My Reader";
#elif defined(FAULT_SUMMARY)
  changed.summary = "two\nlines";
#elif defined(FAULT_FUNCTION)
  changed.drain = NULL;
#elif defined(FAULT_KINDS)
  changed.ring_kinds = 0x10;
#elif defined(FAULT_NEEDS)
  changed.needs = RINGSIDE_OWNS_RINGS;
#elif defined(FAULT_EXIT)
  exit(0);
#elif defined(FAULT_ABORT)
  abort();
#elif defined(FAULT_ENDLESS)
  for (;;) pause();
#elif defined(FAULT_NULL)
  return NULL;
#endif
  return &changed;
}
