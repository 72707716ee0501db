// SPDX-License-Identifier: Apache-2.0
#include "explore/graph.h"

#include <algorithm>
#include <bit>

namespace ringside::explore {

std::uint16_t Graph::find_location(std::uintptr_t address, std::uint8_t size_bytes, std::uint32_t generation,
                                   std::uint64_t initial) {
  for (std::size_t number = 0; number < locations_.size(); ++number) {
    Location& known = locations_[number];
    if (known.address != address || known.size_bytes != size_bytes || known.generation != generation) continue;
    // Nobody has touched it since: what it begins with is the program's to say.
    if (known.stores.empty() && known.loads.empty()) known.initial = initial;
    return static_cast<std::uint16_t>(number);
  }
  locations_.push_back({.address = address,
                        .generation = generation,
                        .size_bytes = size_bytes,
                        .initial = initial,
                        .stores = {},
                        .loads = {}});
  return static_cast<std::uint16_t>(locations_.size() - 1);
}

void Graph::clear() {
  for (auto& thread : threads_) thread.clear();
  locations_.clear();
  order_.clear();
  next_stamp_ = 1;
  questions_.clear();
  sequential_ = {};
}

EventId Graph::add(std::size_t thread, Event event, std::size_t position) {
  const EventId id{static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(threads_[thread].size())};
  count_order(thread, event.order, 1);
  event.stamp = next_stamp_++;
  if (writes(event.kind)) {
    auto& stores = locations_[event.location].stores;
    assert(position >= 1 && position <= stores.size() + 1);
    stores.insert(stores.begin() + static_cast<std::ptrdiff_t>(position - 1), id);
  } else if (reads(event.kind)) {
    locations_[event.location].loads.push_back(id);
  }
  threads_[thread].push_back(event);
  order_.push_back(id);
  return id;
}

std::size_t Graph::position(std::size_t location, EventId store) const {
  if (store.initial()) return 0;
  const auto& stores = locations_[location].stores;
  const auto found = std::find(stores.begin(), stores.end(), store);
  assert(found != stores.end());
  return static_cast<std::size_t>(found - stores.begin()) + 1;
}

EventId Graph::store_at(std::size_t location, std::size_t position) const {
  return position == 0 ? EventId{} : locations_[location].stores[position - 1];
}

std::size_t Graph::position_of(const Event& event, EventId id) const {
  return position(event.location, reads(event.kind) ? event.reads_from : id);
}

namespace {

std::uint64_t mask_of(std::uint8_t bytes) {
  std::uint64_t mask = 0;
  for (std::size_t byte = 0; byte < 8; ++byte) mask |= (bytes >> byte & 1u) != 0 ? std::uint64_t{0xff} << 8 * byte : 0;
  return mask;
}

}  // namespace

std::uint64_t Graph::value_of(std::size_t location, EventId store, std::uint8_t bytes) const {
  if (!store.initial() && at(store).bytes == bytes) return at(store).value;
  const auto shift_of = [](std::uint8_t part) { return 8 * std::countr_zero(part); };
  std::uint64_t word = locations_[location].initial & mask_of(bytes);
  std::uint8_t missing = bytes;
  for_each_source(location, store, bytes, [&](EventId source) {
    const Event& event = at(source);
    const std::uint64_t mask = mask_of(event.bytes & missing);
    word = (word & ~mask) | (event.value << shift_of(event.bytes) & mask);
    missing = static_cast<std::uint8_t>(missing & ~event.bytes);
  });
  return word >> shift_of(bytes);
}

Clock Graph::released_by(std::size_t location, EventId store, std::uint8_t bytes) const {
  Clock clock;
  for_each_source(location, store, bytes, [&](EventId source) { clock.join(at(source).released); });
  return clock;
}

std::uint16_t Graph::find_question(const Question& question) {
  const auto known = std::find(questions_.begin(), questions_.end(), question);
  const auto number = static_cast<std::uint16_t>(known - questions_.begin() + 1);
  if (known == questions_.end()) questions_.push_back(question);
  return number;
}

Clock Graph::known_to(const Event& event) const {
  if (event.question == 0) return event.happens_before;
  Clock known = question(event).view.known;
  if (acquires(event.order)) known.join(released_to(event));
  return known;
}

std::size_t Graph::last_writer(std::size_t location, std::size_t position, std::uint8_t bytes) const {
  while (position > 0 && (at(locations_[location].stores[position - 1]).bytes & bytes) == 0) --position;
  return position;
}

bool Graph::reads_last(const Event& load) const {
  const std::size_t stores = locations_[load.location].stores.size();
  const std::size_t last = exclusive(load.kind) ? stores : last_writer(load.location, stores, load.bytes);
  return position(load.location, load.reads_from) >= last;
}

void Graph::count_order(std::size_t thread, Order order, int more) {
  if (order == Order::seq_cst) sequential_[thread] = static_cast<std::uint16_t>(sequential_[thread] + more);
}

void Graph::take_out(EventId store) { std::erase(locations_[at(store).location].stores, store); }

void Graph::place(EventId store, std::size_t position) {
  auto& stores = locations_[at(store).location].stores;
  if (position <= stores.size() && stores[position - 1] == store) return;
  std::erase(stores, store);
  stores.insert(stores.begin() + static_cast<std::ptrdiff_t>(position - 1), store);
}

void Graph::forget(EventId id) {
  const Event& event = at(id);
  if (writes(event.kind)) {
    std::erase(locations_[event.location].stores, id);
  } else if (reads(event.kind)) {
    std::erase(locations_[event.location].loads, id);
  }
  assert(threads_[id.thread].size() == std::size_t{id.index} + 1);
  count_order(id.thread, event.order, -1);
  threads_[id.thread].pop_back();
}

void Graph::cut_back(std::uint32_t last_stamp) {
  while (!order_.empty() && at(order_.back()).stamp > last_stamp) {
    forget(order_.back());
    order_.pop_back();
  }
  next_stamp_ = last_stamp + 1;
}

void Graph::revisit(const std::array<std::size_t, most_threads>& kept, EventId load, EventId store) {
  const auto gone = [&](EventId id) { return id.index >= kept[id.thread]; };
  for (Location& location : locations_) {
    std::erase_if(location.stores, gone);
    std::erase_if(location.loads, gone);
  }
  std::erase_if(order_, [&](EventId id) { return gone(id) || id == load; });
  order_.push_back(load);
  for (std::size_t thread = 0; thread < most_threads; ++thread) {
    while (threads_[thread].size() > kept[thread]) {
      count_order(thread, threads_[thread].back().order, -1);
      threads_[thread].pop_back();
    }
  }
  set_reads_from(load, store);
}

void Graph::set_reads_from(EventId load, EventId store) {
  assert(std::size_t{load.index} + 1 == threads_[load.thread].size());
  Event& event = at(load);
  event.reads_from = store;
  event.value = value_of(event.location, store, event.bytes);
  if (event.compares) {
    const bool equal = event.value == event.expected;
    event.kind = equal ? EventKind::exclusive_load : EventKind::load;
    count_order(load.thread, event.order, -1);
    event.order = equal ? event.if_equal : event.if_unequal;
    count_order(load.thread, event.order, 1);
  }
  event.causes = event.happens_before = Clock{};
  if (load.index > 0) {
    const Event& before = threads_[load.thread][load.index - 1u];
    event.causes = before.causes;
    event.happens_before = before.happens_before;
  }
  if (!store.initial()) event.causes.join(at(store).causes);
  if (acquires(event.order)) event.happens_before.join(released_to(event));
  event.causes.set(load.thread, load.index + 1u);
  event.happens_before.set(load.thread, load.index + 1u);
}

std::vector<std::uint32_t> Graph::added() const {
  std::vector<std::uint32_t> stamps;
  for (const EventId id : order_) stamps.push_back(at(id).stamp);
  std::vector<std::uint32_t> sorted = stamps;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t& stamp : stamps) {
    stamp = static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), stamp) - sorted.begin()) + 1;
  }
  return stamps;
}

