// SPDX-License-Identifier: Apache-2.0
//
// Ways through a program that visit one execution after another without a record of which graphs there are: who is next
// and what is read are decisions, each taken by a rule. They prove nothing, but meet a defect early, and the bounded
// one meets its simplest form first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ringside::explore {

/// Takes the decisions of one execution after another.
class Chooser {
 public:
  Chooser() = default;
  virtual ~Chooser() = default;
  Chooser(const Chooser&) = delete;
  Chooser& operator=(const Chooser&) = delete;

  /// Another execution begins; false if there is none left.
  virtual bool begin() = 0;
  /// The decisions so far are void: the search begins anew (SearchOptions::anew).
  virtual void begin_anew() {}
  /// Which of these threads is next, as an index. `running`: the first one would go on, so that any other preempts it.
  virtual std::size_t thread(const std::vector<std::size_t>& ready, bool running) = 0;
  /// A number below `count`: 0 is what would come by itself, the newest store to a load. `free`: any is as good.
  virtual std::size_t number(std::size_t count, bool free) = 0;
  /// The thread does its next event now.
  virtual void event(std::size_t) {}
  /// Whether executions are drawn, so that nobody knows whether they are all.
  virtual bool draws() const { return true; }
  /// Whether some cost too much.
  virtual bool bound_cut() const { return false; }
};

/// Every decision is drawn, each outcome as likely as the others.
std::unique_ptr<Chooser> random_walk(std::uint64_t seed);

/// PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte: "A Randomized Scheduler with Probabilistic Guarantees of Finding
/// Bugs", ASPLOS 2010): threads have priorities, and at `depth` - 1 places the running one falls behind all others.
std::unique_ptr<Chooser> pct_walk(std::uint64_t seed, std::size_t depth);

/// Every interleaving of events as likely as the others: a thread is next with the probability that its share of the
/// events still to come is (Zhao, Wolff, Mathur, Roychoudhury: "Selectively Uniform Concurrency Testing", ASPLOS 2025).
/// How many a thread has is learnt from the executions so far. What is read, among what may be, is drawn besides.
std::unique_ptr<Chooser> uniform_walk(std::uint64_t seed);

/// Everything that costs at most that much: a preemption costs 1, and so does each newer store that a load or store
/// passes over. First what costs nothing, then what costs 1, and so on.
std::unique_ptr<Chooser> bounded_walk(std::size_t most_cost);

}  // namespace ringside::explore
