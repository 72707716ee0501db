// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/rank_test.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace ringside::harness {

namespace {

constexpr std::size_t most_exact = 60;  // values of both series together

/// The ranks of all values, those that are equal sharing theirs, and how much such ties take from the variance.
struct Ranks {
  double of_a = 0;  ///< their sum
  double ties = 0;  ///< the sum of t^3 - t over groups of t equal values
};

Ranks ranks_of(const std::vector<double>& a, const std::vector<double>& b) {
  struct Value {
    double value;
    bool is_a;
  };
  std::vector<Value> all;
  for (const double value : a) all.push_back({value, true});
  for (const double value : b) all.push_back({value, false});
  std::sort(all.begin(), all.end(), [](const Value& x, const Value& y) { return x.value < y.value; });
  Ranks ranks;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    while (end < all.size() && all[end].value == all[begin].value) ++end;
    const double shared = static_cast<double>(begin + end + 1) / 2;
    const auto equal = static_cast<double>(end - begin);
    for (std::size_t at = begin; at < end; ++at) ranks.of_a += all[at].is_a ? shared : 0;
    ranks.ties += equal * equal * equal - equal;
    begin = end;
  }
  return ranks;
}

/// How many of the ways to choose `a` of the ranks 1 to a + b give each sum above the least one, as shares of all.
std::vector<double> distribution(std::size_t a, std::size_t b) {
  // ways[k][u]: k values of a among those seen so far, u pairs in which one of b lies below one of a.
  std::vector<std::vector<double>> ways(a + 1, std::vector<double>(a * b + 1, 0));
  ways[0][0] = 1;
  for (std::size_t rank = 0; rank < a + b; ++rank) {
    for (std::size_t k = std::min(a, rank + 1); k > 0; --k) {
      // The value of this rank is the k-th of a: of b there are rank - (k - 1) below it.
      const std::size_t below = rank + 1 - k;
      if (below > b) continue;
      for (std::size_t u = a * b; u + 1 > below; --u) ways[k][u] += ways[k - 1][u - below];
    }
  }
  std::vector<double> shares = ways[a];
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= all;
  return shares;
}

double exact(std::size_t a, std::size_t b, double pairs) {
  const std::vector<double> shares = distribution(a, b);
  const auto at = static_cast<std::size_t>(std::lround(pairs));
  const std::size_t nearest_end = std::min(at, a * b - at);
  const double tail =
      std::accumulate(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(nearest_end) + 1, 0.0);
  return std::min(1.0, 2 * tail);
}

}  // namespace

double rank_test(const std::vector<double>& a, const std::vector<double>& b) {
  assert(!a.empty() && !b.empty());
  const auto count_a = static_cast<double>(a.size());
  const auto count_b = static_cast<double>(b.size());
  const double count = count_a + count_b;
  const Ranks ranks = ranks_of(a, b);
  const double pairs = ranks.of_a - count_a * (count_a + 1) / 2;
  if (ranks.ties == 0 && a.size() + b.size() <= most_exact) return exact(a.size(), b.size(), pairs);
  const double mean = count_a * count_b / 2;
  const double variance = count_a * count_b / 12 * (count + 1 - ranks.ties / (count * (count - 1)));
  if (variance <= 0) return 1;
  const double distance = std::max(0.0, std::abs(pairs - mean) - 0.5) / std::sqrt(variance);
  return 2 * boost::math::cdf(boost::math::complement(boost::math::normal_distribution<double>(), distance));
}

std::vector<bool> stand_together(const std::vector<double>& probabilities, double level) {
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return probabilities[x] < probabilities[y]; });
  std::vector<bool> stands(probabilities.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (probabilities[order[place]] > level / static_cast<double>(order.size() - place)) break;
    stands[order[place]] = true;
  }
  return stands;
}

}  // namespace ringside::harness
