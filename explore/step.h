// SPDX-License-Identifier: Apache-2.0
//
// What a failing execution did, step by step, for whoever tells its story.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "explore/event.h"

namespace ringside::explore {

enum class StepKind : std::uint8_t {
  load,
  store,
  update_load,   ///< the reading half of a read-modify-write
  update_store,  ///< its writing half, which is the thread's next step
  fence,
  choice,
  plain_read,
  plain_write,
};

std::string_view name_of(StepKind kind);

struct Step {
  StepKind kind = StepKind::load;
  Order order = Order::relaxed;  ///< as the memory model takes it; not of plain accesses
  bool asleep = false;           ///< a load whose value made the thread wait, for ever in this execution
  bool timed = false;            ///< asleep until a timeout
  bool repeats = false;          ///< of a round that the thread would do again and again
  std::size_t thread = 0;
  std::uintptr_t address = 0;  ///< as the program named it; 0 for fences and choices
  std::size_t size_bytes = 0;
  std::uint64_t value = 0;     ///< read, stored or chosen; unknown, 0, of plain accesses
  const void* site = nullptr;  ///< the code that made it: an address behind the call; null where the caller gave none
  EventId event = {};          ///< of the execution's graph; nobody's for plain accesses
  std::vector<const void*> callers = {};  ///< as Program::callers says
  /// A load: the steps whose stores it might have seen, because they had been made and are newer than the one it read.
  std::vector<std::size_t> missed = {};
};

}  // namespace ringside::explore
