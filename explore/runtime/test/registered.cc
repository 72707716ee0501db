// SPDX-License-Identifier: Apache-2.0
//
// Two registered programs, of which one is wrong: what a tree of somebody else's would have.
#include <atomic>

#include "explore/explored.h"

namespace {

std::atomic<int> ready;
int message;

void send() {
  message = 7;
  ready.store(1, std::memory_order_release);
}
void receive() {
  if (ready.load(std::memory_order_acquire) == 1 && message != 7) ringside::explore::fail("the message is not there");
}
void receive_relaxed() {
  if (ready.load(std::memory_order_relaxed) == 1 && message != 7) ringside::explore::fail("the message is not there");
}

const ringside::explore::Registered right{"right", {.begin = {}, .threads = {send, receive}, .end = {}, .aliases = {}}};
const ringside::explore::Registered wrong{"wrong",
                                          {.begin = {}, .threads = {send, receive_relaxed}, .end = {}, .aliases = {}}};

}  // namespace
