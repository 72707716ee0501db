// SPDX-License-Identifier: Apache-2.0
#include "explore/estimate.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "explore/engine.h"

namespace ringside::explore {

Way Engine::go_down(std::uint64_t random) {
  Engine* const outer = std::exchange(current, this);
  std::mt19937_64 draw(random);
  telling_ = true;
  result_ = {};
  begin(Task{});
  Way way;
  double times = 1;  // so many ways are like this one so far
  bool more = true;
  while (more) {
    execute();
    if (std::exchange(anew_, false)) {
      way = {};
      times = 1;
      begin(Task{});
      continue;
    }
    const std::uint64_t before = result_.complete + result_.blocked;
    count();
    if (result_.complete + result_.blocked != before) way.executions += times;
    ++way.seen;
    way.failed = result_.failure.has_value();
    std::vector<Alternative>& open = alternatives();
    if (open.empty() || way.failed) break;
    unweighted_ = 0;
    times *= static_cast<double>(open.size());
    open = {open[draw() % open.size()]};
    more = next_graph();
  }
  telling_ = false;
  current = outer;
  return way;
}

Estimate estimate(const Program& program, const SearchOptions& options, std::uint64_t seed, std::uint64_t most_ways,
                  const std::function<bool()>& enough) {
  Engine engine(program, options);
  std::mt19937_64 random(seed);
  Estimate estimate;
  double squares = 0;
  std::uint64_t longest = 0;
  while (estimate.ways < most_ways && !(enough && estimate.ways > 0 && enough())) {
    const Way way = engine.go_down(random());
    if (way.failed) return {};
    ++estimate.ways;
    estimate.seen += way.seen;
    longest = std::max(longest, way.seen);
    // Average and squares of differences from it, way by way (Welford).
    const double difference = way.executions - estimate.executions;
    estimate.executions += difference / static_cast<double>(estimate.ways);
    squares += difference * (way.executions - estimate.executions);
  }
  const auto ways = static_cast<double>(estimate.ways);
  const double error = estimate.ways > 1 ? std::sqrt(squares / (ways - 1) / ways) : estimate.executions;
  estimate.low = std::max(estimate.executions - 2 * error, static_cast<double>(longest));
  estimate.high = std::max(estimate.executions + 2 * error, estimate.low);
  return estimate;
}

}  // namespace ringside::explore
