// SPDX-License-Identifier: Apache-2.0
//
// Mutants of `time_merge`, each of which does one step wrong (MergeSteps).
#include "consumers/time_merge.h"

#include "consumers/mutants/time_merge.h"

namespace ringside::consumers::mutant {
namespace {

struct IgnoresBusy : MergeSteps {
  static constexpr bool minds_busy = false;
};
struct PositionsFirst : MergeSteps {
  static constexpr bool looks_twice = false;
};
struct WithoutBound : MergeSteps {
  static constexpr bool keeps_to_the_bound = false;
};
struct ByArrival : MergeSteps {
  static constexpr bool is_older(std::uint64_t /*time_ns*/, std::uint64_t /*than_ns*/) { return false; }
};
struct MakesTimesUp : ByArrival {
  static constexpr std::uint64_t told(std::uint64_t time_ns, std::uint64_t last_ns) {
    return std::max(time_ns, last_ns);
  }
};
struct TellsNoTime : MergeSteps {
  static constexpr std::uint64_t told(std::uint64_t /*time_ns*/, std::uint64_t /*last_ns*/) { return 0; }
};
struct WithoutFence : MergeSteps {
  static constexpr bool fences_between = false;
};

}  // namespace

const ringside_consumer& merge_ignores_busy() {
  static constexpr ringside_consumer table =
      TimeMerge<IgnoresBusy>::table("merge_ignores_busy", "time_merge that reads on beside another ring's BUSY record");
  return table;
}

const ringside_consumer& merge_positions_first() {
  static constexpr ringside_consumer table = TimeMerge<PositionsFirst>::table(
      "merge_positions_first", "time_merge that takes the positions before it looks for the newest stamp");
  return table;
}

const ringside_consumer& merge_without_bound() {
  static constexpr ringside_consumer table = TimeMerge<WithoutBound>::table(
      "merge_without_bound", "time_merge that hands out all that is committed below its positions");
  return table;
}

const ringside_consumer& merge_by_arrival() {
  static constexpr ringside_consumer table =
      TimeMerge<ByArrival>::table("merge_by_arrival", "time_merge that takes ring after ring");
  return table;
}

const ringside_consumer& merge_makes_times_up() {
  static constexpr ringside_consumer table = TimeMerge<MakesTimesUp>::table(
      "merge_makes_times_up", "time_merge that takes ring after ring, and tells times that never fall");
  return table;
}

const ringside_consumer& merge_tells_no_time() {
  static constexpr ringside_consumer table =
      TimeMerge<TellsNoTime>::table("merge_tells_no_time", "time_merge that tells no time with its records");
  return table;
}

const ringside_consumer& merge_without_fence() {
  static constexpr ringside_consumer table =
      TimeMerge<WithoutFence>::table("merge_without_fence", "time_merge without a full fence between its two looks");
  return table;
}

}  // namespace ringside::consumers::mutant
