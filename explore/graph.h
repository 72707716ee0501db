// SPDX-License-Identifier: Apache-2.0
//
// An execution as a graph: the events of each thread in program order, which store each load reads from, and for each
// location the order of its stores (the modification order). Two executions with the same graph are the same to every
// thread; the search visits each graph once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "explore/event.h"

namespace ringside::explore {

/// Bytes that are accessed atomically, always in the same width, between one plain write of them and the next. Whoever
/// comes after a plain write without a race can see nothing from before it: a new location.
struct Location {
  std::uintptr_t address = 0;
  std::uint32_t generation = 0;  ///< how many plain writes came between accesses before
  std::uint8_t size_bytes = 0;   ///< 1, 2, 4 or 8
  std::uint64_t initial = 0;     ///< their value before the first store
  std::vector<EventId> stores;   ///< in modification order, after the initial one
  std::vector<EventId> loads;    ///< in no particular order
};

class Graph {
 public:
  const Event& at(EventId id) const { return threads_[id.thread][id.index]; }
  Event& at(EventId id) { return threads_[id.thread][id.index]; }

  std::size_t count(std::size_t thread) const { return threads_[thread].size(); }
  std::size_t size() const { return order_.size(); }

  /// All events in an order that agrees with program order and reads-from: in this one they can be executed again.
  const std::vector<EventId>& order() const { return order_; }

  Location& location(std::size_t number) { return locations_[number]; }
  const Location& location(std::size_t number) const { return locations_[number]; }
  std::size_t location_count() const { return locations_.size(); }

  /// Number of the location; a new one has the initial value given.
  std::uint16_t find_location(std::uintptr_t address, std::uint8_t size_bytes, std::uint32_t generation,
                              std::uint64_t initial);

  /// Adds the next event of the thread, with a stamp later than all others. A load must have its reads_from; a store
  /// goes to `position` of its location's modification order (see place).
  EventId add(std::size_t thread, Event event, std::size_t position = 0);

  /// Where in the modification order a store stands: 0 for the initial one, then 1, 2 ...
  std::size_t position(std::size_t location, EventId store) const;
  /// The store at that position.
  EventId store_at(std::size_t location, std::size_t position) const;
  /// Position of what an access of the location wrote or read.
  std::size_t position_of(const Event& event, EventId id) const;

  /// The value that a load of that store yields.
  std::uint64_t value_of(std::size_t location, EventId store) const;
  /// What an acquire of that store learns; nothing from the initial one.
  Clock released_by(EventId store) const { return store.initial() ? Clock{} : at(store).released; }

  /// Takes the store out of its location's order and puts it to that position (1 or later).
  void place(EventId store, std::size_t position);

  /// Forgets every event with a later stamp. They must be the end of order().
  void cut_back(std::uint32_t last_stamp);

  /// Keeps that many events of each thread, the load last of all in order(), and lets it read from the store.
  void revisit(const std::array<std::size_t, most_threads>& kept, EventId load, EventId store);

  /// The load reads from that store, with the clocks that follow. It must be the last event of its thread.
  void set_reads_from(EventId load, EventId store);

  std::uint32_t last_stamp() const { return next_stamp_ - 1; }

  /// The same events, readings and orders of stores, whatever the stamps. For tests.
  std::vector<std::uint64_t> shape() const;

 private:
  void forget(EventId id);

  std::array<std::vector<Event>, most_threads> threads_;
  std::vector<Location> locations_;
  std::vector<EventId> order_;
  std::uint32_t next_stamp_ = 1;
};

}  // namespace ringside::explore
