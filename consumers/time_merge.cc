// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `time_merge`; time_merge.h has the idea.
#include "consumers/time_merge.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& time_merge() {
  static constexpr ringside_consumer table =
      TimeMerge<MergeSteps>::table("time_merge", "stamped records of all CPUs by time, and nothing held back");
  return table;
}

}  // namespace ringside::consumers
