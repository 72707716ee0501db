// SPDX-License-Identifier: Apache-2.0
//
// Help for a mistyped name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ringside::harness {

/// The candidate that `word` most likely stands for, or nothing when none is near: fewest typing errors (a letter
/// missing, added, changed, or two swapped), at most one for every three letters; ties go to the earlier candidate.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// The second half of an error about an unknown name: `did you mean "steady"?`, or `valid are copy, zero_copy` when
/// nothing is near.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace ringside::harness
