// SPDX-License-Identifier: Apache-2.0
//
// `callback` that publishes its position after the pass only, and goes to sleep without looking again. A record
// committed during the pass finds the position behind it, so its commit wakes nobody (KERNEL-RINGS 4.4);
// edge-triggered, the sleeper never learns of it. Publishing late alone would be harmless: the look after it is what is
// missing.
#include "consumers/callback.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct SleepWithoutLook : RingbufSteps {
  static constexpr bool publishes_each_record = false;
  static constexpr bool looks_before_sleep = false;
};

}  // namespace

const ringside_consumer& sleep_without_look() {
  static constexpr ringside_consumer table = Callback<SleepWithoutLook>::table(
      "sleep_without_look", "callback that publishes after the pass and sleeps without looking again");
  return table;
}

}  // namespace ringside::consumers::mutant
