// SPDX-License-Identifier: Apache-2.0
//
// Random tiny programs, and how the search runs them: for tests that compare it with brute force.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "explore/brute_force.h"
#include "explore/search.h"

namespace ringside::explore {

inline Order draw_order(std::mt19937& random, std::initializer_list<Order> orders) {
  return orders.begin()[random() % orders.size()];
}

inline TinyOperation draw_operation(std::mt19937& random) {
  using Kind = TinyOperation::Kind;
  TinyOperation op;
  constexpr std::array kinds{Kind::load,  Kind::load,        Kind::load, Kind::store,
                             Kind::store, Kind::store,       Kind::add,  Kind::compare_exchange,
                             Kind::fence, Kind::store_either};
  op.kind = kinds[random() % kinds.size()];
  op.location = static_cast<std::uint8_t>(random() % 2);
  op.operand = static_cast<std::uint8_t>(1 + random() % 2);
  op.expected = static_cast<std::uint8_t>(random() % 2);
  switch (op.kind) {
    case Kind::load:
    case Kind::ask:
      op.order = draw_order(random, {Order::relaxed, Order::acquire, Order::seq_cst});
      break;
    case Kind::store:
    case Kind::store_either:
      op.order = draw_order(random, {Order::relaxed, Order::release, Order::seq_cst});
      break;
    case Kind::fence:
      op.order = draw_order(random, {Order::acquire, Order::release, Order::acq_rel, Order::seq_cst});
      break;
    case Kind::add:
    case Kind::compare_exchange:
      op.order = draw_order(random, {Order::relaxed, Order::acquire, Order::release, Order::acq_rel, Order::seq_cst});
      op.failure = draw_order(random, {Order::relaxed, Order::acquire, Order::seq_cst});
      break;
  }
  return op;
}

/// Every second of the mixed programs' accesses is of one byte.
inline TinyProgram draw_program(std::mt19937& random, bool mixed) {
  TinyProgram program;
  const std::size_t threads = 2 + random() % 2;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    auto& operations = program.threads.emplace_back();
    const std::size_t count = 1 + random() % (threads == 2 ? (mixed ? 3 : 4) : (mixed ? 2 : 3));
    for (std::size_t i = 0; i < count; ++i) {
      operations.push_back(draw_operation(random));
      constexpr std::array<std::uint8_t, 4> bytes{1, 2, 3, 3};
      if (mixed) operations.back().bytes = bytes[random() % bytes.size()];
    }
  }
  return program;
}

inline ValueTest equals(const TinyOperation& op) {
  return {.kind = ValueTest::Kind::points_at, .a = op.expected, .b = 0xffff};
}

template <class T>
void perform(const TinyOperation& op, Atomic<T>& variable) {
  switch (op.kind) {
    case TinyOperation::Kind::load:
      static_cast<void>(variable.load(op.order));
      break;
    case TinyOperation::Kind::store:
      variable.store(op.operand, op.order);
      break;
    case TinyOperation::Kind::add:
      variable.fetch_add(static_cast<T>(op.operand), op.order);
      break;
    case TinyOperation::Kind::compare_exchange:
      variable.compare_exchange(op.expected, op.operand, op.order, op.failure);
      break;
    case TinyOperation::Kind::ask:
      static_cast<void>(atomic_test(&variable, sizeof(T), op.order, equals(op)));
      break;
    case TinyOperation::Kind::store_either:
      variable.store(static_cast<T>(op.operand + choose(2)), op.order);
      break;
    case TinyOperation::Kind::fence:
      atomic_fence(op.order);
      break;
  }
}

/// Two bytes, together or one by one.
union TinyVariable {
  TinyVariable() : whole(0) {}

  Atomic<std::uint16_t> whole;
  std::array<Atomic<std::uint8_t>, 2> parts;
};

/// The program over variables of its own.
class TinyMemory {
 public:
  explicit TinyMemory(const TinyProgram& tiny) {
    program_.begin = [this] {
      for (TinyVariable& variable : *variables_) variable.whole.set(0);
    };
    for (const auto& operations : tiny.threads) {
      program_.threads.emplace_back([this, &operations] {
        for (const TinyOperation& op : operations) {
          TinyVariable& variable = (*variables_)[op.location];
          if (op.bytes == 3) {
            perform(op, variable.whole);
          } else {
            perform(op, variable.parts[op.bytes - 1u]);
          }
        }
      });
    }
  }
  TinyMemory(const TinyMemory&) = delete;
  TinyMemory& operator=(const TinyMemory&) = delete;

  const Program& program() const { return program_; }

 private:
  std::unique_ptr<std::array<TinyVariable, 2>> variables_ = std::make_unique<std::array<TinyVariable, 2>>();
  Program program_;
};

struct Explored {
  std::set<TinyShape> shapes;
  std::uint64_t visits = 0;
  SearchResult result;
};

inline Explored explore(const TinyProgram& tiny, MemoryModel model) {
  const TinyMemory memory(tiny);
  Explored explored;
  explored.result = search(memory.program(), {.model = model,
                                              .observe =
                                                  [&](const Graph& graph) {
                                                    ++explored.visits;
                                                    explored.shapes.insert(graph.shape());
                                                  },
                                              .anew = [&] { explored = {}; }});
  return explored;
}

