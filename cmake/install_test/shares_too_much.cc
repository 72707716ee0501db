// SPDX-License-Identifier: Apache-2.0
//
// A variable that each thread has of its own: the explorer's threads would share it, so the build must say no.
#include "explore/explored.h"

namespace {

thread_local int calls = 1;

void call() {
  if (++calls != 2) ringside::explore::fail("another thread has called");
}

const ringside::explore::Registered once{"once", {.begin = {}, .threads = {call, call}, .end = {}}};

}  // namespace
