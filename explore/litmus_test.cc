// SPDX-License-Identifier: Apache-2.0
//
// Classic litmus tests: which outcomes each memory model allows, and in how many executions. They are the explorer's
// contract; outcomes and counts of an execution graph semantics can be checked by hand: the counts are those of
// reads-from and modification orders.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "explore/search.h"

namespace ringside::explore {
namespace {

constexpr Order rlx = Order::relaxed;
constexpr Order acq = Order::acquire;
constexpr Order rel = Order::release;
constexpr Order sc = Order::seq_cst;

/// Shared variables and what the threads saw; a program's lambdas hold a pointer to it.
struct Memory {
  Atomic<std::int32_t> x, y, z;
  std::array<int, 4> r{};
};

using Thread = std::function<void(Memory&)>;

struct Seen {
  std::map<std::string, int> outcomes;  ///< "r0 r1 ..." as far as the test looks, and x, y at the end; how often
  SearchResult result;

  int executions() const { return static_cast<int>(result.complete); }
};

/// All outcomes of the threads: the first `registers` registers, and with `finals` x and y at the end.
Seen explore(MemoryModel model, const std::vector<Thread>& threads, std::size_t registers, bool finals = false) {
  Memory memory;
  Seen seen;
  Program program;
  program.begin = [&memory] { memory = Memory{}; };
  for (const Thread& thread : threads) {
    program.threads.emplace_back([&memory, &thread] { thread(memory); });
  }
  program.end = [&] {
    std::vector<int> values(memory.r.begin(), memory.r.begin() + static_cast<std::ptrdiff_t>(registers));
    if (finals) values.insert(values.end(), {memory.x.plain(), memory.y.plain()});
    ++seen.outcomes[fmt::format("{}", fmt::join(values, " "))];
  };
  seen.result = search(program, {.model = model});
  EXPECT_FALSE(seen.result.failure) << seen.result.failure->what;
  EXPECT_EQ(seen.result.blocked, 0u);
  return seen;
}

bool allowed(const Seen& seen, const std::string& outcome) { return seen.outcomes.contains(outcome); }

std::vector<Thread> store_buffering(Order store, Order load, bool fences = false) {
  return {[=](Memory& m) {
            m.x.store(1, store);
            if (fences) atomic_fence(sc);
            m.r[0] = m.y.load(load);
          },
          [=](Memory& m) {
            m.y.store(1, store);
            if (fences) atomic_fence(sc);
            m.r[1] = m.x.load(load);
          }};
}

TEST(Litmus, StoreBuffering) {
  // Each load reads 0 or 1: four executions, of which sequential consistency forbids 0 0.
  EXPECT_EQ(explore(MemoryModel::c11, store_buffering(rlx, rlx), 2).executions(), 4);
  EXPECT_TRUE(allowed(explore(MemoryModel::c11, store_buffering(rel, acq), 2), "0 0"));
  EXPECT_TRUE(allowed(explore(MemoryModel::tso, store_buffering(rel, acq), 2), "0 0"));
  const Seen strong = explore(MemoryModel::sc, store_buffering(rlx, rlx), 2);
  EXPECT_EQ(strong.executions(), 3);
  EXPECT_FALSE(allowed(strong, "0 0"));
}

TEST(Litmus, StoreBufferingWithSequentiallyConsistentAccesses) {
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::c11}) {
    EXPECT_EQ(explore(model, store_buffering(sc, sc), 2).executions(), 3) << name_of(model);
  }
  // A sequentially consistent store does not order a weaker load behind it; on x86 it does, being an exchange.
  EXPECT_TRUE(allowed(explore(MemoryModel::c11, store_buffering(sc, acq), 2), "0 0"));
  EXPECT_FALSE(allowed(explore(MemoryModel::tso, store_buffering(sc, acq), 2), "0 0"));
}

TEST(Litmus, StoreBufferingWithFences) {
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::c11}) {
    EXPECT_EQ(explore(model, store_buffering(rlx, rlx, true), 2).executions(), 3) << name_of(model);
  }
}

std::vector<Thread> message_passing(Order store, Order load) {
  return {[=](Memory& m) {
            m.x.store(1, rlx);
            m.y.store(1, store);
          },
          [=](Memory& m) {
            m.r[0] = m.y.load(load);
            m.r[1] = m.x.load(rlx);
          }};
}

