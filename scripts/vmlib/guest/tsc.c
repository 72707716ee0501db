// SPDX-License-Identifier: Apache-2.0
//
// How fast the time-stamp counter ticks, measured on the host: a guest on TCG sees the same counter, and has no other
// clock on its small machine that it could be measured against.
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#include "scripts/vmlib/guest/guest.h"

struct reading {
  uint64_t ticks;
  int64_t ns;
};

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// The clock between two looks at the counter; of many tries the one in which the looks lay closest together, so that
// an interruption in between does no harm.
static struct reading read_both(void) {
  enum { TRIES = 100 };
  struct reading best = {0, 0};
  uint64_t closest = UINT64_MAX;
  for (int i = 0; i < TRIES; ++i) {
    const uint64_t before = __rdtsc();
    const int64_t ns = now_ns();
    const uint64_t after = __rdtsc();
    if (after - before < closest) {
      closest = after - before;
      best = (struct reading){before + (after - before) / 2, ns};
    }
  }
  return best;
}

int tsc_print_khz(void) {
  const struct timespec interval = {.tv_nsec = 50000000};
  const struct reading first = read_both();
  nanosleep(&interval, NULL);
  const struct reading last = read_both();
  const double khz = (double)(last.ticks - first.ticks) * 1e6 / (double)(last.ns - first.ns);
  printf("%" PRIu64 "\n", (uint64_t)(khz + 0.5));
  return 0;
}
