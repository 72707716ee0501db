// SPDX-License-Identifier: Apache-2.0
//
// What an overwrite ring gave up unread: the committed records whose space it took for newer ones before the consumer's
// position had passed them. They are no fault of the consumer's, and a term of their own in its account.
#pragma once

#include <cstdint>
#include <vector>

#include "ring/sequence_set.h"

namespace ringside::ring {

/// Not thread-safe. Bits of the numbers given up, a source each.
struct Overwritten {
  std::vector<SequenceSet> numbers;  ///< by source; may be shorter than there are sources
  std::uint64_t empties = 0;         ///< records of length 0, which carry no number
  /// False where the world cannot see which records the ring took: any that never came may be one of them.
  bool known = true;

  void add(std::uint32_t source, std::uint64_t number) {
    while (numbers.size() <= source) numbers.emplace_back(0);
    numbers[source].insert(number);
  }
  bool contains(std::uint32_t source, std::uint64_t number) const {
    return source < numbers.size() && numbers[source].contains(number);
  }
};

}  // namespace ringside::ring