TEST(Litmus, MessagePassing) {
  EXPECT_EQ(explore(MemoryModel::c11, message_passing(rlx, rlx), 2).executions(), 4);
  for (const auto& [store, load] : {std::pair{rel, acq}, std::pair{sc, sc}}) {
    const Seen seen = explore(MemoryModel::c11, message_passing(store, load), 2);
    EXPECT_EQ(seen.executions(), 3);
    EXPECT_FALSE(allowed(seen, "1 0"));
  }
  EXPECT_TRUE(allowed(explore(MemoryModel::c11, message_passing(rel, rlx), 2), "1 0"));
  EXPECT_TRUE(allowed(explore(MemoryModel::c11, message_passing(rlx, acq), 2), "1 0"));
  EXPECT_FALSE(allowed(explore(MemoryModel::tso, message_passing(rlx, rlx), 2), "1 0"));
  EXPECT_FALSE(allowed(explore(MemoryModel::sc, message_passing(rlx, rlx), 2), "1 0"));
}

TEST(Litmus, MessagePassingWithFences) {
  const auto threads = [](Order first, Order second) {
    return std::vector<Thread>{[=](Memory& m) {
                                 m.x.store(1, rlx);
                                 atomic_fence(first);
                                 m.y.store(1, rlx);
                               },
                               [=](Memory& m) {
                                 m.r[0] = m.y.load(rlx);
                                 atomic_fence(second);
                                 m.r[1] = m.x.load(rlx);
                               }};
  };
  EXPECT_FALSE(allowed(explore(MemoryModel::c11, threads(rel, acq), 2), "1 0"));
  EXPECT_TRUE(allowed(explore(MemoryModel::c11, threads(acq, acq), 2), "1 0"));
  EXPECT_TRUE(allowed(explore(MemoryModel::c11, threads(rel, rel), 2), "1 0"));
}

TEST(Litmus, LoadBufferingIsForbiddenByEveryModel) {
  const std::vector<Thread> threads{[](Memory& m) {
                                      m.r[0] = m.y.load(rlx);
                                      m.x.store(1, rlx);
                                    },
                                    [](Memory& m) {
                                      m.r[1] = m.x.load(rlx);
                                      m.y.store(1, rlx);
                                    }};
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::c11}) {
    const Seen seen = explore(model, threads, 2);
    EXPECT_EQ(seen.executions(), 3) << name_of(model);
    EXPECT_FALSE(allowed(seen, "1 1")) << name_of(model);
  }
}

std::vector<Thread> independent_reads(Order load) {
  return {[=](Memory& m) { m.x.store(1, load == sc ? sc : rel); },
          [=](Memory& m) { m.y.store(1, load == sc ? sc : rel); },
          [=](Memory& m) {
            m.r[0] = m.x.load(load);
            m.r[1] = m.y.load(load);
          },
          [=](Memory& m) {
            m.r[2] = m.y.load(load);
            m.r[3] = m.x.load(load);
          }};
}

TEST(Litmus, IndependentReadsOfIndependentWrites) {
  const Seen weak = explore(MemoryModel::c11, independent_reads(acq), 4);
  EXPECT_EQ(weak.executions(), 16);
  EXPECT_TRUE(allowed(weak, "1 0 1 0"));
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso}) {
    const Seen seen = explore(model, independent_reads(rlx), 4);
    EXPECT_EQ(seen.executions(), 15) << name_of(model);
    EXPECT_FALSE(allowed(seen, "1 0 1 0")) << name_of(model);
  }
  EXPECT_FALSE(allowed(explore(MemoryModel::c11, independent_reads(sc), 4), "1 0 1 0"));
}

TEST(Litmus, FencesBetweenReadsOfIndependentWrites) {
  const auto reader = [](Atomic<std::int32_t> Memory::* first, Atomic<std::int32_t> Memory::* second, std::size_t at) {
    return [=](Memory& m) {
      m.r[at] = (m.*first).load(rlx);
      atomic_fence(sc);
      m.r[at + 1] = (m.*second).load(rlx);
    };
  };
  const std::vector<Thread> threads{[](Memory& m) { m.x.store(1, rlx); }, [](Memory& m) { m.y.store(1, rlx); },
                                    reader(&Memory::x, &Memory::y, 0), reader(&Memory::y, &Memory::x, 2)};
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::c11}) {
    const Seen seen = explore(model, threads, 4);
    EXPECT_EQ(seen.executions(), 15) << name_of(model);
    EXPECT_FALSE(allowed(seen, "1 0 1 0")) << name_of(model);
  }
}

TEST(Litmus, TwoPlusTwoWrites) {
  const auto threads = [](Order order) {
    return std::vector<Thread>{[=](Memory& m) {
                                 m.x.store(1, order);
                                 m.y.store(2, order);
                               },
                               [=](Memory& m) {
                                 m.y.store(1, order);
                                 m.x.store(2, order);
                               }};
  };
  // Two orders for each location; 1 1 is the weak one.
  EXPECT_EQ(explore(MemoryModel::c11, threads(rel), 0, true).executions(), 4);
  EXPECT_TRUE(allowed(explore(MemoryModel::c11, threads(rlx), 0, true), "1 1"));
  EXPECT_FALSE(allowed(explore(MemoryModel::c11, threads(sc), 0, true), "1 1"));
  EXPECT_FALSE(allowed(explore(MemoryModel::tso, threads(rlx), 0, true), "1 1"));
  EXPECT_FALSE(allowed(explore(MemoryModel::sc, threads(rlx), 0, true), "1 1"));
}

