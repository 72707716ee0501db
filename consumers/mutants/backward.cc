// SPDX-License-Identifier: Apache-2.0
//
// Mutants of `overwritable`, each of which does one step wrong (BackwardSteps).
#include "consumers/mutants/backward.h"

#include "consumers/overwritable.h"

namespace ringside::consumers::mutant {
namespace {

struct ReadsUnpaused : BackwardSteps {
  static constexpr bool pauses = false;
};
struct WaitsForNoOutput : BackwardSteps {
  static constexpr bool waits_for_outputs = false;
};
struct WaitsBeforePause : BackwardSteps {
  static constexpr bool waits_behind_pause = false;
};
struct GoesOnFirst : BackwardSteps {
  static constexpr bool copies_before_it_goes_on = false;
};
struct StaysPaused : BackwardSteps {
  static constexpr bool goes_on = false;
};
struct TakesHalfRecord : BackwardSteps {
  static constexpr bool whole(std::uint64_t /*end*/, std::uint64_t /*bytes*/) { return true; }
};
struct ReadsTwoLaps : BackwardSteps {
  static constexpr std::uint64_t most_laps = 2;
};
struct ForgetsDump : BackwardSteps {
  static constexpr bool remembers_dump = false;
};
struct NewestFirst : BackwardSteps {
  static constexpr bool oldest_first = false;
};
struct ForgetsLost : BackwardSteps {
  static constexpr std::uint64_t report(std::uint64_t /*count*/) { return 0; }
};
struct StoresTail : BackwardSteps {
  static constexpr bool stores_tail = true;
};
struct SleepsUnlooked : BackwardSteps {
  static constexpr bool looks_before_sleep = false;
  static constexpr bool looks_at_timeout = false;
};

}  // namespace

const ringside_consumer& backward_unpaused() {
  static constexpr ringside_consumer table =
      Overwritable<ReadsUnpaused>::table("backward_unpaused", "overwritable that does not pause what it reads");
  return table;
}

const ringside_consumer& backward_not_quiet() {
  static constexpr ringside_consumer table = Overwritable<WaitsForNoOutput>::table(
      "backward_not_quiet", "overwritable that does not wait for outputs that were under way when it paused");
  return table;
}

const ringside_consumer& backward_quiet_first() {
  static constexpr ringside_consumer table = Overwritable<WaitsBeforePause>::table(
      "backward_quiet_first", "overwritable that waits for outputs under way, and pauses then");
  return table;
}

const ringside_consumer& backward_goes_on_first() {
  static constexpr ringside_consumer table = Overwritable<GoesOnFirst>::table(
      "backward_goes_on_first", "overwritable that pauses to read the head alone, and copies beside the producers");
  return table;
}

const ringside_consumer& backward_stays_paused() {
  static constexpr ringside_consumer table =
      Overwritable<StaysPaused>::table("backward_stays_paused", "overwritable that lets no ring go on");
  return table;
}

const ringside_consumer& backward_half_record() {
  static constexpr ringside_consumer table = Overwritable<TakesHalfRecord>::table(
      "backward_half_record", "overwritable that takes the record at the end of the lap for whole");
  return table;
}

const ringside_consumer& backward_two_laps() {
  static constexpr ringside_consumer table = Overwritable<ReadsTwoLaps>::table(
      "backward_two_laps", "overwritable that walks on where the ring has begun anew");
  return table;
}

const ringside_consumer& backward_again() {
  static constexpr ringside_consumer table =
      Overwritable<ForgetsDump>::table("backward_again", "overwritable that does not know where its last dump began");
  return table;
}

const ringside_consumer& backward_newest_first() {
  static constexpr ringside_consumer table =
      Overwritable<NewestFirst>::table("backward_newest_first", "overwritable that delivers as the records lie");
  return table;
}

const ringside_consumer& backward_forgets_lost() {
  static constexpr ringside_consumer table =
      Overwritable<ForgetsLost>::table("backward_forgets_lost", "overwritable that passes over PERF_RECORD_LOST");
  return table;
}

const ringside_consumer& backward_stores_tail() {
  static constexpr ringside_consumer table = Overwritable<StoresTail>::table(
      "backward_stores_tail", "overwritable that stores data_tail, as readers of forward rings do");
  return table;
}

const ringside_consumer& backward_sleeps_unlooked() {
  static constexpr ringside_consumer table = Overwritable<SleepsUnlooked>::table(
      "backward_sleeps_unlooked", "overwritable that sleeps and tells a timeout without a look at its rings");
  return table;
}

}  // namespace ringside::consumers::mutant
