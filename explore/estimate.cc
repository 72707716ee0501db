// SPDX-License-Identifier: Apache-2.0
#include "explore/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "explore/engine.h"

namespace ringside::explore {

namespace {

/// How many alternatives lead there, the event from which on it is another execution, and the one that it was left at.
/// What is open is always behind who left it.
using Kind = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

Kind kind_of(const Graph& graph, const Alternative& alternative) {
  const bool revisit = alternative.kind == Alternative::Kind::revisit;
  const std::uint32_t first = revisit ? graph.at(alternative.load).stamp : alternative.stamp;
  return {alternative.level, first, alternative.stamp};
}

/// What is run for all that is open of one kind: the graphs of one alternative.
struct Sample {
  double weight = 0;  ///< so many are of this kind
  std::vector<Task> tasks = {};
};

}  // namespace

Descent Engine::descend(std::uint64_t seed) {
  Engine* const outer = std::exchange(current, this);
  std::mt19937_64 random(seed);
  telling_ = true;
  result_ = {};
  std::map<Kind, Sample> samples;
  const auto restart = [&] { samples = {{{}, {.weight = 1, .tasks = {Task{}}}}}; };
  restart();
  Descent descent;
  while (!samples.empty() && !descent.failed) {
    const Sample sample = std::move(samples.begin()->second);
    samples.erase(samples.begin());
    for (const Task& task : sample.tasks) {
      begin(task);
      execute();
      if (std::exchange(anew_, false)) {
        descent = {};
        result_ = {};
        restart();
        break;
      }
      if (following_) expect_the_task();
      const std::uint64_t before = result_.complete + result_.blocked;
      count();
      if (result_.complete + result_.blocked != before) descent.executions += sample.weight;
      ++descent.seen;
      descent.failed = result_.failure.has_value();
      std::map<Kind, Alternative> taken;
      for (const Alternative& alternative : alternatives()) {
        const Kind kind = kind_of(graph(), alternative);
        double& weight = samples[kind].weight;
        weight += sample.weight;
        if (std::uniform_real_distribution<>(0, weight)(random) < sample.weight) taken[kind] = alternative;
      }
      unweighted_ = 0;
      for (const auto& [kind, alternative] : taken) samples[kind].tasks = tasks_of(*branches_[0], alternative);
    }
  }
  telling_ = false;
  current = outer;
  return descent;
}

Estimate estimate(const Program& program, const SearchOptions& options, std::uint64_t seed, std::uint64_t most_descents,
                  const std::function<bool(const Estimate&)>& enough) {
  Engine engine(program, options);
  std::mt19937_64 random(seed);
  Estimate estimate;
  double squares = 0;
  std::uint64_t longest = 0;
  while (estimate.descents < most_descents && !(enough && estimate.descents > 0 && enough(estimate))) {
    const Descent descent = engine.descend(random());
    if (descent.failed) return {};
    ++estimate.descents;
    estimate.seen += descent.seen;
    longest = std::max(longest, descent.seen);
    // Average and squares of differences from it, one by one (Welford).
    const double difference = descent.executions - estimate.executions;
    estimate.executions += difference / static_cast<double>(estimate.descents);
    squares += difference * (descent.executions - estimate.executions);
  }
  const auto descents = static_cast<double>(estimate.descents);
  const double error = estimate.descents > 1 ? std::sqrt(squares / (descents - 1) / descents) : estimate.executions;
  estimate.low = std::max(estimate.executions - 2 * error, static_cast<double>(longest));
  estimate.high = std::max(estimate.executions + 4 * error, estimate.low);
  return estimate;
}

}  // namespace ringside::explore