/// Half of the loads are only asked something, some of them further on than they stand: behind loads and updates of the
/// other location that release nothing.
inline TinyProgram draw_questions(std::mt19937& random) {
  using Kind = TinyOperation::Kind;
  TinyProgram program = draw_program(random, false);
  for (auto& operations : program.threads) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      TinyOperation& op = operations[i];
      if (op.kind != Kind::load || random() % 4 == 0) continue;
      op.kind = Kind::ask;
      if (op.order == Order::seq_cst) op.order = Order::acquire;
      const std::size_t back = random() % 3;
      while (op.back < back && op.back < i) {
        const TinyOperation& passed = operations[i - 1u - op.back];
        const bool may = (passed.kind == Kind::load || passed.kind == Kind::add) && passed.location != op.location &&
                         (passed.order == Order::relaxed || passed.order == Order::acquire);
        if (!may) break;
        ++op.back;
      }
    }
  }
  return program;
}

/// What a question might read, when it is asked, is but its own thread's update, which goes on with the release
/// sequence of another thread's: whoever acquires it where the question stands knows that thread's store, which the
/// update in between did not know. Other stores come later. One program of some ten thousand is of that kind.
inline TinyProgram asks_too_early() {
  using Kind = TinyOperation::Kind;
  const auto operation = [](Kind kind, Order order, std::uint8_t location, std::uint8_t operand) {
    TinyOperation made;
    made.kind = kind;
    made.order = order;
    made.location = location;
    made.operand = operand;
    return made;
  };
  TinyProgram program{{{operation(Kind::add, Order::release, 1, 2), operation(Kind::add, Order::relaxed, 0, 1),
                        operation(Kind::ask, Order::acquire, 1, 0)},
                       {operation(Kind::store, Order::seq_cst, 1, 2), operation(Kind::store, Order::seq_cst, 1, 1)},
                       {operation(Kind::store, Order::relaxed, 0, 1), operation(Kind::add, Order::seq_cst, 1, 1)}}};
  program.threads[0][2].back = 1;
  return program;
}

/// A thread's operations in the order of their events: of loads that were not deferred, by their place.
inline std::vector<std::size_t> order_of(const std::vector<TinyOperation>& operations, bool deferred) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    for (std::size_t late = i + 1; late < operations.size() && !deferred; ++late) {
      if (late - operations[late].back == i) order.push_back(late);
    }
    if (deferred || operations[i].back == 0) order.push_back(i);
  }
  return order;
}

/// Graph::shape() by operations, with answers instead of what was read for them.
inline TinyShape answers_of(const TinyProgram& tiny, const Graph& graph, bool deferred = true) {
  std::map<EventId, std::uint64_t> names{{EventId{}, std::uint64_t{EventId::nobody} << 16}};
  std::vector<std::pair<EventId, const TinyOperation*>> loads;
  for (std::size_t thread = 0; thread < tiny.threads.size(); ++thread) {
    std::size_t index = 0;
    for (const std::size_t i : order_of(tiny.threads[thread], deferred)) {
      const TinyOperation& op = tiny.threads[thread][i];
      const auto next = [&] { return EventId{static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(index)}; };
      const bool chooses = op.kind == TinyOperation::Kind::store_either;
      const std::size_t events = chooses || graph.at(next()).kind == EventKind::exclusive_load ? 2 : 1;
      if (reads(graph.at(next()).kind)) loads.emplace_back(next(), &op);
      for (std::size_t event = 0; event < events; ++event, ++index) names[next()] = std::uint64_t{thread} << 16 | i;
    }
  }
  std::sort(loads.begin(), loads.end(), [&](const auto& a, const auto& b) { return names[a.first] < names[b.first]; });
  TinyShape shape;
  for (const auto& [id, op] : loads) {
    const Event& event = graph.at(id);
    const bool asks = op->kind == TinyOperation::Kind::ask;
    const std::uint64_t answer = event.value == op->expected ? 1 : 0;
    shape.insert(shape.end(),
                 {names[id], static_cast<std::uint64_t>(event.kind), asks ? answer : names[event.reads_from]});
  }
  std::map<std::uintptr_t, std::vector<EventId>> orders;
  for (std::size_t number = 0; number < graph.location_count(); ++number) {
    orders[graph.location(number).address] = graph.location(number).stores;
  }
  for (const auto& [address, stores] : orders) {
    for (const EventId store : stores) shape.push_back(names[store]);
  }
  return shape;
}

/// Runs the program with its late questions, which need what their thread knew some operations before.
class Asking {
 public:
  explicit Asking(const TinyProgram& tiny) {
    program_.begin = [this] {
      for (auto& variable : *variables_) variable.set(0);
    };
    for (const auto& operations : tiny.threads) program_.threads.emplace_back([this, &operations] { run(operations); });
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  const Program& program() const { return program_; }

 private:
  void run(const std::vector<TinyOperation>& operations) {
    // On the stack: an execution that is given up destroys nothing.
    std::array<DeferredLoad, 16> loads;
    assert(operations.size() <= loads.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      for (std::size_t late = i; late < operations.size(); ++late) {
        const TinyOperation& op = operations[late];
        if (op.kind != TinyOperation::Kind::ask || op.back == 0 || late - op.back != i) continue;
        loads[late] = DeferredLoad(&(*variables_)[op.location], 2, op.order);
      }
      if (operations[i].back != 0) {
        static_cast<void>(loads[i].test(equals(operations[i])));
      } else {
        perform(operations[i], (*variables_)[operations[i].location]);
      }
    }
  }

  using Variables = std::array<Atomic<std::uint16_t>, 2>;
  std::unique_ptr<Variables> variables_ = std::make_unique<Variables>();
  Program program_;
};

}  // namespace ringside::explore
