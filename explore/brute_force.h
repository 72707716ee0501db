// SPDX-License-Identifier: Apache-2.0
//
// The executions of tiny programs by trying everything: each reading of each load, each order of stores, checked
// against the axioms of the memory model as relations over all events. Slow, plain, and written apart from the search,
// which must find the same executions.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <set>
#include <vector>

#include "explore/memory_model.h"
#include "explore/program.h"

namespace ringside::explore {

struct TinyOperation {
  enum class Kind : std::uint8_t { load, store, add, compare_exchange, fence, store_either, ask };

  Kind kind = Kind::load;
  Order order = Order::relaxed;
  Order failure = Order::relaxed;  ///< of a compare_exchange
  std::uint8_t location = 0;
  std::uint8_t bytes = 3;     ///< of the location's two, a bit each: 1, 2 or 3
  std::uint8_t operand = 0;   ///< what is stored or added; store_either: that or, by choice, one more
  std::uint8_t expected = 0;  ///< ask: the load is only asked whether it reads that
  std::uint8_t back = 0;      ///< ask: the load is of the place so many operations before
};

/// Locations are of two bytes, which are 0 at first. Where a program accesses one of them in two widths its stores have
/// one order and a store of one byte is two events, the first reading the store before it (see Location).
struct TinyProgram {
  std::vector<std::vector<TinyOperation>> threads;
};

std::ostream& operator<<(std::ostream& out, const TinyProgram& program);

/// An execution by what tells it from others: readings and orders of stores, as numbers.
using TinyShape = std::vector<std::uint64_t>;

/// All executions, in the numbers of Graph::shape() for locations in the order of their addresses.
std::set<TinyShape> brute_force(const TinyProgram& program, MemoryModel model);

/// The same, operation by operation instead of event by event, and of loads that are only asked something the answers.
std::set<TinyShape> brute_force_answers(const TinyProgram& program, MemoryModel model);

}  // namespace ringside::explore
