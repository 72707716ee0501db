// SPDX-License-Identifier: Apache-2.0
//
// The comparison with brute force finds every fault that was planted in the search, and none where there is none. This
// test has a search of its own, built with the faults.
#include "explore/fault.h"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <random>
#include <utility>

#include "explore/brute_force.h"
#include "explore/look_programs.h"
#include "explore/parted_programs.h"
#include "explore/ring_use_cases.h"
#include "explore/search.h"
#include "explore/task_parts.h"
#include "explore/tiny_programs.h"

namespace ringside::explore {

std::ostream& operator<<(std::ostream& out, Fault fault) { return out << "fault " << static_cast<int>(fault); }

namespace {

/// A search with a fault may have no end.
bool differs(const TinyProgram& program, MemoryModel model) {
  const TinyMemory memory(program);
  std::set<TinyShape> shapes;
  std::uint64_t visits = 0;
  const SearchResult result = search(memory.program(), {.model = model,
                                                        .most_executions = 5000,
                                                        .observe =
                                                            [&](const Graph& graph) {
                                                              ++visits;
                                                              shapes.insert(graph.shape());
                                                            },
                                                        .anew =
                                                            [&] {
                                                              shapes.clear();
                                                              visits = 0;
                                                            }});
  return result.failure || visits != shapes.size() || shapes != brute_force(program, model);
}

bool answers_differ(const TinyProgram& program) {
  const Asking asking(program);
  std::set<TinyShape> shapes;
  search(asking.program(), {.observe = [&](const Graph& graph) { shapes.insert(answers_of(program, graph)); }});
  return shapes != brute_force_answers(program, MemoryModel::c11);
}

/// What a search counts in parts, or those of all its shards, against what it counts in one piece.
bool parts_differ(Fault fault, std::mt19937& random) {
  const std::uint64_t first = 1 + random() % 20;
  const auto without = [](const Program& program) {
    const Fault now = std::exchange(planted_fault, Fault::none);
    Seen whole = in_one_piece(program);
    planted_fault = now;
    return whole;
  };
  if (fault == Fault::tasks_forget_children) {
    return in_parts(creating(), first).tally != without(creating()).tally;
  }
  if (fault == Fault::tasks_forget_paths) {
    Seen all;
    for (std::size_t shard = 0; shard < 3; ++shard) {
      const Seen part = in_parts(busy(), first, {.shard = shard, .shards = 3});
      all.shapes.insert(part.shapes.begin(), part.shapes.end());
    }
    return all.shapes != without(busy()).shapes;
  }
  const TinyProgram tiny = draw_program(random, fault == Fault::tasks_forget_widths);
  const TinyMemory memory(tiny);
  if (fault == Fault::tasks_stay_open) return in_gifts(memory.program(), first) != without(memory.program());
  return in_parts(memory.program(), first) != without(memory.program());
}

/// Whether the rules of rings are not what they should be.
bool ring_use_differs() {
  const std::vector<RingUseCase> cases = ring_use_cases();
  return std::any_of(cases.begin(), cases.end(),
                     [](const RingUseCase& given) { return verdict_of(given) != verdict_of(given.expected); });
}

/// What is expected is found without the fault.
bool looks_differ(const LookProgram& program) {
  const Found seen = search_looks(program, MemoryModel::c11);
  const Fault now = std::exchange(planted_fault, Fault::none);
  const bool differ = differ_from(seen, expect_looks(program, MemoryModel::c11));
  planted_fault = now;
  return differ;
}

/// A search that remembers no look finds the same races.
bool races_differ(const LookProgram& program) {
  const bool found = races(program);
  const Fault now = std::exchange(planted_fault, looks_are_forgotten);
  const bool there = races(program);
  planted_fault = now;
  return found != there;
}

/// Which random programs a fault is looked for in: those of its memory model, or of its kind.
bool found(Fault fault, std::mt19937& random) {
  switch (fault) {
    case Fault::sequential_store_is_plain:
      return differs(draw_program(random, false), MemoryModel::tso);
    case Fault::reads_from_an_old_memory:
      return differs(draw_program(random, false), MemoryModel::sc);
    case Fault::answers_are_alike:
      return answers_differ(draw_questions(random));
    case Fault::tasks_forget_order:
    case Fault::tasks_forget_children:
    case Fault::tasks_forget_widths:
    case Fault::tasks_forget_paths:
    case Fault::tasks_keep_their_weight:
    case Fault::tasks_stay_open:
      return parts_differ(fault, random);
    case Fault::views_may_be_late:
    case Fault::views_need_not_be_over:
    case Fault::any_write_takes_back:
    case Fault::any_claim_is_known:
    case Fault::last_lap_counts:
    case Fault::memory_counts:
      return ring_use_differs();
    case Fault::looks_end_with_the_last:
    case Fault::looks_are_alike:
      return looks_differ(draw_looks(random));
    case Fault::looks_never_fail:
      return races_differ(draw_looks(random));
    case Fault::looks_read_no_memory:
      return looks_at_memory() != 2;
    default:
      return differs(draw_program(random, false), MemoryModel::c11);
  }
}

class Faults : public testing::TestWithParam<int> {
 protected:
  void TearDown() override { planted_fault = Fault::none; }
};
INSTANTIATE_TEST_SUITE_P(Planted, Faults, testing::Range(1, static_cast<int>(last_fault) + 1));

TEST_P(Faults, AreFoundByRandomPrograms) {
  planted_fault = static_cast<Fault>(GetParam());
  // One in some thousand programs of mixed widths shows that one: below.
  if (planted_fault == Fault::parts_know_too_little) return;
  std::mt19937 random(20261203);
  constexpr int most = 10'000;
  int programs = 0;
  while (programs < most && !found(planted_fault, random)) ++programs;
  EXPECT_LT(programs, most) << planted_fault;
}

TEST(MixedFault, IsFoundByTheProgramThatShowedIt) {
  using Kind = TinyOperation::Kind;
  const auto operation = [](Kind kind, Order order, std::uint8_t bytes) {
    TinyOperation made;
    made.kind = kind;
    made.order = order;
    made.bytes = bytes;
    made.operand = 2;
    return made;
  };
  const TinyProgram program{{{operation(Kind::store, Order::relaxed, 3), operation(Kind::load, Order::acquire, 3)},
                             {operation(Kind::store, Order::seq_cst, 1), operation(Kind::add, Order::seq_cst, 2)},
                             {operation(Kind::add, Order::acquire, 3)}}};
  EXPECT_FALSE(differs(program, MemoryModel::c11));
  planted_fault = Fault::parts_know_too_little;
  EXPECT_TRUE(differs(program, MemoryModel::c11));
  planted_fault = Fault::none;
}

TEST(Looks, HideNoRace) {
  std::mt19937 random(20261205);
  int with = 0;
  for (int i = 0; i < 3000; ++i) {
    const LookProgram program = draw_looks(random);
    ASSERT_FALSE(races_differ(program)) << i << ": " << program.tiny;
    with += races(program) ? 1 : 0;
  }
  EXPECT_GT(with, 300);
  EXPECT_LT(with, 2700);
}

TEST(NoFault, IsNotFound) {
  std::mt19937 random(20261203);
  for (int fault = 1; fault <= static_cast<int>(last_fault); ++fault) {
    const int programs = fault < static_cast<int>(Fault::tasks_forget_order) ? 50 : 5;  // with many searches each
    for (int i = 0; i < programs; ++i) EXPECT_FALSE(found(static_cast<Fault>(fault), random)) << fault << ' ' << i;
  }
}

}  // namespace
}  // namespace ringside::explore
