// SPDX-License-Identifier: Apache-2.0
//
// Tiny programs whose threads look for values, one or two in a row, until they find them: for tests that compare the
// search with what the same loads without any wait say.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "explore/brute_force.h"
#include "explore/search.h"
#include "explore/tiny_programs.h"

namespace ringside::explore {

/// Operations of a thread that are one look: loads of `expected`, of which the second is made if the first found it.
struct Look {
  std::size_t begin = 0;
  std::size_t count = 1;
};

struct LookProgram {
  TinyProgram tiny;
  std::vector<std::vector<Look>> looks;  ///< by thread, in order
};

inline LookProgram draw_looks(std::mt19937& random) {
  LookProgram program{.tiny = draw_program(random, false), .looks = {}};
  for (auto& operations : program.tiny.threads) {
    auto& looks = program.looks.emplace_back();
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].kind != TinyOperation::Kind::load || random() % 4 == 0) continue;
      const bool two = i + 1 < operations.size() && operations[i + 1].kind == TinyOperation::Kind::load;
      looks.push_back({.begin = i, .count = two ? std::size_t{2} : 1});
      for (std::size_t load = i; load < i + looks.back().count; ++load) {
        operations[load].expected = static_cast<std::uint8_t>(random() % 3);
      }
      i += looks.back().count - 1;
    }
  }
  return program;
}

/// Runs the program, with its looks or with their loads alone. `plain`: whoever stores 2 has written memory plainly
/// before, and looks for 1 or 2 read it at their end, found or not.
class Looking {
 public:
  Looking(const LookProgram& given, bool looks, bool plain = false) : plain_(plain) {
    program_.begin = [this] {
      for (auto& variable : *variables_) variable.set(0);
    };
    for (std::size_t thread = 0; thread < given.tiny.threads.size(); ++thread) {
      program_.threads.emplace_back([this, &given, looks, thread] {
        const auto& operations = given.tiny.threads[thread];
        auto next = given.looks[thread].begin();
        for (std::size_t i = 0; i < operations.size();) {
          if (looks && next != given.looks[thread].end() && next->begin == i) {
            // By reference: an execution that is given up destroys nothing.
            const auto poll = [&] { return finds(operations, *next); };
            look(thread * 100 + i, std::cref(poll));
            i += next->count;
            ++next;
          } else {
            if (plain_ && operations[i].kind == TinyOperation::Kind::store && operations[i].operand == 2) {
              plain_write(memory_.get(), sizeof *memory_);
            }
            perform(operations[i], (*variables_)[operations[i].location]);
            ++i;
          }
        }
      });
    }
  }
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;

  const Program& program() const { return program_; }

 private:
  bool finds(const std::vector<TinyOperation>& operations, const Look& look) {
    bool found = true;
    for (std::size_t i = look.begin; i < look.begin + look.count && found; ++i) {
      found = (*variables_)[operations[i].location].load(operations[i].order) == operations[i].expected;
    }
    if (plain_ && operations[look.begin].expected != 0) plain_read(memory_.get(), sizeof *memory_);
    return found;
  }

  using Variables = std::array<Atomic<std::uint16_t>, 2>;
  bool plain_ = false;
  std::unique_ptr<Variables> variables_ = std::make_unique<Variables>();
  std::unique_ptr<std::uint64_t> memory_ = std::make_unique<std::uint64_t>();
  Program program_;
};

/// Whether an execution of the program has a race.
inline bool races(const LookProgram& given) {
  const Looking looking(given, true, true);
  bool found = false;
  search(looking.program(), {.another = [&](const Failure& failure) {
           found = found || failure.kind == FailureKind::data_race;
           return !found;
         }});
  return found;
}

/// What a search of the looks finds.
struct Found {
  std::set<TinyShape> shapes;
  std::uint64_t visits = 0;
  bool in_vain = false;  ///< some thread looks for ever
  bool failed = false;   ///< in any other way
};

inline Found search_looks(const LookProgram& given, MemoryModel model) {
  const Looking looking(given, true);
  Found found;
  const SearchResult result = search(looking.program(), {.model = model,
                                                         .most_executions = 50'000,
                                                         .observe =
                                                             [&](const Graph& graph) {
                                                               ++found.visits;
                                                               found.shapes.insert(graph.shape());
                                                             },
                                                         .another =
                                                             [&](const Failure& failure) {
                                                               const bool waits = failure.kind == FailureKind::deadlock;
                                                               (waits ? found.in_vain : found.failed) = true;
                                                               return true;
                                                             }});
  found.failed = found.failed || result.failure || result.cut;
  return found;
}

