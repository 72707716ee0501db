// SPDX-License-Identifier: Apache-2.0
//
// The events of an execution: what a thread did to atomic memory, and what it saw.
#pragma once

#include <compare>
#include <cstdint>

#include "explore/clock.h"

namespace ringside::explore {

/// How strongly an access orders what is around it, as C++ names it (consume is acquire).
enum class Order : std::uint8_t { relaxed, acquire, release, acq_rel, seq_cst };

constexpr bool acquires(Order order) {
  return order == Order::acquire || order == Order::acq_rel || order == Order::seq_cst;
}
constexpr bool releases(Order order) {
  return order == Order::release || order == Order::acq_rel || order == Order::seq_cst;
}

enum class EventKind : std::uint8_t {
  load,
  store,
  exclusive_load,   ///< the reading half of a read-modify-write
  exclusive_store,  ///< its writing half: the event after it, with no other store in between
  fence,
  choice,  ///< between the numbers from 0 to `expected` - 1, of which the program asked for any
};

constexpr bool reads(EventKind kind) { return kind == EventKind::load || kind == EventKind::exclusive_load; }
constexpr bool exclusive(EventKind kind) {
  return kind == EventKind::exclusive_load || kind == EventKind::exclusive_store;
}
constexpr bool accesses(EventKind kind) { return kind != EventKind::fence && kind != EventKind::choice; }
constexpr bool writes(EventKind kind) { return kind == EventKind::store || kind == EventKind::exclusive_store; }

/// Names an event: the index-th of its thread. The initial value of a location is a store of nobody's.
struct EventId {
  static constexpr std::uint16_t nobody = 0xffff;

  std::uint16_t thread = nobody;
  std::uint16_t index = 0;

  bool initial() const { return thread == nobody; }
  friend bool operator==(const EventId&, const EventId&) = default;
  friend auto operator<=>(const EventId&, const EventId&) = default;
};

struct Event {
  EventKind kind = EventKind::load;
  Order order = Order::relaxed;
  bool link = false;      ///< a store of a part of a word, which first reads the store before it; see Location
  bool awaits = false;    ///< a load that only ends with a value that its thread waits for
  bool compares = false;  ///< a compare-exchange's load: exclusive only where it reads `expected`
  Order if_unequal = Order::relaxed;  ///< its order elsewhere
  Order if_equal = Order::relaxed;
  std::uint16_t location = 0;  ///< its number in the graph; only where the kind accesses()
  std::uint32_t stamp = 0;     ///< when it was added: larger is later
  std::uint8_t bytes = 0xff;   ///< of the location, a bit each; all ones where all accesses have one width
  std::uint16_t question = 0;  ///< a load that only answers one: its number in the graph, from 1
  std::uint64_t value = 0;     ///< read, written or chosen
  std::uint64_t expected = 0;
  EventId reads_from;    ///< loads
  Clock causes;          ///< program order and reads-from, transitively; itself, too
  Clock happens_before;  ///< happens-before of C++; itself, too
  Clock released;        ///< stores: what whoever acquires it learns
};

inline Event event_of(EventKind kind, Order order) {
  Event event;
  event.kind = kind;
  event.order = order;
  return event;
}

}  // namespace ringside::explore
