// SPDX-License-Identifier: Apache-2.0
//
// What the tables, pages and JSON of a comparison say alike. Only its writers need this.
#pragma once

#include <optional>
#include <string>

#include "harness/compare/compare.h"

namespace ringside::harness {

/// By how much the base takes longer in the same rounds; nothing where one of the two has no figure.
std::optional<Estimate> ratio_to_base(const CompareReport& report, const CompareSeries& series);
/// 1: faster than the base for sure, -1: slower, 0: neither, or fewer rounds than it takes to be sure.
int surely_against_base(const CompareReport& report, const CompareSeries& series);
/// What one pass takes of the time of this, round by round; 1 is as fast.
std::optional<double> share_of_one_pass(const CompareReport& report, const CompareSeries& series);

/// `the first word of each record is read`.
const char* what_is_done(Touch touch);
/// What was measured how, in a sentence.
std::string summary_of(const CompareReport& report);
/// What changed against the baseline, under a heading; empty where there was none.
std::string changes_text(const CompareReport& report, const TextStyle& style);

std::string html_of(const CompareReport& report);

}  // namespace ringside::harness
