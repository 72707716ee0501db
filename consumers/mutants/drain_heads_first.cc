// SPDX-License-Identifier: Apache-2.0
//
// `drain_all` that knows too early what is in the batch: a record that was committed between the look at its ring and
// the beginning of the batch is from before it, and not in it.
#include "consumers/drain_all.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct DrainHeadsFirst : PerfSteps {
  static constexpr bool begins_batch_before_heads = false;
};

}  // namespace

const ringside_consumer& drain_heads_first() {
  static constexpr ringside_consumer table = DrainAll<DrainHeadsFirst>::table(
      "drain_heads_first", "drain_all that begins its batch after it has read the heads");
  return table;
}

}  // namespace ringside::consumers::mutant
