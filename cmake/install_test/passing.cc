// SPDX-License-Identifier: Apache-2.0
//
// A message that is passed right, and one that is passed without an order: explored with what is installed.
#include <atomic>
#include <functional>

#include "explore/explored.h"
#include "explore/programs/bpf_ring.h"

namespace {

std::atomic<int> ready;
int message;

void send() {
  message = 7;
  ready.store(1, std::memory_order_release);
}
template <std::memory_order order>
void receive() {
  if (ready.load(order) == 1 && message != 7) ringside::explore::fail("the message is not there");
}

using ringside::explore::Registered;
const Registered right{"right", {.begin = {}, .threads = {send, receive<std::memory_order_acquire>}, .end = {}}};
const Registered wrong{"wrong", {.begin = {}, .threads = {send, receive<std::memory_order_relaxed>}, .end = {}}};

// Of the model's producers.
namespace programs = ringside::explore::programs;
constexpr auto wait_for_record = [] { programs::wait_readable(programs::first_position()); };
const Registered silent{"silent", programs::bpf_program({.records = 1}, wait_for_record)};

}  // namespace
