// SPDX-License-Identifier: Apache-2.0
//
// Whether two series of measurements differ: the rank test of Mann and Whitney, two-sided, which asks for no
// distribution. And what many such tests together say.
#pragma once

#include <vector>

namespace ringside::harness {

/// The probability that two series of the same source differ at least as much in their ranks. Exact where no two values
/// are equal and the series are short (at most 60 values together); else by the normal distribution, corrected for
/// ties. Each at least one value.
double rank_test(const std::vector<double>& a, const std::vector<double>& b);

/// Which of the tests with these probabilities stand when all are asked together, so that with `level` at most one of
/// them stands by chance (Holm). In the order of the input.
std::vector<bool> stand_together(const std::vector<double>& probabilities, double level);

}  // namespace ringside::harness
