// SPDX-License-Identifier: Apache-2.0
#include "explore/walks.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <random>
#include <utility>

#include "explore/clock.h"

namespace ringside::explore {
namespace {

class RandomWalk final : public Chooser {
 public:
  explicit RandomWalk(std::uint64_t seed) : random_(seed) {}

  bool begin() override { return true; }
  std::size_t thread(const std::vector<std::size_t>& ready, bool) override { return random_() % ready.size(); }
  std::size_t number(std::size_t count, bool) override { return random_() % count; }

 private:
  std::mt19937_64 random_;
};

class PctWalk final : public Chooser {
 public:
  PctWalk(std::uint64_t seed, std::size_t depth) : random_(seed), drops_(depth > 0 ? depth - 1 : 0) {}

  bool begin() override {
    longest_ = std::max(longest_, step_);
    step_ = 0;
    std::iota(priority_.begin(), priority_.end(), drops_.size());
    std::shuffle(priority_.begin(), priority_.end(), random_);
    for (std::size_t& drop : drops_) drop = random_() % longest_;
    return true;
  }

  std::size_t thread(const std::vector<std::size_t>& ready, bool) override {
    std::size_t best = highest(ready);
    for (std::size_t i = 0; i < drops_.size(); ++i) {
      if (drops_[i] != step_) continue;
      priority_[ready[best]] = i;  // below all that began
      best = highest(ready);
    }
    ++step_;
    return best;
  }

  std::size_t number(std::size_t count, bool) override { return random_() % count; }

 private:
  std::size_t highest(const std::vector<std::size_t>& ready) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < ready.size(); ++i) {
      if (priority_[ready[i]] > priority_[ready[best]]) best = i;
    }
    return best;
  }

  std::mt19937_64 random_;
  std::vector<std::size_t> drops_;  ///< the steps at which the running thread falls behind
  std::array<std::size_t, most_threads> priority_{};
  std::size_t step_ = 0;
  std::size_t longest_ = 1;  ///< of the executions so far, in steps
};

class UniformWalk final : public Chooser {
 public:
  explicit UniformWalk(std::uint64_t seed) : random_(seed) {}

  bool begin() override {
    if (std::exchange(begun_, true)) ++executions_;
    for (std::size_t thread = 0; thread < most_threads; ++thread) all_[thread] += std::exchange(done_[thread], 0);
    return true;
  }

  std::size_t thread(const std::vector<std::size_t>& ready, bool) override {
    std::vector<double> left;
    for (const std::size_t thread : ready) left.push_back(left_of(thread));
    return std::discrete_distribution<std::size_t>(left.begin(), left.end())(random_);
  }

  void event(std::size_t thread) override { ++done_[thread]; }
  std::size_t number(std::size_t count, bool) override { return random_() % count; }
  void begin_anew() override {
    all_ = done_ = {};
    executions_ = 0;
    begun_ = false;
  }

 private:
  /// Events that the thread is likely to have left: at least the one that it stands before.
  double left_of(std::size_t thread) const {
    if (executions_ == 0) return 1;
    const double average = static_cast<double>(all_[thread]) / static_cast<double>(executions_);
    return std::max(1.0, average - static_cast<double>(done_[thread]));
  }

  std::mt19937_64 random_;
  std::array<std::uint64_t, most_threads> all_{};   ///< events of each thread, in all executions before
  std::array<std::uint64_t, most_threads> done_{};  ///< in this one
  std::uint64_t executions_ = 0;
  bool begun_ = false;
};

/// Depth first, once for each cost.
class BoundedWalk final : public Chooser {
 public:
  explicit BoundedWalk(std::size_t most_cost) : most_cost_(most_cost) {}

  bool begin() override {
    at_ = 0;
    cost_ = 0;
    if (std::exchange(first_, false)) return true;
    while (true) {
      while (!trail_.empty() && !can_go_further(trail_.back())) trail_.pop_back();
      if (!trail_.empty()) {
        ++trail_.back().taken;
        return true;
      }
      if (!cut_ || bound_ == most_cost_) return false;
      ++bound_;
      cut_ = false;
      return true;  // what costs less comes again: cheaper than to remember it
    }
  }

  std::size_t thread(const std::vector<std::size_t>& ready, bool running) override {
    return decide(ready.size(), running ? Cost::other : Cost::none);
  }
  std::size_t number(std::size_t count, bool free) override { return decide(count, free ? Cost::none : Cost::each); }
  bool draws() const override { return false; }
  bool bound_cut() const override { return cut_; }
  void begin_anew() override {
    trail_.clear();
    bound_ = 0;
    first_ = true;
    cut_ = false;
  }

 private:
  enum class Cost : std::uint8_t {
    none,
    other,  ///< any but the first costs 1
    each,   ///< as much as its number
  };
  struct Decision {
    std::size_t count = 0;
    std::size_t taken = 0;
    std::size_t spent = 0;  ///< before it
    Cost cost = Cost::none;
  };

  static std::size_t price(Cost cost, std::size_t taken) {
    if (cost == Cost::none) return 0;
    return cost == Cost::each ? taken : std::min<std::size_t>(taken, 1);
  }

  bool can_go_further(const Decision& decision) {
    if (decision.taken + 1 == decision.count) return false;
    if (decision.spent + price(decision.cost, decision.taken + 1) <= bound_) return true;
    cut_ = true;
    return false;
  }

  std::size_t decide(std::size_t count, Cost cost) {
    if (at_ == trail_.size()) trail_.push_back({.count = count, .taken = 0, .spent = cost_, .cost = cost});
    const Decision& decision = trail_[at_++];
    assert(decision.count == count);
    cost_ += price(cost, decision.taken);
    return decision.taken;
  }

  std::size_t most_cost_;
  std::size_t bound_ = 0;
  std::vector<Decision> trail_;
  std::size_t at_ = 0;
  std::size_t cost_ = 0;
  bool first_ = true;
  bool cut_ = false;
};

}  // namespace

std::unique_ptr<Chooser> random_walk(std::uint64_t seed) { return std::make_unique<RandomWalk>(seed); }
std::unique_ptr<Chooser> pct_walk(std::uint64_t seed, std::size_t depth) {
  return std::make_unique<PctWalk>(seed, depth);
}
std::unique_ptr<Chooser> uniform_walk(std::uint64_t seed) { return std::make_unique<UniformWalk>(seed); }
std::unique_ptr<Chooser> bounded_walk(std::size_t most_cost) { return std::make_unique<BoundedWalk>(most_cost); }

}  // namespace ringside::explore
