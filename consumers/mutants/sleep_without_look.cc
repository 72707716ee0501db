// SPDX-License-Identifier: Apache-2.0
//
// `callback` that publishes its position only when about to sleep, and sleeps without looking again. A record committed
// between its last look and that store finds the old position, so its commit wakes nobody (KERNEL-RINGS 4.4);
// edge-triggered, the sleeper never learns of it. Publishing late alone is harmless: the look after it is what is
// missing.
#include "consumers/callback.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct SleepWithoutLook : RingbufSteps {
  static constexpr bool publishes_in_drain = false;
  static constexpr bool looks_before_sleep = false;
};

}  // namespace

const ringside_consumer& sleep_without_look() {
  static constexpr ringside_consumer table = Callback<SleepWithoutLook>::table(
      "sleep_without_look", "callback that publishes when about to sleep, and sleeps without looking again");
  return table;
}

}  // namespace ringside::consumers::mutant
