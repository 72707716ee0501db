// SPDX-License-Identifier: Apache-2.0
#include "harness/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ringside::harness {
namespace {

/// Edit distance with swaps of neighbours (optimal string alignment), row by row; rows hold distances to prefixes of b.
std::size_t typing_errors(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  // A mistyped word is short; comparing something huge would only cost time.
  constexpr std::size_t longest_word = 128;
  if (word.empty() || word.size() > longest_word) return std::nullopt;
  std::optional<std::string> best;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t errors = typing_errors(word, candidate);
    if (errors >= fewest) continue;
    fewest = errors;
    best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  if (const std::optional<std::string> meant = nearest(word, candidates)) {
    return fmt::format("did you mean \"{}\"?", *meant);
  }
  return fmt::format("valid: {}", fmt::join(candidates, ", "));
}

}  // namespace ringside::harness