TEST(Litmus, WriteToReadCausality) {
  const std::vector<Thread> threads{[](Memory& m) { m.x.store(1, rlx); },
                                    [](Memory& m) {
                                      m.r[0] = m.x.load(rlx);
                                      m.y.store(1, rel);
                                    },
                                    [](Memory& m) {
                                      m.r[1] = m.y.load(acq);
                                      m.r[2] = m.x.load(rlx);
                                    }};
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::c11}) {
    EXPECT_FALSE(allowed(explore(model, threads, 3), "1 1 0")) << name_of(model);
    EXPECT_EQ(explore(model, threads, 3).executions(), 7) << name_of(model);
  }
}

TEST(Litmus, ReadsOfOneLocationNeverGoBack) {
  const std::vector<Thread> threads{[](Memory& m) { m.x.store(1, rlx); },
                                    [](Memory& m) {
                                      m.r[0] = m.x.load(rlx);
                                      m.r[1] = m.x.load(rlx);
                                    }};
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::c11}) {
    const Seen seen = explore(model, threads, 2);
    EXPECT_EQ(seen.executions(), 3) << name_of(model);
    EXPECT_FALSE(allowed(seen, "1 0")) << name_of(model);
  }
}

TEST(Litmus, CausalityPassesThroughThreads) {  // ISA2
  const std::vector<Thread> threads{[](Memory& m) {
                                      m.x.store(1, rlx);
                                      m.y.store(1, rel);
                                    },
                                    [](Memory& m) {
                                      m.r[0] = m.y.load(acq);
                                      m.z.store(1, rel);
                                    },
                                    [](Memory& m) {
                                      m.r[1] = m.z.load(acq);
                                      m.r[2] = m.x.load(rlx);
                                    }};
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::c11}) {
    EXPECT_FALSE(allowed(explore(model, threads, 3), "1 1 0")) << name_of(model);
  }
}

TEST(Litmus, AReleaseSequenceGoesThroughUpdatesButNotThroughStores) {
  const auto threads = [](const Thread& middle) {
    return std::vector<Thread>{[](Memory& m) {
                                 m.x.store(1, rlx);
                                 m.y.store(1, rel);
                               },
                               middle,
                               [](Memory& m) {
                                 m.r[0] = m.y.load(acq);
                                 m.r[1] = m.x.load(rlx);
                               }};
  };
  const Seen through = explore(MemoryModel::c11, threads([](Memory& m) { m.y.fetch_add(1, rlx); }), 2);
  EXPECT_TRUE(allowed(through, "2 1"));
  EXPECT_FALSE(allowed(through, "2 0"));
  const Seen broken = explore(MemoryModel::c11, threads([](Memory& m) { m.y.store(2, rlx); }), 2);
  EXPECT_TRUE(allowed(broken, "2 0"));
}

TEST(Litmus, UpdatesOfOneLocationFollowEachOther) {
  // Two orders; in each the second reads what the first stored.
  const std::vector<Thread> two{[](Memory& m) { m.r[0] = m.x.fetch_add(1, rlx); },
                                [](Memory& m) { m.r[1] = m.x.fetch_add(1, rlx); }};
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::c11}) {
    const Seen seen = explore(model, two, 2, true);
    EXPECT_EQ(seen.outcomes, (std::map<std::string, int>{{"0 1 2 0", 1}, {"1 0 2 0", 1}})) << name_of(model);
  }
  std::vector<Thread> three = two;
  three.emplace_back([](Memory& m) { m.r[2] = m.x.fetch_add(1, rlx); });
  EXPECT_EQ(explore(MemoryModel::c11, three, 3).executions(), 6);
}

TEST(Litmus, ACompareExchangeThatFailsIsALoad) {
  const std::vector<Thread> threads{[](Memory& m) { m.r[0] = m.x.compare_exchange(0, 1, rlx) ? 1 : 0; },
                                    [](Memory& m) { m.r[1] = m.x.compare_exchange(0, 2, rlx) ? 1 : 0; }};
  const Seen seen = explore(MemoryModel::c11, threads, 2, true);
  EXPECT_EQ(seen.outcomes, (std::map<std::string, int>{{"1 0 1 0", 1}, {"0 1 2 0", 1}}));
}

}  // namespace
}  // namespace ringside::explore
