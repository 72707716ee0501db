// SPDX-License-Identifier: Apache-2.0
//
// The search against everything there is: random tiny programs, of which a brute-force enumeration knows all
// executions.
#include "explore/search.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "explore/brute_force.h"
#include "explore/schedule.h"

namespace ringside::explore {
namespace {

Order draw_order(std::mt19937& random, std::initializer_list<Order> orders) {
  return orders.begin()[random() % orders.size()];
}

TinyOperation draw_operation(std::mt19937& random) {
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
TinyProgram draw_program(std::mt19937& random, bool mixed) {
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
    case TinyOperation::Kind::store_either:
      variable.store(static_cast<T>(op.operand + choose(2)), op.order);
      break;
    case TinyOperation::Kind::fence:
      atomic_fence(op.order);
      break;
  }
}

/// Two bytes, together or one by one.
union Variable {
  Variable() : whole(0) {}

  Atomic<std::uint16_t> whole;
  std::array<Atomic<std::uint8_t>, 2> parts;
};

/// The program over variables of its own.
class Memory {
 public:
  explicit Memory(const TinyProgram& tiny) {
    program_.begin = [this] {
      for (Variable& variable : *variables_) variable.whole.set(0);
    };
    for (const auto& operations : tiny.threads) {
      program_.threads.emplace_back([this, &operations] {
        for (const TinyOperation& op : operations) {
          Variable& variable = (*variables_)[op.location];
          if (op.bytes == 3) {
            perform(op, variable.whole);
          } else {
            perform(op, variable.parts[op.bytes - 1u]);
          }
        }
      });
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  const Program& program() const { return program_; }

 private:
  std::unique_ptr<std::array<Variable, 2>> variables_ = std::make_unique<std::array<Variable, 2>>();
  Program program_;
};

struct Explored {
  std::set<TinyShape> shapes;
  std::uint64_t visits = 0;
  SearchResult result;
};

Explored explore(const TinyProgram& tiny, MemoryModel model) {
  const Memory memory(tiny);
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

class Search : public testing::TestWithParam<MemoryModel> {};
INSTANTIATE_TEST_SUITE_P(Models, Search, testing::Values(MemoryModel::sc, MemoryModel::tso, MemoryModel::c11),
                         [](const auto& given) { return std::string(name_of(given.param)); });

/// The schedule of every execution leads to that execution.
void replays(const TinyProgram& tiny, MemoryModel model) {
  const Memory memory(tiny);
  std::vector<std::pair<std::string, TinyShape>> executions;
  search(memory.program(),
         {.model = model,
          .observe = [&](const Graph& graph) { executions.emplace_back(to_text(schedule_of(graph)), graph.shape()); },
          .anew = [&] { executions.clear(); }});
  for (const auto& [schedule, shape] : executions) {
    TinyShape again;
    const SearchResult result = replay(memory.program(), schedule,
                                       {.model = model, .observe = [&](const Graph& graph) { again = graph.shape(); }});
    ASSERT_FALSE(result.failure) << result.failure->what << ' ' << schedule << '\n' << tiny;
    ASSERT_EQ(again, shape) << schedule << '\n' << tiny;
  }
}

void agrees_with_brute_force(MemoryModel model, bool mixed) {
  const char* const asked = std::getenv("RINGSIDE_TINY_PROGRAMS");
  const int programs = asked != nullptr ? std::atoi(asked) : 300;
  std::mt19937 random(20261130);
  for (int i = 0; i < programs; ++i) {
    const TinyProgram program = draw_program(random, mixed);
    const Explored explored = explore(program, model);
    ASSERT_FALSE(explored.result.failure) << explored.result.failure->what << '\n' << program;
    ASSERT_EQ(explored.visits, explored.shapes.size()) << "visited twice, program " << i << '\n' << program;
    ASSERT_EQ(explored.shapes, brute_force(program, model)) << "program " << i << '\n' << program;
  }
}

TEST_P(Search, FindsExactlyTheExecutionsThereAreAndEachOnce) { agrees_with_brute_force(GetParam(), false); }

TEST_P(Search, FindsThemWhereAccessesOfTheSameBytesDifferInWidth) { agrees_with_brute_force(GetParam(), true); }

TEST_P(Search, ReplaysEachExecutionByItsSchedule) {
  std::mt19937 random(20261201);
  for (int i = 0; i < 60; ++i) replays(draw_program(random, i % 2 == 0), GetParam());
}

}  // namespace
}  // namespace ringside::explore