void Graph::restamp(const std::vector<std::uint32_t>& added) {
  assert(added.size() == order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) at(order_[i]).stamp = added[i];
  next_stamp_ = static_cast<std::uint32_t>(order_.size()) + 1;
  for (Location& location : locations_) {
    std::sort(location.loads.begin(), location.loads.end(),
              [this](EventId one, EventId other) { return at(one).stamp < at(other).stamp; });
  }
}

std::vector<std::uint64_t> Graph::shape() const {
  const auto number = [](EventId id) { return std::uint64_t{id.thread} << 16 | id.index; };
  std::vector<std::uint64_t> shape;
  for (std::size_t thread = 0; thread < most_threads; ++thread) {
    shape.push_back(threads_[thread].size());
    for (const Event& event : threads_[thread]) {
      shape.push_back(static_cast<std::uint64_t>(event.kind));
      if (reads(event.kind)) shape.push_back(number(event.reads_from));
      if (event.kind == EventKind::choice) shape.push_back(event.value);
    }
  }
  std::vector<std::pair<std::uintptr_t, std::vector<std::uint64_t>>> orders;
  for (const Location& location : locations_) {
    if (location.stores.empty()) continue;
    auto& stores = orders.emplace_back(location.address, std::vector<std::uint64_t>{}).second;
    for (const EventId id : location.stores) stores.push_back(number(id));
  }
  std::sort(orders.begin(), orders.end());
  for (const auto& [address, stores] : orders) shape.insert(shape.end(), stores.begin(), stores.end());
  return shape;
}

}  // namespace ringside::explore
