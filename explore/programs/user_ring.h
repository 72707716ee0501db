// SPDX-License-Identifier: Apache-2.0
//
// A user ring buffer as the model drains it (sim/user_ringbuf_drain.h), every shared access a step: the kernel drains
// whenever a committed sample lies there. It is not instrumented; producers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "explore/explored.h"

namespace ringside::explore::programs {

struct UserPlan {
  std::uint32_t samples = 2;
  std::uint32_t size = 8;      ///< of each, bytes; 8 or more
  std::uint64_t start = 0;     ///< of every position
  std::uint32_t discards = 0;  ///< samples that the producer discards, a bit each
};

struct UserPages {
  const void* consumer_page = nullptr;
  void* producer_page = nullptr;
  void* data = nullptr;  ///< twice in a row
  std::uint64_t data_size = 0;
};

/// Of the program that is explored now.
UserPages user_pages();
const UserPlan& user_plan();
/// Writable while any byte of it is free, which the kernel looks at behind a full barrier.
int user_ring_descriptor();

/// A program of this producer and the kernel's drains, until all samples were drained. What is submitted as the n-th
/// has n as its first word and as its last.
Program user_program(const UserPlan& plan, std::function<void()> producer);

}  // namespace ringside::explore::programs
