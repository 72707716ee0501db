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
#include "explore/value_test.h"

namespace ringside::explore {

/// Bytes that are accessed atomically between one plain write of them and the next. Whoever comes after a plain write
/// without a race can see nothing from before it: a new location.
///
/// Where accesses differ in width the widest of them is the location, and all its stores have one order. A store of a
/// part of it is written as a pair of events, as a read-modify-write is, but with Event::link set: the first reads the
/// store right before it in the order, the second stores the part. So what the whole word holds after any of its stores
/// is known from that store on downwards, and orders differ by what such links read. A link is no access to the memory
/// model: it synchronises with nothing, and coherence holds byte by byte.
struct Location {
  std::uintptr_t address = 0;
  std::uint32_t generation = 0;  ///< how many plain writes came between accesses before
  std::uint8_t size_bytes = 0;   ///< 1, 2, 4 or 8
  std::uint64_t initial = 0;     ///< their value before the first store
  std::vector<EventId> stores;   ///< in modification order, after the initial one
  std::vector<EventId> loads;    ///< in no particular order
};

/// What a load is made for.
struct Question {
  ValueTest test;
  View view;             ///< the place that the load is of
  bool decides = false;  ///< executions with the same answer are one

  friend bool operator==(const Question&, const Question&) = default;
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

  void clear();

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

  /// The value that a load of those bytes of that store yields.
  std::uint64_t value_of(std::size_t location, EventId store, std::uint8_t bytes) const;
  /// What an acquire of those bytes of that store learns; nothing from the initial one.
  Clock released_by(std::size_t location, EventId store, std::uint8_t bytes) const;
  Clock released_to(const Event& load) const { return released_by(load.location, load.reads_from, load.bytes); }
  /// Calls `with` for each store that the bytes come from, the latest first; not for the initial one.
  template <class With>
  void for_each_source(std::size_t location, EventId store, std::uint8_t bytes, With with) const;
  /// The highest position up to `position` of a store that writes any of those bytes; 0 if there is none.
  std::size_t last_writer(std::size_t location, std::size_t position, std::uint8_t bytes) const;
  /// Whether no later store gives the load anything else.
  bool reads_last(const Event& load) const;
  /// The number of the question, which is an old one if it was asked before.
  std::uint16_t find_question(const Question& question);
  const Question& question(const Event& load) const { return questions_[load.question - 1u]; }
  /// What an event happens after, itself included: of a load of an earlier place only what that knew and it learnt.
  Clock known_to(const Event& event) const;
  /// How many of the thread's events are sequentially consistent.
  std::size_t sequential(std::size_t thread) const { return sequential_[thread]; }

  /// Takes the store out of its location's order.
  void take_out(EventId store);
  /// Takes the store out of its location's order and puts it to that position (1 or later).
  void place(EventId store, std::size_t position);

  /// Forgets every event with a later stamp. They must be the end of order().
  void cut_back(std::uint32_t last_stamp);

  /// Keeps that many events of each thread, the load last of all in order(), and lets it read from the store.
  void revisit(const std::array<std::size_t, most_threads>& kept, EventId load, EventId store);

  /// The load reads from that store, with the clocks that follow. It must be the last event of its thread.
  void set_reads_from(EventId load, EventId store);

  std::uint32_t last_stamp() const { return next_stamp_ - 1; }
  /// By event of order(): as which of all it was added, from 1 on.
  std::vector<std::uint32_t> added() const;
  /// Stamps as if the events of order() had been added so; the next one is added after all of them.
  void restamp(const std::vector<std::uint32_t>& added);

  /// The same events, readings and orders of stores, whatever the stamps. For tests.
  std::vector<std::uint64_t> shape() const;

 private:
  void forget(EventId id);
  void count_order(std::size_t thread, Order order, int more);

  std::array<std::vector<Event>, most_threads> threads_;
  std::vector<Location> locations_;
  std::vector<EventId> order_;
  std::uint32_t next_stamp_ = 1;
  std::vector<Question> questions_;
  std::array<std::uint16_t, most_threads> sequential_{};
};

template <class With>
void Graph::for_each_source(std::size_t location, EventId store, std::uint8_t bytes, With with) const {
  if (store.initial()) return;
  if ((bytes & ~at(store).bytes) == 0) return with(store);  // as ever, but in words of several widths
  for (std::size_t position = this->position(location, store); position > 0 && bytes != 0; --position) {
    const EventId source = store_at(location, position);
    if ((at(source).bytes & bytes) != 0) with(source);
    bytes = static_cast<std::uint8_t>(bytes & ~at(source).bytes);
  }
}

}  // namespace ringside::explore