/// The events of a thread's operation: a choice and an update have two, but a compare-exchange that fails.
inline EventId first_event(const TinyProgram& tiny, const Graph& graph, std::size_t thread, std::size_t operation) {
  EventId id{static_cast<std::uint16_t>(thread), 0};
  for (std::size_t i = 0; i < operation; ++i) {
    const bool chooses = tiny.threads[thread][i].kind == TinyOperation::Kind::store_either;
    const bool two = chooses || graph.at(id).kind == EventKind::exclusive_load;
    id.index = static_cast<std::uint16_t>(id.index + (two ? 2 : 1));
  }
  return id;
}

/// Whether all looks of those threads find what they look for; `vain`: but the last one of each of these threads, a bit
/// each, which reads the last stores and finds nothing.
inline bool fits(const LookProgram& given, const Graph& graph, std::uint8_t vain) {
  for (std::size_t thread = 0; thread < given.looks.size(); ++thread) {
    const auto& looks = given.looks[thread];
    for (std::size_t number = 0; number < looks.size(); ++number) {
      bool found = true;
      bool last = true;
      for (std::size_t i = looks[number].begin; i < looks[number].begin + looks[number].count; ++i) {
        const Event& event = graph.at(first_event(given.tiny, graph, thread, i));
        found = found && event.value == given.tiny.threads[thread][i].expected;
        last = last && graph.reads_last(event);
      }
      const bool must_fail = (vain >> thread & 1u) != 0 && number + 1 == looks.size();
      if (must_fail ? found || !last : !found) return false;
    }
  }
  return true;
}

/// The program in which some threads end with a look in vain, each at a place of its own: `ends` has by thread the
/// number of the look, or none.
inline LookProgram cut_off(const LookProgram& given, const std::vector<std::optional<std::size_t>>& ends,
                           std::uint8_t failing_first) {
  LookProgram cut = given;
  for (std::size_t thread = 0; thread < ends.size(); ++thread) {
    if (!ends[thread]) continue;
    Look& look = cut.looks[thread][*ends[thread]];
    if ((failing_first >> thread & 1u) != 0) look.count = 1;
    cut.tiny.threads[thread].resize(look.begin + look.count);
    cut.looks[thread].resize(*ends[thread] + 1);
  }
  return cut;
}

/// What the loads alone say: the executions in which all looks find what they look for, and whether there is one in
/// which some do not although they read the last stores.
inline Found expect_looks(const LookProgram& given, MemoryModel model) {
  Found found;
  const auto executions = [model](const LookProgram& program, std::uint8_t vain, Found& into) {
    const Looking loading(program, false);
    search(loading.program(), {.model = model, .observe = [&](const Graph& graph) {
                                 if (fits(program, graph, vain)) into.shapes.insert(graph.shape());
                               }});
  };
  executions(given, 0, found);
  std::vector<std::optional<std::size_t>> ends(given.looks.size());
  const std::function<void(std::size_t)> try_ends = [&](std::size_t thread) {
    if (thread == ends.size()) {
      std::uint8_t vain = 0;
      for (std::size_t i = 0; i < ends.size(); ++i) vain = static_cast<std::uint8_t>(vain | (ends[i] ? 1u << i : 0u));
      if (vain == 0 || found.in_vain) return;
      // A look of two loads fails with the first or with the second; if with that, the first has found its value.
      for (std::uint8_t first = 0; first < 1u << ends.size(); ++first) {
        if ((first & ~vain) != 0) continue;
        Found some;
        executions(cut_off(given, ends, first), vain, some);
        found.in_vain = found.in_vain || !some.shapes.empty();
      }
      return;
    }
    ends[thread].reset();
    try_ends(thread + 1);
    for (std::size_t look = 0; look < given.looks[thread].size(); ++look) {
      ends[thread] = look;
      try_ends(thread + 1);
    }
    ends[thread].reset();
  };
  try_ends(0);
  found.visits = found.shapes.size();
  return found;
}

inline bool differ_from(const Found& seen, const Found& expected) {
  return seen.failed || seen.visits != expected.visits || seen.shapes != expected.shapes ||
         seen.in_vain != expected.in_vain;
}

/// One thread fills memory plainly and tells so twice by the same value; whether the other finds what it looks for
/// hangs on what that memory holds, and each of the two times is an execution.
inline std::uint64_t looks_at_memory() {
  static Atomic<std::uint32_t> told;
  static std::uint32_t memory = 0;
  Program program;
  program.begin = [] { told.set(0), memory = 0; };
  program.threads = {[] {
                       const auto value = static_cast<std::uint32_t>(1 + choose(2));
                       plain_write(&memory, sizeof memory);
                       memory = value;
                       told.store(1, Order::release);
                       told.store(1, Order::release);
                     },
                     [] {
                       look(7, [] {
                         if (told.load(Order::acquire) == 0) return false;
                         plain_read(&memory, sizeof memory);
                         return memory == 2;
                       });
                     }};
  return search(program, {.another = [](const Failure&) { return true; }}).complete;
}

}  // namespace ringside::explore
