// SPDX-License-Identifier: Apache-2.0
//
// What repeated measurements say. No distribution is taken for granted: times on a machine have long tails on one side.
#pragma once

#include <vector>

namespace ringside::harness {

/// A median and the interval that holds the true one with a probability of 95 % or more: between two of the values
/// themselves, by how many of them lie on either side of it. Of fewer than six values no two are that sure: then it is
/// all of them.
struct Estimate {
  double median = 0;
  double low = 0;
  double high = 0;

  friend bool operator==(const Estimate&, const Estimate&) = default;
};

/// `values`: at least one, in any order.
Estimate estimate(std::vector<double> values);

/// The same of the ratios of two series measured in the same rounds: a[i] / b[i]. What disturbs a round disturbs both,
/// so it is narrower than what the two estimates say by themselves. Equally many of both, at least one.
Estimate estimate_of_ratios(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace ringside::harness
