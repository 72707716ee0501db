// SPDX-License-Identifier: Apache-2.0
#include "explore/program.h"

#include <cstring>
#include <utility>

#include "explore/engine.h"

namespace ringside::explore {

namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// The engine at work, told where the program's call stands.
Engine& here(const void* site) { return Engine::current->at(site); }

/// Whether a thread of a program runs; not in begin and end.
bool inside() { return Engine::current != nullptr && Engine::current->inside(); }

std::uint64_t value_at(const void* address, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, address, size);
  return value;
}

void write_at(void* address, std::size_t size, std::uint64_t value) { std::memcpy(address, &value, size); }

}  // namespace

std::uint64_t atomic_load(const void* address, std::size_t size, Order order) {
  if (!inside()) return value_at(address, size);
  return here(__builtin_return_address(0)).load(number(address), size, event_of(EventKind::load, order), nullptr).value;
}

void atomic_store(void* address, std::size_t size, std::uint64_t value, Order order) {
  if (!inside()) return write_at(address, size, value);
  here(__builtin_return_address(0)).store(number(address), size, value, EventKind::store, order);
}

std::uint64_t atomic_update(void* address, std::size_t size, Order order,
                            const std::function<std::uint64_t(std::uint64_t)>& change) {
  if (!inside()) {
    const std::uint64_t value = value_at(address, size);
    write_at(address, size, change(value));
    return value;
  }
  const Event asked = event_of(EventKind::exclusive_load, order);
  const std::uint64_t value = here(__builtin_return_address(0)).load(number(address), size, asked, nullptr).value;
  here(__builtin_return_address(0)).store(number(address), size, change(value), EventKind::exclusive_store, order);
  return value;
}

std::uint64_t atomic_compare_exchange(void* address, std::size_t size, std::uint64_t expected, std::uint64_t wanted,
                                      Order success, Order failure) {
  if (!inside()) {
    const std::uint64_t value = value_at(address, size);
    if (value == expected) write_at(address, size, wanted);
    return value;
  }
  Event asked = event_of(EventKind::exclusive_load, success);
  asked.compares = true;
  asked.if_equal = success;
  asked.if_unequal = failure;
  asked.expected = expected;
  const Event read = here(__builtin_return_address(0)).load(number(address), size, asked, nullptr);
  if (read.value == expected)
    here(__builtin_return_address(0)).store(number(address), size, wanted, EventKind::exclusive_store, success);
  return read.value;
}

std::uint64_t await(const void* address, std::size_t size, Order order,
                    const std::function<bool(std::uint64_t)>& enough) {
  return here(__builtin_return_address(0)).load(number(address), size, event_of(EventKind::load, order), &enough).value;
}

void look(std::uint64_t state, const std::function<bool()>& poll) {
  Engine& engine = *Engine::current;
  while (true) {
    const std::size_t events = engine.events();
    engine.begin_look(state);
    const bool found = poll();
    if (!found) engine.end_look_in_vain(engine.events() - events);
    engine.forget_look();
    if (found) return;
  }
}

void lock(std::uint32_t* word) {
  const std::function<bool(std::uint64_t)> free = [](std::uint64_t value) { return value == 0; };
  const Event asked = event_of(EventKind::exclusive_load, Order::acquire);
  here(__builtin_return_address(0)).load(number(word), sizeof(*word), asked, &free);
  here(__builtin_return_address(0)).store(number(word), sizeof(*word), 1, EventKind::exclusive_store, Order::acquire);
}

void unlock(std::uint32_t* word) {
  here(__builtin_return_address(0)).store(number(word), sizeof(*word), 0, EventKind::store, Order::release);
}

bool atomic_test(const void* address, std::size_t size, Order order, const ValueTest& test) {
  Engine& engine = here(__builtin_return_address(0));
  return engine.ask(number(address), size, order, test, engine.view());
}

DeferredLoad::DeferredLoad(const void* address, std::size_t size, Order order)
    : address_(address), size_(size), order_(order), deferred_(Engine::current->defers()) {
  if (deferred_) {
    view_ = Engine::current->view();
  } else {
    value_ =
        here(__builtin_return_address(0)).load(number(address), size, event_of(EventKind::load, order), nullptr).value;
  }
}

bool DeferredLoad::test(const ValueTest& test) const {
  if (!deferred_) return test.holds(value_);
  return here(__builtin_return_address(0)).ask(number(address_), size_, order_, test, view_);
}

std::size_t spawn(std::function<void()> body) { return Engine::current->spawn(std::move(body)); }

void join(std::size_t thread) { Engine::current->join(thread); }

void atomic_fence(Order order) { here(__builtin_return_address(0)).fence(order); }

std::uint64_t choose(std::uint64_t count) { return here(__builtin_return_address(0)).choose(count); }

void plain_read(const void* address, std::size_t size) {
  here(__builtin_return_address(0)).plain(number(address), size, false);
}

void plain_write(void* address, std::size_t size) {
  here(__builtin_return_address(0)).plain(number(address), size, true);
}

void fail(DefectKind defect, std::string_view what) {
  Engine::current->fail(FailureKind::found, std::string(what), defect);
}

void fail(std::string_view what) { Engine::current->fail(FailureKind::failed, std::string(what)); }

}  // namespace ringside::explore
