// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cassert>

namespace ringside::harness {

namespace {

/// The probability that the interval misses the median on one side, at most.
constexpr double missed_on_a_side = 0.025;

/// How many of the lowest of `count` values are left out: so many that the median lies among them or below them with
/// that probability at most. Each lies below it as a coin falls.
std::size_t left_out_on_a_side(std::size_t count) {
  const boost::math::binomial_distribution<double> below(static_cast<double>(count), 0.5);
  std::size_t left_out = 0;
  while (left_out < (count - 1) / 2 && boost::math::cdf(below, static_cast<double>(left_out)) <= missed_on_a_side) {
    ++left_out;
  }
  return left_out == 0 ? 0 : left_out - 1;
}

}  // namespace

Estimate estimate(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size();
  const std::size_t out = left_out_on_a_side(count);
  return {
      .median = (values[(count - 1) / 2] + values[count / 2]) / 2, .low = values[out], .high = values[count - 1 - out]};
}

Estimate estimate_of_ratios(const std::vector<double>& a, const std::vector<double>& b) {
  assert(a.size() == b.size());
  std::vector<double> ratios(a.size());
  std::transform(a.begin(), a.end(), b.begin(), ratios.begin(), [](double x, double y) { return x / y; });
  return estimate(std::move(ratios));
}

}  // namespace ringside::harness
