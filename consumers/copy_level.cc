// SPDX-License-Identifier: Apache-2.0
//
// Strategies `copy_level` and `copy_level_fence`: `copy` armed level-triggered. The kernel's poll compares the
// positions itself, behind locks of its own, before it lets anybody sleep (KERNEL-RINGS 4.2): no fence of ours is
// needed for that, and `copy_level_fence`, which has one, is there for the price. What level-triggered waiting costs is
// a BUSY record at the head, which keeps it awake (Q2).
#include "consumers/copy.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

struct Level : RingbufSteps {
  static constexpr int most_wakeups = 1;
};
struct LevelWithoutFence : Level {
  static constexpr bool fences_before_look = false;
};

}  // namespace

const ringside_consumer& copy_level() {
  static constexpr ringside_consumer table =
      Copy<LevelWithoutFence>::level_table("copy_level", "copy that waits level-triggered, without a full fence");
  return table;
}

const ringside_consumer& copy_level_fence() {
  static constexpr ringside_consumer table =
      Copy<Level>::level_table("copy_level_fence", "copy that waits level-triggered, with the full fence");
  return table;
}

}  // namespace ringside::consumers
